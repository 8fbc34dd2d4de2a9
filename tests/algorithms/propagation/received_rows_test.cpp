// tests/algorithms/propagation/received_rows_test.cpp - what was received of rows stays readable
// while these change and move.
#include "engine/state/received_rows.h"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <random>
#include <vector>

#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

constexpr NodeId kReceivedNodes = 1000;
constexpr std::uint32_t kReceivedColumns = 8;

using ReceivedValues = std::vector<std::int32_t>;

struct ReceivedStore {
  ReceivedStore() {
    testing::write_store(dir / "s", testing::random_store(kReceivedNodes, 4000, kReceivedColumns, 3));
    testing::propagate_store(dir / "s", testing::tiny_spec(1));
    level.emplace(dir / "s", read_manifest(dir / "s"), 1, StoredRun());
  }
  [[nodiscard]] ReceivedValues present(NodeId node) const { return values_of(level->row(node)); }
  static ReceivedValues values_of(const StateRow& row) {
    REQUIRE(row.narrow != nullptr);
    return {row.narrow, row.narrow + kReceivedColumns};
  }

  testing::TempDir dir;
  std::optional<StateLevel> level;
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows of partitions are noted without a copy, and stay what they were when partitions are replaced") {
    ReceivedStore store;
    StateLevel& level = *store.level;
    ReceivedRows received(kReceivedNodes, kReceivedColumns);
    CHECK_FALSE(received.note_sums(7, level, 3));  // nobody has said which partitions
    const ReceivedValues changed(kReceivedColumns, 11);
    level.store(5, changed.data());
    received.begin(level);
    CHECK_FALSE(received.note_sums(5, level, 3));  // lies beside its partition
    const ReceivedValues seven = store.present(7);
    REQUIRE(received.note_sums(7, level, 3));
    CHECK(received.bytes_in_memory() == 0);
    level.store(7, changed.data());
    level.fold(store.dir / "s", testing::ample_budget());  // the new partition has both rows
    REQUIRE(store.present(7) == changed);
    const auto row = received.find(7);
    REQUIRE(row);
    CHECK(row->values == nullptr);
    CHECK(row->degree == 3);
    CHECK(ReceivedStore::values_of(row->sums) == seven);
    // The old partition has a row of node 5 that nobody has received.
    received.begin(level);
    CHECK_FALSE(received.note_sums(5, level, 3));
    received.erase(7);
    CHECK_FALSE(received.find(7));
    received.begin(level);  // nothing is noted, so that it counts
    CHECK(received.note_sums(5, level, 4));
    CHECK(ReceivedStore::values_of(received.find(5)->sums) == changed);
  }

  TEST_CASE("copies stay in order when they go to files, and rows of zeros are rows") {
    const testing::TempDir folder;
    ReceivedRows received(kReceivedNodes, kReceivedColumns);
    std::map<NodeId, ReceivedValues> plain;
    std::mt19937 random(5);
    for (int step = 0; step < 6000; ++step) {
      const auto node = static_cast<NodeId>(random() % kReceivedNodes);
      if (random() % 3 == 0) {
        received.erase(node);
        plain.erase(node);
      } else if (!received.contains(node)) {
        ReceivedValues values(kReceivedColumns);
        if (random() % 4 != 0)
          for (std::int32_t& value : values) value = static_cast<std::int32_t>(random());
        received.note(node, values.data());
        plain[node] = values;
      }
      if (step % 200 == 199) {  // often enough that files are put together
        received.spill(folder.path());
        CHECK(received.bytes_in_memory() == 0);
      }
    }
    std::vector<NodeId> nodes;
    for (const auto& [node, values] : plain) {
      nodes.push_back(node);
      const auto row = received.find(node);
      REQUIRE(row);
      REQUIRE(ReceivedValues(row->values, row->values + kReceivedColumns) == values);
    }
    CHECK(received.nodes() == nodes);
    received.clear();
    CHECK(received.size() == 0);
    CHECK(received.bytes() == 0);
    CHECK_FALSE(received.find(nodes.front()));
  }
}

}  // namespace unweave
