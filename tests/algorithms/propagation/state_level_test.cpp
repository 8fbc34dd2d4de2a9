// tests/algorithms/propagation/state_level_test.cpp - the rows that differ from their partitions:
// what they hold and what they take.
#include "engine/state/state_level.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "support/open_spools.h"
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
    level.fold(dir / "s", testing::ample_budget());
    CHECK(level.overlay_bytes() == 0);
    check_rows(level, true);
    for (NodeId node = 0; node < kLevelNodes; ++node) level.drop(node);
    CHECK_FALSE(level.contains(7));
    store_all(true);
  }

  TEST_CASE("rows that go to files read as before, may change again, count as changed and become partitions") {
    const testing::TempDir dir;
    testing::write_store(dir / "s", testing::random_store(kLevelNodes, 4000, kLevelColumns, 3));
    testing::propagate_store(dir / "s", testing::tiny_spec(1));
    const Manifest manifest = read_manifest(dir / "s");
    StateLevel level(dir / "s", manifest, 1, StoredRun());
    const std::string first = level.entries()[0].path;
    std::vector<std::vector<std::int64_t>> expected(kLevelNodes, std::vector<std::int64_t>(kLevelColumns));
    for (NodeId node = 0; node < kLevelNodes; ++node) REQUIRE(level.load(node, expected[node].data()));
    const auto check = [&] {
      std::vector<std::int64_t> sums(kLevelColumns);
      for (NodeId node = 0; node < kLevelNodes; ++node) {
        CAPTURE(node);
        REQUIRE(level.load(node, sums.data()) == !expected[node].empty());
        if (!expected[node].empty()) REQUIRE(sums == expected[node]);
      }
    };
    std::mt19937 random(5);
    std::vector<bool> changed(kLevelNodes);
    for (int round = 0; round < 40; ++round) {  // more files than are kept apart
      CAPTURE(round);
      for (int i = 0; i < 60; ++i) {
        const auto node = static_cast<NodeId>(random() % kLevelNodes);
        changed[node] = true;
        if (random() % 8 == 0) {
          level.drop(node);
          expected[node].clear();
          continue;
        }
        expected[node] = row_of(static_cast<NodeId>(random() % kLevelNodes), random() % 4 == 0);
        level.store(node, expected[node].data());
      }
      check();
      const std::uint64_t before = level.overlay_bytes(), gain = level.spillable_bytes();
      CHECK(gain > 0);
      level.spill(dir.path());
      CHECK(level.spillable_bytes() == 0);
      CHECK(level.overlay_bytes() == before - gain);
      check();
    }
    CHECK(level.entries()[0].path == first);  // no partition was written
    std::vector<std::uint64_t> words(kLevelNodes / 64 + 1);
    level.mark_changed({0, kLevelNodes}, manifest.levels[1].partitions, words);
    for (NodeId node = 0; node < kLevelNodes; ++node)
      CHECK(((words[node / 64] >> node % 64 & 1) != 0) == changed[node]);
    level.fold(dir / "s", testing::ample_budget());
    CHECK(level.overlay_bytes() == 0);
    check();
  }

  TEST_CASE("a bit that flips in a row that went to a file is noticed when the row is read") {
    const testing::TempDir dir;
    testing::write_store(dir / "s", testing::random_store(kLevelNodes, 4000, kLevelColumns, 3));
    testing::propagate_store(dir / "s", testing::tiny_spec(1));
    StateLevel level(dir / "s", read_manifest(dir / "s"), 1, StoredRun());
    for (const NodeId node : {3U, 17U, 900U}) level.store(node, row_of(node, false).data());
    level.spill(dir.path());
    const std::uint64_t stride = kLevelColumns * sizeof(std::int32_t) + sizeof(std::uint64_t);
    int flipped = 0;
    for (const std::filesystem::path& spool : testing::open_spools(dir.path())) {
      std::fstream file(spool, std::ios::in | std::ios::out | std::ios::binary);
      const auto place = static_cast<std::streamoff>(stride + 5);  // within the second row
      char byte = 0;
      REQUIRE(file.seekg(place).get(byte));
      file.seekp(place).put(static_cast<char>(byte ^ 4));
      ++flipped;
    }
    REQUIRE(flipped == 1);
    CHECK_NOTHROW(static_cast<void>(level.row(3)));
    CHECK_THROWS_WITH_AS(
        static_cast<void>(level.row(17)),
        doctest::Contains("level 1: the row of the node at position 17, which lay in a temporary file"), DataError);
    CHECK_THROWS_AS(level.fold(dir / "s", testing::ample_budget()), DataError);
  }

  TEST_CASE("a run opens whatever its rows hold, and each is checked when it is used") {
    const testing::TempDir dir;
    testing::write_store(dir / "s", testing::random_store(kLevelNodes, 4000, kLevelColumns, 3));
    testing::propagate_store(dir / "s", testing::tiny_spec(1));
    const Manifest manifest = read_manifest(dir / "s");
    Run changed;
    std::vector<std::int32_t> rows;  // 32 bytes each, of which every fourth node has one
    for (NodeId node = 0; node < kLevelNodes; node += 4) {
      changed.narrow_nodes.push_back(node);
      for (const std::int64_t sum : row_of(node, false)) rows.push_back(static_cast<std::int32_t>(sum));
    }
    const FileEntry entry = write_run(dir / "s", 1, kLevelColumns, changed, [&](NodeId node) {
      return StateRow{&rows[std::size_t{node} / 4 * kLevelColumns], nullptr};
    });
    const auto open = [&] {
      return StateLevel(dir / "s", manifest, 1, read_run(dir / "s", entry, 1, kLevelColumns, kLevelNodes));
    };
    std::vector<std::int64_t> sums(kLevelColumns);
    const StateLevel whole = open();
    for (NodeId node = 0; node < kLevelNodes; node += 4) {
      REQUIRE(whole.load(node, sums.data()));
      REQUIRE(sums == row_of(node, false));
    }
    {
      std::fstream file(dir / "s" / entry.path, std::ios::in | std::ios::out | std::ios::binary);
      const auto place =
          static_cast<std::streamoff>(kSealedHeaderBytes + 1000 + 32 * 200 + 5);  // it lies in the row of node 800
      char byte = 0;
      REQUIRE(file.seekg(place).get(byte));
      file.seekp(place).put(static_cast<char>(byte ^ 1));
    }
    StateLevel damaged = open();
    REQUIRE(damaged.load(4, sums.data()));
    CHECK(sums == row_of(4, false));
    REQUIRE(damaged.load(5, sums.data()));  // which stands in the partition
    CHECK_THROWS_WITH_AS(static_cast<void>(damaged.row(800)), doctest::Contains(entry.path.c_str()), FormatError);
    CHECK_THROWS_AS(damaged.fold(dir / "s", testing::ample_budget()), FormatError);
    damaged.store(800, row_of(800, false).data());  // needs nothing of what was there
    REQUIRE(damaged.load(800, sums.data()));
    CHECK(sums == row_of(800, false));
  }
}

}  // namespace unweave
