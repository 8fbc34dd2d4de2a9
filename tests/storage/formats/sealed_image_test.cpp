// tests/storage/formats/sealed_image_test.cpp - files written by many threads in any order against
// the same files written front to back; segments, errors and what is left behind.
#include "storage/formats/sealed_image.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "storage/formats/partition_image.h"
#include "storage/io/error.h"
#include "storage/io/stream_copy.h"
#include "support/folder_bytes.h"
#include "support/skip.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

constexpr std::size_t kSegment = 16'384;

/// Aligned memory of so many segments.
struct Memory {
  explicit Memory(std::size_t segments, std::size_t segment = kSegment)
      : bytes(segments * segment),
        data(static_cast<std::byte*>(std::aligned_alloc(WriteBehind::kAlignment, bytes)), &std::free) {}
  std::size_t bytes;
  std::unique_ptr<std::byte, decltype(&std::free)> data;
  [[nodiscard]] std::span<std::byte> span() const { return {data.get(), bytes}; }
};

std::vector<std::byte> random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& one : bytes) one = static_cast<std::byte>(random() & 255U);
  return bytes;
}

/// [0, size) cut into pieces of random lengths.
std::vector<std::pair<std::size_t, std::size_t>> pieces_of(std::size_t size, std::size_t longest, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::pair<std::size_t, std::size_t>> pieces;
  for (std::size_t at = 0; at < size;) {
    const std::size_t take = std::min<std::size_t>(size - at, 1 + random() % longest);
    pieces.emplace_back(at, take);
    at += take;
  }
  return pieces;
}

