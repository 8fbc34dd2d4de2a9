// tests/engine/ingest/row_sorter_test.cpp - rows of any length come back by key, whatever of them
// fits in memory.
#include "engine/ingest/row_sorter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "support/temp_dir.h"

namespace unweave {
namespace {

using Row = std::vector<std::uint32_t>;

/// About `share` of the keys, with lengths up to `longest` and one row of `giant` words.
std::map<NodeId, Row> random_rows(NodeId keys, double share, std::size_t longest, std::size_t giant, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::map<NodeId, Row> rows;
  for (NodeId key = 0; key < keys; ++key) {
    if (uniform(random) >= share) continue;
    Row row(random() % (longest + 1));
    for (std::uint32_t& word : row) word = static_cast<std::uint32_t>(random());
    rows[key] = row;
  }
  rows[keys / 2] = Row(giant, 7);
  return rows;
}

void check_sorted(NodeId keys, const std::map<NodeId, Row>& rows, std::uint64_t memory) {
  CAPTURE(keys);
  CAPTURE(memory);
  const testing::TempDir dir;
  std::vector<NodeId> order;
  for (const auto& [key, row] : rows) order.push_back(key);
  std::shuffle(order.begin(), order.end(), std::mt19937(keys));
  RowSorter sorter(dir.path(), keys, memory);
  for (const NodeId key : order) sorter.add(key, rows.at(key));
  std::vector<std::pair<NodeId, Row>> out;
  sorter.drain([&](NodeId key, RowSorter::Words row) { out.emplace_back(key, Row(row.begin(), row.end())); });
  CHECK(out == std::vector<std::pair<NodeId, Row>>(rows.begin(), rows.end()));
}

TEST_SUITE("unit") {
  TEST_CASE("rows come back by key under every bound of memory") {
    for (const std::uint64_t memory : {std::uint64_t{4096}, std::uint64_t{200'000}, std::uint64_t{64} << 20}) {
      check_sorted(1, random_rows(1, 1, 5, 3, 1), memory);
      check_sorted(700, random_rows(700, 1, 40, 20'000, 2), memory);
      check_sorted(5000, random_rows(5000, 0.3, 9, 0, 3), memory);
      check_sorted(3000, random_rows(3000, 1, 0, 90'000, 4), memory);
    }
  }

  TEST_CASE("no rows are no calls") {
    const testing::TempDir dir;
    RowSorter sorter(dir.path(), 100, 1 << 20);
    int calls = 0;
    sorter.drain([&](NodeId, RowSorter::Words) { ++calls; });
    CHECK(calls == 0);
  }
}

}  // namespace
}  // namespace unweave
