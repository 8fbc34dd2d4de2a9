// tests/engine/sweep/weighted_gather_test.cpp - rows times weights against sums in plain 64-bit
// integers, and against lists that name a neighbour as often as its edge weighs.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "engine/sweep/gather.h"
#include "support/vector_targets.h"

namespace unweave {
namespace {

struct WeightedLists {
  std::vector<NodeId> nodes, targets;
  std::vector<std::uint32_t> counts, weights;
};

struct WeightedSums {
  std::vector<std::int64_t> sums;
  std::vector<std::int32_t> quotients;
  std::size_t wide = 0;

  friend bool operator==(const WeightedSums&, const WeightedSums&) = default;
};

WeightedLists random_lists(std::size_t nodes, NodeId rows, std::uint32_t most, std::mt19937& random) {
  WeightedLists lists;
  for (std::size_t i = 0; i < nodes; ++i) {
    lists.nodes.push_back(static_cast<NodeId>(random() % rows));
    lists.counts.push_back(i % 5 == 4 ? 0 : static_cast<std::uint32_t>(random() % 40));
    for (std::uint32_t k = 0; k < lists.counts.back(); ++k) {
      lists.targets.push_back(static_cast<NodeId>(random() % rows));
      lists.weights.push_back(random() % 4 == 0 ? most : static_cast<std::uint32_t>(1 + random() % most));
    }
  }
  return lists;
}

template <class T>
WeightedSums gathered(const TileOf<T>& tile, const WeightedLists& lists, std::uint32_t own) {
  const std::size_t size = lists.nodes.size() * tile.width;
  std::vector<std::int32_t> sums(size, -77);
  std::vector<std::int64_t> wide(size);
  std::vector<std::uint32_t> wide_nodes(lists.nodes.size());
  std::vector<T> quotients(size);
  GatherLists in;
  in.nodes = lists.nodes;
  in.counts = lists.counts.data();
  in.targets = lists.targets.data();
  in.num_targets = lists.targets.size();
  in.weights = lists.weights.data();
  in.own_weight = own;
  WeightedSums out;
  out.wide = gather_lists(tile, in, GatherOutputOf<T>{sums.data(), wide.data(), wide_nodes.data(), quotients.data()});
  out.sums.assign(sums.begin(), sums.end());
  for (std::size_t i = 0; i < out.wide; ++i)
    std::copy_n(wide.data() + i * tile.width, tile.width, out.sums.begin() + wide_nodes[i] * tile.width);
  out.quotients.assign(quotients.begin(), quotients.end());
  return out;
}

template <class T>
WeightedSums by_loops(const TileOf<T>& tile, const WeightedLists& lists, std::uint32_t own) {
  WeightedSums out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < lists.nodes.size(); ++i) {
    const std::uint32_t degree =
        std::accumulate(lists.weights.begin() + static_cast<std::ptrdiff_t>(at),
                        lists.weights.begin() + static_cast<std::ptrdiff_t>(at + lists.counts[i]), own);
    bool is_wide = false;
    for (std::size_t c = 0; c < tile.width; ++c) {
      std::int64_t sum = std::int64_t{own} * tile.rows[lists.nodes[i] * tile.width + c];
      for (std::size_t k = at; k < at + lists.counts[i]; ++k)
        sum += std::int64_t{lists.weights[k]} * tile.rows[lists.targets[k] * tile.width + c];
      out.sums.push_back(sum);
      out.quotients.push_back(static_cast<std::int32_t>(std::nearbyint(static_cast<double>(sum) / degree)));
      is_wide |= sum != static_cast<std::int32_t>(sum);
    }
    out.wide += is_wide ? 1 : 0;
    at += lists.counts[i];
  }
  return out;
}

template <class T>
std::vector<T> tile_of(std::size_t rows, std::size_t width, std::int32_t bound, std::mt19937& random) {
  std::vector<T> tile(rows * width + kTilePadding, static_cast<T>(12345));
  std::uniform_int_distribution<std::int32_t> value(-bound, bound);
  for (std::size_t i = 0; i < rows * width; ++i) tile[i] = static_cast<T>(random() % 7 == 0 ? bound : value(random));
  return tile;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows times weights are the sums of plain loops, on all vector extensions") {
    testing::for_each_target([] {
      std::mt19937 random(7);
      constexpr NodeId kRows = 90;
      for (const std::size_t width : {1, 3, 7, 8, 16, 17, 31, 32, 64, 100, 128, 129, 200})
        for (const std::uint32_t most : {1U, 9U, 65535U}) {
          CAPTURE(width);
          CAPTURE(most);
          const WeightedLists lists = random_lists(11, kRows, most, random);
          const auto wide = tile_of<std::int32_t>(kRows, width, 1 << 24, random);
          const Tile tile{wide.data(), width, 24};
          CHECK(gathered(tile, lists, 1) == by_loops(tile, lists, 1));
          CHECK(gathered(tile, lists, 1 << 20) == by_loops(tile, lists, 1 << 20));
          const auto narrow = tile_of<std::int16_t>(kRows, width, 1 << 14, random);
          const ShortTile small{narrow.data(), width, 14};
          CHECK(gathered(small, lists, 1024) == by_loops(small, lists, 1024));
        }
    });
  }

  TEST_CASE("a multiplied row is as many equal rows") {
    std::mt19937 random(9);
    const auto rows = tile_of<std::int32_t>(50, 20, 1 << 24, random);
    const Tile tile{rows.data(), 20, 24};
    WeightedLists lists = random_lists(9, 50, 30, random), repeated = lists;
    repeated.targets.clear();
    repeated.weights.clear();
    std::size_t at = 0;
    for (std::uint32_t& count : repeated.counts) {
      const std::size_t before = repeated.targets.size();
      for (const std::size_t end = at + count; at < end; ++at)
        repeated.targets.insert(repeated.targets.end(), lists.weights[at], lists.targets[at]);
      count = static_cast<std::uint32_t>(repeated.targets.size() - before);
    }
    GatherLists in;
    in.nodes = repeated.nodes;
    in.counts = repeated.counts.data();
    in.targets = repeated.targets.data();
    in.num_targets = repeated.targets.size();
    std::vector<std::int32_t> sums(180);
    std::vector<std::int64_t> wide(180), all;
    std::vector<std::uint32_t> wide_nodes(9);
    const std::size_t found = gather_lists(tile, in, {sums.data(), wide.data(), wide_nodes.data()});
    all.assign(sums.begin(), sums.end());
    for (std::size_t i = 0; i < found; ++i) std::copy_n(wide.data() + i * 20, 20, all.begin() + wide_nodes[i] * 20);
    const WeightedSums multiplied = gathered(tile, lists, 1);
    CHECK(multiplied.sums == all);
    CHECK(multiplied.wide == found);
  }
}

}  // namespace unweave
