// tests/storage/formats/sealed_file_test.cpp - the checksums of a sealed file against FORMAT.md
// alone: recomputed from the raw bytes of the file by the xxHash library.
#include "storage/formats/sealed_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "storage/io/map_guard.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

std::uint64_t number_at(const std::string& bytes, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = 8; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return number;
}

/// Pages of its payload that this process has mapped.
std::size_t present_pages(const SealedFile& file) {
  constexpr std::uint64_t kPage = 4096, kPresent = std::uint64_t{1} << 63;
  std::vector<std::uint64_t> entries(static_cast<std::size_t>(file.size() / kPage));
  const auto first = reinterpret_cast<std::uintptr_t>(file.data()) / kPage;
  const int map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  const std::size_t bytes = entries.size() * sizeof(std::uint64_t);
  REQUIRE(::pread(map, entries.data(), bytes, static_cast<off_t>(first * sizeof(std::uint64_t))) ==
          static_cast<ssize_t>(bytes));
  ::close(map);
  return static_cast<std::size_t>(
      std::count_if(entries.begin(), entries.end(), [](std::uint64_t entry) { return (entry & kPresent) != 0; }));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("bytes that the system may drop are read again, and those of their neighbours stay") {
    const testing::TempDir dir;
    SealedWriter writer({dir.path(), "folder", "stem", "ext", "kind"});
    std::string payload(300'000, '\0');
    for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(i * 7 % 128);
    writer.append_values(std::span<const char>(payload));
    const SealedFile file(dir.path(), writer.finish({}), "kind");
    const auto text = [&] {
      const auto bytes = file.bytes(0, file.size());
      return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    CHECK(text() == payload);
    for (const auto& [offset, length] : {std::pair<std::uint64_t, std::uint64_t>{0, payload.size()},
                                         {5000, 100},
                                         {4096, 100'000},
                                         {299'999, 1},
                                         {100, 10'000'000},
                                         {10'000'000, 5}}) {
      file.forget(offset, length);
      CHECK(text() == payload);
    }
    CHECK(present_pages(file) > 50);
    release_mapped_pages();  // those of all files
    CHECK(present_pages(file) == 0);
    CHECK(text() == payload);
  }

  TEST_CASE("header, root and table of a file are the checksums that FORMAT.md says, at the edges of pages too") {
    std::vector<std::size_t> sizes{0, 1, 8, 100'000};
    for (const std::size_t pages : {1U, 2U, 9U})
      for (const std::size_t size : {4096 * pages - 129, 4096 * pages - 128, 4096 * pages - 127}) sizes.push_back(size);
    for (const std::size_t size : sizes) {
      CAPTURE(size);
      const testing::TempDir dir;
      SealedWriter writer({dir.path(), "folder", "stem", "ext", "kind"});
      std::string payload(size, '\0');
      for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>((i * 7 + i / 251) % 128);
      for (std::size_t at = 0; at < size; at += 1000)
        writer.append_values(std::span<const char>(payload).subspan(at, std::min<std::size_t>(1000, size - at)));
      const FileEntry entry = writer.finish({1, 2, 3});

      const std::string file = testing::read_all(dir / entry.path);
      const std::size_t end = 128 + size;
      const std::size_t table = (end + 7) / 8 * 8;
      REQUIRE(file.size() >= table);
      CHECK(file.substr(128, size) == payload);
      CHECK(file.substr(end, table - end) == std::string(table - end, '\0'));
      std::size_t at = table;
      for (std::size_t page = 0; size > 0 && page < end; page += 4096, at += 8) {
        const std::size_t first = std::max<std::size_t>(page, 128);
        const std::size_t last = std::min(page + 4096, end);
        REQUIRE(at + 8 <= file.size());
        CHECK(number_at(file, at) == XXH3_64bits(&file[first], last - first));
      }
      CHECK(at == file.size());
      CHECK(number_at(file, 24) == size);
      CHECK(number_at(file, 120) == XXH3_64bits(file.data(), 120));
      const std::string rooted = file.substr(0, 104) + file.substr(table);
      XXH128_canonical_t root;
      XXH128_canonicalFromHash(&root, XXH3_128bits(rooted.data(), rooted.size()));
      CHECK(std::memcmp(root.digest, &file[104], sizeof root.digest) == 0);
    }
  }
}

}  // namespace unweave
