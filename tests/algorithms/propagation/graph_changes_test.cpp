// tests/algorithms/propagation/graph_changes_test.cpp - edges that a file of changes names are held
// against the lists of the shards when these are read.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"
#include "storage/formats/manifest.h"
#include "storage/formats/run_file.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

constexpr NodeId kGraphNodes = 2000;

std::vector<std::vector<NodeId>> lists_of_graph(const Graph& graph) {
  std::vector<std::vector<NodeId>> lists(kGraphNodes);
  for (NodeId node = 0; node < kGraphNodes; ++node) graph.neighbours(node, lists[node]);
  return lists;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("lists have the changes that their shards allow for, and others are told when they are read") {
    const testing::TempDir dir;
    testing::write_store(dir / "s", testing::random_store(kGraphNodes, 6000, 2, 3));
    const Manifest manifest = read_manifest(dir / "s");
    std::vector<std::vector<NodeId>> lists = lists_of_graph(Graph(dir / "s", manifest, Changes()));
    const auto connects = [&](NodeId u, NodeId v) { return std::binary_search(lists[u].begin(), lists[u].end(), v); };
    Changes changes;
    std::mt19937 random(7);
    for (NodeId u = 0; u < kGraphNodes; ++u) {
      for (const NodeId v : lists[u])
        if (u < v && random() % 4 == 0) changes.removed.push_back({u, v, 1});
      const auto v = static_cast<NodeId>(u + 1 + random() % kGraphNodes);
      if (v < kGraphNodes && !connects(u, v)) changes.inserted.push_back({u, v, 1});
    }
    const auto open = [&](const Changes& some) {
      Manifest changed = manifest;
      changed.changes = write_changes(dir / "s", some);
      changed.edges = manifest.edges - some.removed.size() + some.inserted.size();
      return lists_of_graph(Graph(dir / "s", changed, some));
    };
    std::vector<std::vector<NodeId>> expected = lists;
    for (const ChangedEdge& edge : changes.removed)
      for (const auto& [at, other] : {std::pair(edge.u, edge.v), std::pair(edge.v, edge.u)})
        expected[at].erase(std::find(expected[at].begin(), expected[at].end(), other));
    for (const ChangedEdge& edge : changes.inserted)
      for (const auto& [at, other] : {std::pair(edge.u, edge.v), std::pair(edge.v, edge.u)})
        expected[at].insert(std::upper_bound(expected[at].begin(), expected[at].end(), other), other);
    CHECK(open(changes) == expected);

    const ChangedEdge absent = changes.inserted[changes.inserted.size() / 2], there = changes.removed.back();
    Changes bad = changes;
    bad.inserted.erase(bad.inserted.begin() + static_cast<std::ptrdiff_t>(changes.inserted.size() / 2));
    bad.removed.insert(std::upper_bound(bad.removed.begin(), bad.removed.end(), absent,
                                        [](const ChangedEdge& a, const ChangedEdge& b) {
                                          return std::pair(a.u, a.v) < std::pair(b.u, b.v);
                                        }),
                       absent);
    CHECK_THROWS_WITH_AS(static_cast<void>(open(bad)), doctest::Contains("a removed edge is not in the list"),
                         FormatError);
    bad = changes;
    bad.removed.pop_back();
    bad.inserted.push_back(there);
    CHECK_THROWS_WITH_AS(static_cast<void>(open(bad)), doctest::Contains("an inserted edge is in the list already"),
                         FormatError);
  }

  TEST_CASE("a large graph opens with few changes without the counts of its other nodes") {
    constexpr NodeId kNodes = 70'000;  // two spans
    const testing::TempDir dir;
    testing::TinyStore contents;
    contents.nodes = kNodes;
    for (NodeId u = 0; u + 7 < kNodes; ++u) contents.edges.push_back({u, u + 1 + u % 7});
    testing::write_store(dir / "s", contents);
    const Manifest manifest = read_manifest(dir / "s");
    REQUIRE(manifest.shards.size() == 2);
    const auto open = [&](std::vector<ChangedEdge> removed, std::vector<ChangedEdge> inserted) {
      Manifest changed = manifest;
      Changes some;
      some.removed = std::move(removed);
      some.inserted = std::move(inserted);
      changed.changes = write_changes(dir / "s", some);
      changed.edges = manifest.edges - some.removed.size() + some.inserted.size();
      return Graph(dir / "s", changed, some);
    };
    const ChangedEdge within{70, 71, 1}, across{65'535, 65'537, 1}, absent{3, 60'000, 1};
    const Graph graph = open({within, across}, {absent});
    for (const Shard& shard : graph.shards()) CHECK_FALSE(shard.has_counts());
    std::vector<NodeId> list;
    CHECK(graph.degree(3) == Graph(dir / "s", manifest, Changes()).degree(3) + 1);
    graph.neighbours(65'537, list);
    CHECK_FALSE(std::binary_search(list.begin(), list.end(), 65'535U));
    graph.neighbours(60'000, list);
    CHECK(std::binary_search(list.begin(), list.end(), 3U));
    for (const Shard& shard : graph.shards()) CHECK_FALSE(shard.has_counts());
    const auto refuses = [&](const Graph& bad, NodeId node, const char* why) {
      CHECK_THROWS_WITH_AS(static_cast<void>(bad.degree(node)), doctest::Contains(why), FormatError);
      CHECK_THROWS_WITH_AS(static_cast<void>(bad.weight(node, 5)), doctest::Contains(why), FormatError);
      CHECK_THROWS_WITH_AS(bad.neighbours(node, list), doctest::Contains(why), FormatError);
      Graph::BlockBuffer buffer;
      DecodedBlock block;
      CHECK_THROWS_WITH_AS(bad.decode(node / kBlockNodes, buffer, block), doctest::Contains(why), FormatError);
    };
    const Graph without = open({absent}, {}), twice = open({}, {within, across});
    for (const NodeId node : {absent.u, absent.v}) refuses(without, node, "a removed edge is not in the list");
    for (const NodeId node : {within.u, within.v, across.u, across.v})
      refuses(twice, node, "an inserted edge is in the list already");
    std::vector<ChangedEdge> all;  // more than a node has
    for (NodeId v = 100; v < 200; ++v) all.push_back({3, v, 1});
    CHECK_THROWS_WITH_AS(static_cast<void>(open(all, {}).degree(3)), doctest::Contains("a removed edge is not"),
                         FormatError);
    all.clear();
    for (NodeId u = 0; u < kNodes; ++u)
      if (u != 3) all.push_back({std::min<NodeId>(u, 3), std::max<NodeId>(u, 3), 1});
    CHECK_THROWS_WITH_AS(static_cast<void>(open({}, all).degree(3)),
                         doctest::Contains("an inserted edge is in the list already"), FormatError);
  }
}

}  // namespace unweave
