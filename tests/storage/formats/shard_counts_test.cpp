// tests/storage/formats/shard_counts_test.cpp - numbers of neighbours that are read block by block
// are those that are read for all nodes at once.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <vector>

#include "storage/formats/shard.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;

/// Lists of very different lengths, so that groups of counts have patches.
std::vector<std::vector<NodeId>> uneven_lists(NodeId nodes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<NodeId>> lists(nodes);
  for (NodeId u = 0; u < nodes; ++u) {
    const std::size_t most = random() % 50 == 0 ? 400 : random() % 5;
    while (lists[u].size() < most) {
      const auto v = static_cast<NodeId>(random() % nodes);
      if (v != u) lists[u].push_back(v);
      std::sort(lists[u].begin(), lists[u].end());
      lists[u].erase(std::unique(lists[u].begin(), lists[u].end()), lists[u].end());
    }
  }
  return lists;
}

FileEntry write_lists(const std::filesystem::path& store, const std::vector<std::vector<NodeId>>& lists,
                      NodeId graph_nodes) {
  std::filesystem::create_directories(store / "graph");
  ShardWriter writer(store, {0, static_cast<NodeId>(lists.size())}, graph_nodes, ListForm(), 1 << 20);
  for (const std::vector<NodeId>& list : lists) writer.add(list);
  return writer.finish();
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("counts of few blocks are read alone, those of many at once, and are the same") {
    constexpr NodeId kNodes = 3000 + 17;  // the last block is not whole
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
      CAPTURE(seed);
      const TempDir dir;
      const auto lists = uneven_lists(kNodes, seed);
      const FileEntry entry = write_lists(dir.path(), lists, kNodes);
      const Shard shard(dir.path(), entry, {0, kNodes}, kNodes, ListForm());
      std::mt19937 random(seed);
      std::vector<NodeId> order(kNodes);
      for (NodeId node = 0; node < kNodes; ++node) order[node] = node;
      std::shuffle(order.begin(), order.end(), random);
      std::swap(order.front(), *std::find(order.begin(), order.end(), kNodes - 1));
      std::size_t read_alone = 0;
      for (const NodeId node : order) {
        CAPTURE(node);
        read_alone += shard.has_counts() ? 0 : 1;
        if (node % 2 == 0) CHECK(shard.count(node) == lists[node].size());
        std::vector<NodeId> list(lists[node].size() + kDecodeSlack);
        REQUIRE(shard.id_count(node) == lists[node].size());
        shard.decode_node(node, list.data());
        list.resize(lists[node].size());
        CHECK(list == lists[node]);
      }
      CHECK(read_alone > 8);
      CHECK(read_alone < 64);
      REQUIRE(shard.has_counts());
      for (NodeId node = 0; node < kNodes; ++node) CHECK(shard.counts()[node] == lists[node].size());
    }
  }

  TEST_CASE("a count of a block that a graph cannot have is told when its block is read alone") {
    constexpr NodeId kNodes = 640, kFew = 100;
    const TempDir dir;
    auto lists = uneven_lists(kNodes, 5);
    for (auto& list : lists) list.resize(std::min<std::size_t>(list.size(), 3));
    lists[333].clear();
    for (NodeId v = 0; v < 150; ++v) lists[333].push_back(v);
    const FileEntry entry = write_lists(dir.path(), lists, kFew);  // as if the graph had fewer nodes
    const Shard shard(dir.path(), entry, {0, kNodes}, kFew, ListForm());
    CHECK(shard.count(5) == lists[5].size());
    CHECK_THROWS_WITH_AS(static_cast<void>(shard.count(330)),
                         doctest::Contains("a node has more neighbours than the graph has nodes"), FormatError);
    CHECK(shard.count(6) == lists[6].size());
    CHECK_THROWS_AS(static_cast<void>(shard.counts()), FormatError);
  }
}

}  // namespace unweave
