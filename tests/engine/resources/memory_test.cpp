// tests/engine/resources/memory_test.cpp - budgets, buffers, control groups and the meter.
#include "engine/resources/memory.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "engine/resources/machine.h"
#include "engine/resources/memory_peak.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a budget refuses what does not fit and says what, needed and available") {
    MemoryBudget budget(1000);
    Reservation first = budget.reserve(600, "tiles");
    CHECK(budget.available() == 400);
    std::string message;
    try {
      (void)budget.reserve(401, "buffers");
    } catch (const ResourceError& error) {
      message = error.what();
    }
    for (const char* part : {"buffers", "401", "400"}) CHECK(message.find(part) != std::string::npos);
    CHECK(budget.used() == 600);
    {
      const Reservation rest = budget.reserve(400, "buffers");
      CHECK(budget.available() == 0);
      CHECK_THROWS_AS((void)budget.reserve(std::numeric_limits<std::uint64_t>::max(), "all"), ResourceError);
    }
    Reservation moved = std::move(first);
    CHECK(budget.used() == 600);
    moved = Reservation();
    CHECK(budget.used() == 0);
    CHECK(budget.peak() == 1000);
  }

  TEST_CASE("a process is near its limit when a quarter of what nobody charges is left") {
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kLimit = 100 * kMiB;
    CHECK_FALSE(is_near_limit(kLimit, kLimit));
    CHECK_FALSE(is_near_limit(kLimit + kUnchargedBytes / 4 * 3, kLimit));
    CHECK(is_near_limit(kLimit + kUnchargedBytes / 4 * 3 + 1, kLimit));
    CHECK_FALSE(is_near_limit(7 * kMiB, 4 * kMiB));  // no more is set apart than the limit itself
    CHECK(is_near_limit(7 * kMiB + 1, 4 * kMiB));
  }

  TEST_CASE("threads that reserve at once never exceed the limit together") {
    MemoryBudget budget(64);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 20'000; ++k) {
          try {
            const Reservation part = budget.reserve(1 + static_cast<std::uint64_t>(k) % 40, "part");
          } catch (const ResourceError&) {
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(budget.used() == 0);
    CHECK(budget.peak() <= 64);
    CHECK(budget.peak() >= 40);
  }

  TEST_CASE("a huge buffer is zeroed, aligned, charged and given back") {
    MemoryBudget budget(std::uint64_t{64} << 20);
    for (const std::uint64_t bytes : {1ULL, 4096ULL, 4097ULL, (2ULL << 20) - 1, 2ULL << 20, (5ULL << 20) + 3}) {
      CAPTURE(bytes);
      HugeBuffer buffer(bytes, budget, "test");
      CHECK(budget.used() == HugeBuffer::charge(bytes));
      CHECK(buffer.size() == bytes);
      const std::uint64_t alignment = bytes < (2ULL << 20) ? 4096 : 2ULL << 20;
      CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment == 0);
      CHECK(std::all_of(buffer.data(), buffer.data() + bytes, [](std::byte b) { return b == std::byte{0}; }));
      buffer.data()[bytes - 1] = std::byte{7};
      HugeBuffer moved = std::move(buffer);
      CHECK(moved.data()[bytes - 1] == std::byte{7});
      CHECK(buffer.data() == nullptr);  // NOLINT(bugprone-use-after-move): what a move leaves is under test
      HugeBuffer other(10, budget, "test");
      std::swap(moved, other);
      CHECK(moved.size() == 10);
    }
    CHECK(budget.used() == 0);
    CHECK_THROWS_AS(HugeBuffer(std::uint64_t{65} << 20, budget, "test"), ResourceError);
    CHECK(budget.used() == 0);
  }

  TEST_CASE("limits of control groups of both versions bind, those of the groups above too") {
    const testing::TempDir dir;
    const auto& root = dir.path();
    constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
    write_text(root / "self", "0::/a/b\n");
    CHECK(cgroup_memory_limit(root / "absent", root) == kNone);
    CHECK(cgroup_memory_limit(root / "self", root) == kNone);
    write_text(root / "a/b/memory.max", "max\n");
    CHECK(cgroup_memory_limit(root / "self", root) == kNone);
    write_text(root / "a/memory.max", "5000\n");
    CHECK(cgroup_memory_limit(root / "self", root) == 5000);
    write_text(root / "memory.max", "4000\n");
    CHECK(cgroup_memory_limit(root / "self", root) == 4000);
    write_text(root / "self", "9:cpu,cpuacct:/\n4:memory:/job\n0::/\n");
    CHECK(cgroup_memory_limit(root / "self", root) == 4000);
    write_text(root / "memory/job/memory.limit_in_bytes", "3000\n");
    CHECK(cgroup_memory_limit(root / "self", root) == 3000);
    write_text(root / "memory/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK(cgroup_memory_limit(root / "self", root) == 3000);
    CHECK(default_memory_limit() > 0);
  }

  TEST_CASE("the meter sees memory that was touched and bytes that were read and written") {
    constexpr std::size_t kBytes = std::size_t{64} << 20;
    const testing::TempDir dir;
    const std::uint64_t before = ProcessMeter().peak_anonymous_bytes();
    ProcessMeter meter;
    {
      MemoryBudget budget(2 * kBytes);
      HugeBuffer buffer(kBytes, budget, "test");
      std::fill_n(buffer.data(), kBytes, std::byte{1});
      CHECK(meter.peak_anonymous_bytes() >= before / 2 + kBytes);
    }
    CHECK(meter.peak_anonymous_bytes() >= kBytes);  // a peak stays
    CHECK(meter.peak_file_bytes() > 0);
    const std::string file = (dir.path() / "data").string();
    const std::vector<char> data(300'000, 'x');
    const int out = open(file.c_str(), O_CREAT | O_RDWR, 0600);
    CHECK(write(out, data.data(), data.size()) == 300'000);
    std::vector<char> back(data.size());
    CHECK(pread(out, back.data(), 200'000, 0) == 200'000);
    close(out);
    const TransferredBytes bytes = meter.transferred();
    CHECK(bytes.read >= 200'000);
    CHECK(bytes.read < 250'000);
    CHECK(bytes.written >= 300'000);
    CHECK(bytes.written < 350'000);

    // Pages that the cache has lost come from the disk, through a map too; a file system in memory
    // has none.
    const int in = open(file.c_str(), O_RDONLY);
    CHECK(fdatasync(in) == 0);
    CHECK(posix_fadvise(in, 0, 0, POSIX_FADV_DONTNEED) == 0);
    void* const map = mmap(nullptr, data.size(), PROT_READ, MAP_SHARED, in, 0);
    REQUIRE(map != MAP_FAILED);
    CHECK(std::equal(data.begin(), data.end(), static_cast<const char*>(map)));
    munmap(map, data.size());
    close(in);
    const TransferredBytes later = meter.transferred();
    CHECK(later.read - bytes.read < 50'000);
    const FolderFacts folder = folder_facts(dir.path());
    if (!folder.is_memory && !folder.is_network) CHECK(later.disk_read > bytes.disk_read);
  }
}

}  // namespace unweave
