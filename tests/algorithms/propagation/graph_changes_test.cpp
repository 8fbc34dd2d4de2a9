// tests/algorithms/propagation/graph_changes_test.cpp - edges that a file of changes names are held
// against the shards when a graph is opened.
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
  TEST_CASE("a graph opens with changes that its shards allow for, and with no others") {
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
    CHECK_THROWS_WITH_AS(static_cast<void>(open(bad)), doctest::Contains("no such edge in the shards"), FormatError);
    bad = changes;
    bad.removed.pop_back();
    bad.inserted.push_back(there);
    CHECK_THROWS_WITH_AS(static_cast<void>(open(bad)), doctest::Contains("already in the shards"), FormatError);
  }
}

}  // namespace unweave
