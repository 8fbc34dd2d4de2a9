// tests/engine/state/partition_writers_test.cpp - how many partitions are written side by side, and
// what their buffers are charged as.
#include <doctest/doctest.h>

#include <cstdint>

#include "engine/resources/memory.h"
#include "engine/resources/parallel.h"
#include "engine/state/state_level.h"

namespace unweave {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

struct Writers {
  std::size_t count;
  std::uint64_t bytes;
};

Writers writers_within(std::uint64_t limit, std::size_t threads) {
  const ThreadLimit limited(threads);
  MemoryBudget budget(limit);
  const PartitionWriters writers(budget);
  return {writers.count(), budget.used()};
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("partitions are written side by side as far as half of what is free has their buffers") {
    const auto check = [](std::uint64_t limit, std::size_t threads, std::size_t count, std::uint64_t bytes) {
      CAPTURE(limit);
      CAPTURE(threads);
      const Writers writers = writers_within(limit, threads);
      CHECK(writers.count == count);
      CHECK(writers.bytes == bytes);
    };
    check(0, 2, 1, 0);  // one there has to be
    check(3 * kMiB, 2, 1, 3 * kMiB / 2);
    check(17 * kMiB, 2, 2, 8 * kMiB);
    check(64 * kMiB, 2, 4, 16 * kMiB);
    check(64 * kMiB, 1, 1, 4 * kMiB);
  }
}

}  // namespace unweave
