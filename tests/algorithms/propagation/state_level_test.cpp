// tests/algorithms/propagation/state_level_test.cpp - the rows that differ from their partitions: what they hold and what they take.
#include "engine/state/state_level.h"

#include <doctest/doctest.h>

#include <vector>

#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

constexpr NodeId kLevelNodes = 1000;
constexpr std::uint32_t kLevelColumns = 8;

std::vector<std::int64_t> row_of(NodeId node, bool wide) {
  std::vector<std::int64_t> sums(kLevelColumns, std::int64_t{node} - 500);
  sums[node % kLevelColumns] = wide ? -(std::int64_t{1} << 40) - node : node;
  return sums;
}

void check_rows(const StateLevel& level, bool wide) {
  std::vector<std::int64_t> sums(kLevelColumns);
  for (NodeId node = 0; node < kLevelNodes; ++node) {
    REQUIRE(level.load(node, sums.data()));
    REQUIRE(sums == row_of(node, wide));
    REQUIRE((level.row(node).wide != nullptr) == wide);
  }
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows of 64 bits count as what they take, and rows that change their width take no more each time") {
    const testing::TempDir dir;
    testing::write_store(dir / "s", testing::random_store(kLevelNodes, 4000, kLevelColumns, 3));
    testing::propagate_store(dir / "s", testing::tiny_spec(1));
    StateLevel level(dir / "s", read_manifest(dir / "s"), 1, StoredRun());
    CHECK(level.overlay_bytes() == 0);
    const auto store_all = [&](bool wide) {
      for (NodeId node = 0; node < kLevelNodes; ++node) level.store(node, row_of(node, wide).data());
      check_rows(level, wide);
    };
    store_all(false);
    const std::uint64_t narrow = level.overlay_bytes();
    CHECK(narrow >= StateLevel::overlay_bytes(kLevelNodes, kLevelColumns));
    store_all(true);
    const std::uint64_t both = level.overlay_bytes();
    CHECK(both >= narrow + kLevelNodes * kLevelColumns * sizeof(std::int64_t));
    for (int round = 0; round < 3; ++round) {
      store_all(false);
      store_all(true);
    }
    CHECK(level.overlay_bytes() == both);
    level.fold(dir / "s");
    CHECK(level.overlay_bytes() == 0);
    check_rows(level, true);
    for (NodeId node = 0; node < kLevelNodes; ++node) level.drop(node);
    CHECK_FALSE(level.contains(7));
    store_all(true);
  }
}

}  // namespace unweave