const SealedParameters kParameters{1, 2, 3, 4, 5, 6};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a sealed image is the file that a sealed writer writes, whatever the order and the threads") {
    std::vector<std::size_t> sizes{0, 1, 100, 65'536, 65'537, 300'001, 5'000'000};
    for (const std::size_t chunks : {1U, 2U, 17U})  // the payload ends with a chunk, a byte before and a byte after
      for (const std::size_t more : {0U, 1U, 2U})
        sizes.push_back(chunks * kSealedChunkBytes - kSealedHeaderBytes - 1 + more);
    for (const std::size_t size : sizes) {
      for (const std::size_t longest : {5'000UL, 70'000UL, 400'000UL}) {
        CAPTURE(size);
        CAPTURE(longest);
        const auto bytes = random_bytes(size, 7);
        const testing::TempDir front, scattered(testing::Where::disk);  // where O_DIRECT is more likely to be taken
        SealedWriter writer({front.path(), "f", "stem", "ext", "kind"});
        writer.append(bytes);
        const FileEntry expected = writer.finish(kParameters);
        // Room for every segment at once, so that even a random order cannot wait for itself.
        const Memory memory(size / kSegment + 4);
        WriteBehind queue(memory.span(), kSegment);
        SealedImage image({scattered.path(), "f", "stem", "ext", "kind"}, size, queue);
        auto pieces = pieces_of(size, longest, 3);
        std::shuffle(pieces.begin(), pieces.end(), std::mt19937(5));
        {
          std::atomic<std::size_t> next = 0;
          std::vector<std::jthread> threads;
          for (int i = 0; i < 3; ++i)
            threads.emplace_back([&] {
              for (std::size_t p = next++; p < pieces.size(); p = next++)
                image.put(pieces[p].first, std::span(bytes).subspan(pieces[p].first, pieces[p].second));
            });
        }
        image.finish(size, kParameters);
        queue.drain();
        CHECK(image.publish() == expected);
        CHECK(testing::folder_bytes(scattered.path()) == testing::folder_bytes(front.path()));
      }
    }
  }

  TEST_CASE("a large image has its room on the disk before its first bytes come, and a small one has not") {
    const testing::TempDir dir(testing::Where::disk);
    if (const File probe = File::create(dir / "probe");
        !File::open_direct(dir / "probe").is_open() || ::fallocate(probe.descriptor(), 0, 0, 4096) != 0) {
      testing::skip("the file system of the temporary folder writes through the page cache, or gives no room ahead");
      return;
    }
    const Memory memory(4);
    WriteBehind queue(memory.span(), kSegment);
    for (const std::size_t size : {std::size_t{5'000'000}, std::size_t{500'000}}) {
      CAPTURE(size);
      const SealedImage image({dir.path(), "f", "stem", "ext", "kind"}, size, queue);
      std::vector<std::filesystem::path> files;
      for (const auto& item : std::filesystem::directory_iterator(dir / "f")) files.push_back(item.path());
      REQUIRE(files.size() == 1);
      struct stat status {};
      REQUIRE(::stat(files.front().c_str(), &status) == 0);
      const bool is_large = size > 2'000'000;
      CHECK(status.st_size == (is_large ? static_cast<off_t>(size) : 0));
      CHECK((static_cast<std::size_t>(status.st_blocks) * 512 >= size) == is_large);
    }
  }

  TEST_CASE("few segments are enough for pieces in order") {
    const std::size_t size = 3'000'000;
    const auto bytes = random_bytes(size, 8);
    const testing::TempDir front, scattered;
    SealedWriter writer({front.path(), "f", "stem", "ext", "kind"});
    writer.append(bytes);
    const FileEntry expected = writer.finish(kParameters);
    const Memory memory(6);  // the first stays open for the header, a chunk takes four, its neighbours share one
    WriteBehind queue(memory.span(), kSegment);
    SealedImage image({scattered.path(), "f", "stem", "ext", "kind"}, size, queue);
    for (const auto& [at, count] : pieces_of(size, 30'000, 4)) image.put(at, std::span(bytes).subspan(at, count));
    image.finish(size, kParameters);
    queue.drain();
    CHECK(image.publish() == expected);
    CHECK(testing::folder_bytes(scattered.path()) == testing::folder_bytes(front.path()));
  }

  TEST_CASE("a partition image is the partition that its writer writes") {
    constexpr std::uint32_t kColumns = 37;
    const NodeRange range{65'536, 65'536 + 5'000};
    for (const int every : {1, 3, 5'001}) {  // all rows, some, none but the first
      for (const bool wide : {false, true}) {
        CAPTURE(every);
        CAPTURE(wide);
        std::vector<std::uint64_t> members((range.size() + 63) / 64);
        std::vector<NodeId> nodes;
        for (NodeId i = 0; i < range.size(); ++i) {
          if (i % static_cast<NodeId>(every) != 0) continue;
          members[i / 64] |= std::uint64_t{1} << (i % 64);
          nodes.push_back(range.first + i);
        }
        std::mt19937 random(2);
        std::vector<std::int32_t> rows(nodes.size() * kColumns);
        for (std::int32_t& one : rows) one = static_cast<std::int32_t>(random());
        const auto is_wide = [&](std::size_t row) { return wide && row % 700 == 0; };
        const std::vector<std::int64_t> wide_row(kColumns, std::int64_t{1} << 40);
        const testing::TempDir front, scattered;
        StatePartitionWriter writer(front.path(), 2, range, kColumns, members);
        for (std::size_t row = 0; row < nodes.size(); ++row) {
          if (is_wide(row)) {
            std::fill_n(&rows[row * kColumns], kColumns, 0);
            writer.add_wide(nodes[row], wide_row);
          } else {
            writer.add({&rows[row * kColumns], kColumns});
          }
        }
        const FileEntry expected = writer.finish();
        const Memory memory(rows.size() * 4 / kSegment + 8);
        WriteBehind queue(memory.span(), kSegment);
        PartitionImage image(scattered.path(), 2, range, kColumns, members, queue);
        std::vector<std::size_t> starts;
        for (std::size_t row = 0; row < nodes.size(); row += 100) starts.push_back(row);
        std::shuffle(starts.begin(), starts.end(), random);
        for (const std::size_t start : starts) {
          const std::size_t count = std::min<std::size_t>(100, nodes.size() - start);
          std::vector<std::uint32_t> positions;
          std::vector<std::int64_t> wide_rows;
          for (std::size_t row = start; row < start + count; ++row) {
            if (!is_wide(row)) continue;
            positions.push_back(static_cast<std::uint32_t>(row - start));
            wide_rows.insert(wide_rows.end(), wide_row.begin(), wide_row.end());
          }
          image.put(std::span(nodes).subspan(start, count), &rows[start * kColumns], positions, wide_rows.data());
        }
        queue.drain();
        CHECK(image.publish() == expected);
        CHECK(testing::folder_bytes(scattered.path()) == testing::folder_bytes(front.path()));
      }
    }
  }

  TEST_CASE("an image that is not published leaves nothing") {
    const testing::TempDir dir;
    const Memory memory(8);
    WriteBehind queue(memory.span(), kSegment);
    {
      SealedImage image({dir.path(), "f", "stem", "ext", "kind"}, 100, queue);
      image.put(0, random_bytes(100, 1));
      CHECK(std::filesystem::exists(dir.path() / "f" / ".stem.ext.new"));
    }
    CHECK(std::filesystem::is_empty(dir.path() / "f"));
  }

  TEST_CASE("a full disk is one clear error, for whoever asks next and for drain") {
    const testing::TempDir dir;
    const Memory memory(2);
    WriteBehind queue(memory.span(), kSegment);
    const auto full = std::make_shared<const File>(File::create(dir / "file"));
    const int device = ::open("/dev/full", O_WRONLY);
    REQUIRE(::dup2(device, full->descriptor()) >= 0);
    ::close(device);
    queue.write(nullptr, full, 0, queue.take(), kSegment);
    const std::string message =
        (dir / "file").string() +
        ": cannot write: No space left on device; free some space on this disk and run the command again";
    CHECK_THROWS_WITH_AS(queue.drain(), message.c_str(), ResourceError);
    CHECK_THROWS_AS((void)queue.take(), ResourceError);
  }

  TEST_CASE("whoever needs a segment waits for one, and none is lost") {
    const testing::TempDir dir;
    const Memory memory(3);
    WriteBehind queue(memory.span(), kSegment);
    const auto file = std::make_shared<const File>(File::create(dir.path() / "file"));
    for (std::size_t i = 0; i < 200; ++i) {
      std::byte* const segment = queue.take();
      std::fill_n(segment, kSegment, static_cast<std::byte>(i));
      queue.write(nullptr, file, i * kSegment, segment, kSegment);
    }
    queue.drain();
    std::vector<std::byte> got(200 * kSegment), expected;
    file->read_at(0, got);
    for (std::size_t i = 0; i < 200; ++i) expected.insert(expected.end(), kSegment, static_cast<std::byte>(i));
    CHECK(got == expected);
  }

  TEST_CASE("stream_copy copies every length from and to every place") {
    const auto from = random_bytes(600, 9);
    for (std::size_t source = 0; source < 70; source += 3) {
      for (std::size_t target = 0; target < 70; ++target) {
        for (const std::size_t count : {0UL, 1UL, 63UL, 64UL, 65UL, 200UL, 500UL}) {
          std::vector<std::byte> to(600, std::byte{7});
          std::vector<std::byte> expected = to;
          stream_copy(to.data() + target, std::span(from).subspan(source, count));
          std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source), count,
                      expected.begin() + static_cast<std::ptrdiff_t>(target));
          REQUIRE_MESSAGE((to == expected), "from ", source, " to ", target, ", ", count, " bytes");
        }
      }
    }
  }
}

}  // namespace unweave
