// tests/engine/ingest/community_order_test.cpp - communities lie together, whatever the ids,
// threads and the graph.
#include "engine/ingest/community_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/contents.h"
#include "engine/ingest/store_import.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/graphs.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;

struct WeightedEdge {
  Edge edge;
  std::uint32_t weight = 1;
};

/// A store of a graph without features.
class GraphStore {
 public:
  GraphStore(NodeId nodes, const std::vector<WeightedEdge>& edges, std::uint32_t max_weight = 1) {
    std::string text;
    for (const auto& [edge, weight] : edges) {
      text += std::to_string(edge.u) + " " + std::to_string(edge.v);
      text += max_weight > 1 ? " " + std::to_string(weight) + "\n" : "\n";
    }
    ImportOptions options;
    if (!edges.empty()) options.edges = InputFile{testing::write_file(dir_ / "edges.txt", text), {}};
    options.nodes = nodes;
    options.max_weight = max_weight;
    MemoryBudget budget(std::uint64_t{64} << 20);
    WorkMeter nobody;
    import_store(dir_ / "s", options, budget, nobody);
    contents_.emplace(dir_ / "s", read_manifest(dir_ / "s"));
  }

  [[nodiscard]] const Graph& graph() const { return contents_->graph(); }

 private:
  TempDir dir_;
  std::optional<Contents> contents_;
};

std::vector<WeightedEdge> plain(const std::vector<Edge>& edges) {
  std::vector<WeightedEdge> all;
  for (const Edge& edge : edges) all.push_back({edge, 1});
  return all;
}

/// Groups of `size` nodes with random ids: each node has `inside` random neighbours in its group
/// and one anywhere.
struct Planted {
  std::vector<NodeId> group;
  std::vector<WeightedEdge> edges;
};

Planted planted(NodeId groups, NodeId size, int inside, unsigned seed) {
  const NodeId nodes = groups * size;
  std::mt19937 random(seed);
  std::vector<NodeId> ids(nodes);
  std::iota(ids.begin(), ids.end(), 0U);
  std::shuffle(ids.begin(), ids.end(), random);
  Planted graph;
  graph.group.resize(nodes);
  for (NodeId at = 0; at < nodes; ++at) {
    graph.group[ids[at]] = at / size;
    for (int i = 0; i < inside; ++i)
      graph.edges.push_back({{ids[at], ids[at / size * size + static_cast<NodeId>(random() % size)]}, 1});
    graph.edges.push_back({{ids[at], static_cast<NodeId>(random() % nodes)}, 1});
  }
  return graph;
}

std::vector<NodeId> order_of(const Graph& graph, std::uint64_t memory = std::uint64_t{256} << 20) {
  MemoryBudget budget(memory);
  WorkMeter nobody;
  std::vector<NodeId> positions = community_order(graph, budget, nobody);
  CHECK(budget.used() == 0);
  return positions;
}

bool is_permutation(std::vector<NodeId> positions) {
  std::sort(positions.begin(), positions.end());
  for (NodeId i = 0; i < positions.size(); ++i)
    if (positions[i] != i) return false;
  return true;
}

/// The part of the arcs whose ends lie less than `reach` positions apart.
double near_part(const Graph& graph, const std::vector<NodeId>& positions, NodeId reach) {
  std::uint64_t near = 0, all = 0;
  std::vector<NodeId> list;
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    graph.neighbours(node, list);
    for (const NodeId other : list) {
      const NodeId a = positions[node], b = positions[other];
      near += (a < b ? b - a : a - b) < reach ? 1 : 0;
      ++all;
    }
  }
  return static_cast<double>(near) / static_cast<double>(all);
}

/// The hash that breaks ties.
std::uint32_t tie(std::uint32_t label, unsigned pass) {
  std::uint64_t x = (std::uint64_t{label} | std::uint64_t{pass + 1} << 32) * 0x9E37'79B9'7F4A'7C15U;
  x = (x ^ x >> 32) * 0xD6E8'FEB8'6659'FD93U;
  return static_cast<std::uint32_t>(x >> 32);
}

/// The communities by label propagation with maps, node by node: four passes of 64 steps, in each
/// of which the nodes choose by the labels before it.
std::vector<std::uint32_t> plain_communities(const Graph& graph) {
  constexpr std::uint32_t kRoom = 1024;
  constexpr std::uint64_t kCounted = 4096;
  std::vector<std::uint32_t> labels(graph.num_nodes());
  std::iota(labels.begin(), labels.end(), 0U);
  std::vector<std::uint32_t> sizes(labels.size(), 1);
  const auto nodes = static_cast<NodeId>(labels.size());
  const auto step = static_cast<NodeId>(std::max<std::size_t>(1, graph.num_blocks() / 64) * kBlockNodes);
  const auto chosen = [&](NodeId node, NodeId first, unsigned pass) {
    std::vector<NodeId> list;
    graph.neighbours(node, list);
    if (pass == 0) std::erase_if(list, [&](NodeId other) { return other >= first; });
    std::map<std::uint32_t, std::uint32_t> counts;
    std::vector<std::uint32_t> met;
    const std::uint64_t counted = std::min<std::uint64_t>(list.size(), kCounted);
    for (std::uint64_t k = 0; k < counted; ++k) {
      const std::uint32_t label = labels[list[k * list.size() / counted]];
      if (counts[label]++ == 0) met.push_back(label);
    }
    std::set<std::uint32_t, std::greater<>> frequencies;
    for (const auto& [label, count] : counts) frequencies.insert(count);
    int turn = 0;
    for (const std::uint32_t frequency : frequencies) {
      if (turn++ == 2) break;
      std::vector<std::uint32_t> equal;
      for (const std::uint32_t label : met)
        if (counts[label] == frequency && equal.size() < 8) equal.push_back(label);
      const auto members = [&](std::uint32_t label) { return sizes[label] - (label == labels[node] ? 1 : 0); };
      std::erase_if(equal, [&](std::uint32_t label) { return members(label) >= kRoom; });
      if (equal.empty()) continue;
      return *std::min_element(equal.begin(), equal.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(members(a), ~tie(a, pass)) < std::pair(members(b), ~tie(b, pass));
      });
    }
    return labels[node];
  };
  for (unsigned pass = 0; pass < 4; ++pass)
    for (NodeId first = 0; first < nodes; first += step) {
      std::vector<std::uint32_t> next;
      for (NodeId node = first; node < std::min(nodes, first + step); ++node) next.push_back(chosen(node, first, pass));
      for (std::size_t i = 0; i < next.size(); ++i) {
        --sizes[labels[first + i]];
        ++sizes[next[i]];
        labels[first + i] = next[i];
      }
    }
  return labels;
}

/// Whether the nodes of each community lie side by side, larger degrees first, then smaller ids.
void check_communities(const Graph& graph, const std::vector<std::uint32_t>& labels,
                       const std::vector<NodeId>& positions) {
  std::vector<NodeId> nodes(positions.size());
  for (NodeId node = 0; node < nodes.size(); ++node) nodes[positions[node]] = node;
  std::set<std::uint32_t> ended;
  bool sorted = true;
  for (std::size_t at = 1; at < nodes.size(); ++at) {
    const NodeId before = nodes[at - 1], node = nodes[at];
    if (labels[before] != labels[node])
      ended.insert(labels[before]);
    else
      sorted &= std::pair(~graph.degree(before), before) < std::pair(~graph.degree(node), node);
    REQUIRE(!ended.contains(labels[node]));
  }
  CHECK(sorted);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the communities are those of label propagation node by node, also where they are full and lists long") {
    // Groups of 3,500 nodes do not fit a community, so that the next label is taken. Hubs are
    // joined to all others.
    const Planted full = planted(3, 3500, 2, 4);
    Planted hubs = planted(120, 50, 3, 5);
    for (NodeId hub = 0; hub < 10; ++hub)
      for (NodeId node = hub + 1; node < 6000; ++node) hubs.edges.push_back({{hub, node}, 1});
    for (const Planted& graph : {planted(100, 40, 4, 6), full, hubs}) {
      const GraphStore store(static_cast<NodeId>(graph.group.size()), graph.edges);
      const std::vector<std::uint32_t> labels = plain_communities(store.graph());
      CHECK(std::set(labels.begin(), labels.end()).size() < labels.size() / 3);
      check_communities(store.graph(), labels, order_of(store.graph()));
    }
  }

  TEST_CASE("groups with random ids come to lie together") {
    const Planted graph = planted(300, 40, 8, 1);
    const GraphStore store(12'000, graph.edges);
    std::vector<NodeId> ids(12'000);
    std::iota(ids.begin(), ids.end(), 0U);
    const std::vector<NodeId> positions = order_of(store.graph());
    CHECK(is_permutation(positions));
    CHECK(near_part(store.graph(), ids, 80) < 0.02);
    CHECK(near_part(store.graph(), positions, 80) > 0.8);
  }

  TEST_CASE("clusters of communities lie together, too") {
    // Two worlds of 30 groups each; three of the five edges of a node are in its group, one is in
    // its world.
    const NodeId nodes = 60 * 50;
    std::mt19937 random(5);
    std::vector<WeightedEdge> edges;
    const auto id = [&](NodeId world, NodeId group, NodeId member) { return ((member * 30 + group) * 2 + world); };
    const auto any = [&](NodeId count) { return static_cast<NodeId>(random() % count); };
    for (NodeId world = 0; world < 2; ++world)
      for (NodeId group = 0; group < 30; ++group)
        for (NodeId member = 0; member < 50; ++member) {
          for (int i = 0; i < 5; ++i) edges.push_back({{id(world, group, member), id(world, group, any(50))}, 1});
          for (int i = 0; i < 2; ++i) edges.push_back({{id(world, group, member), id(world, any(30), any(50))}, 1});
        }
    edges.push_back({{id(0, 0, 0), id(1, 0, 0)}, 1});
    const GraphStore store(nodes, edges);
    const std::vector<NodeId> positions = order_of(store.graph());
    REQUIRE(is_permutation(positions));
    std::uint64_t first_half = 0;
    for (NodeId node = 0; node < nodes; node += 2) first_half += positions[node] < nodes / 2 ? 1 : 0;
    CHECK((first_half > nodes / 2 * 95 / 100 || first_half < nodes / 2 * 5 / 100));
  }

  TEST_CASE("one, two and five threads give one order") {
    for (const Planted& graph : {planted(700, 100, 3, 2), planted(20, 3500, 1, 3)}) {
      const GraphStore store(70'000, graph.edges);
      std::vector<std::vector<NodeId>> orders;
      for (const std::size_t threads : {1, 2, 5}) {
        const ThreadLimit limit(threads);
        orders.push_back(order_of(store.graph()));
      }
      CHECK(is_permutation(orders[0]));
      CHECK(orders[0] == orders[1]);
      CHECK(orders[0] == orders[2]);
    }
  }

  TEST_CASE("a permutation for graphs of every shape, and larger degrees first in a community") {
    std::vector<testing::NamedGraph> graphs = testing::graph_family();
    graphs.push_back(
        testing::random_graph_with_hub(20'000, 30'000, 8));  // its hub has more neighbours than are counted
    for (const testing::NamedGraph& graph : graphs) {
      CAPTURE(graph.name);
      const GraphStore store(graph.nodes, plain(graph.edges));
      CHECK(is_permutation(order_of(store.graph())));
    }
    // A star and its centre: one community.
    const GraphStore star(50, [] {
      std::vector<WeightedEdge> edges;
      for (NodeId leaf = 0; leaf < 49; ++leaf) edges.push_back({{49, leaf}, 1});
      return edges;
    }());
    CHECK(order_of(star.graph())[49] == 0);
  }

  TEST_CASE("edges count as often as they weigh") {
    // Node 20 has three neighbours in the first clique and one in the second, whose edge may weigh
    // ten times as much. Each clique has a leaf, which comes last in its community, right behind
    // the node if that is in it.
    std::vector<WeightedEdge> edges;
    for (NodeId first : {0U, 10U})
      for (NodeId u = first; u < first + 10; ++u)
        for (NodeId v = first; v < u; ++v) edges.push_back({{u, v}, 9});
    for (const NodeId one : {0U, 1U, 2U}) edges.push_back({{20, one}, 1});
    edges.push_back({{21, 3}, 1});
    edges.push_back({{22, 13}, 1});
    const auto leaf_behind = [&](std::uint32_t weight) -> NodeId {
      std::vector<WeightedEdge> all = edges;
      all.push_back({{20, 10}, weight});
      const GraphStore store(23, all, 10);
      const std::vector<NodeId> positions = order_of(store.graph());
      for (const NodeId leaf : {21U, 22U})
        if (positions[leaf] == positions[20] + 1) return leaf;
      return kNoNode;
    };
    CHECK(leaf_behind(1) == 21);
    CHECK(leaf_behind(10) == 22);
  }

  TEST_CASE("what does not fit is refused before the first pass, and the budget is charged with what a plan says") {
    const Planted graph = planted(300, 40, 8, 1);
    const GraphStore store(12'000, graph.edges);
    const std::uint64_t bytes = community_order_bytes(12'000, store.graph().num_arcs());
    MemoryBudget ample(std::uint64_t{64} << 20);
    WorkMeter nobody;
    (void)community_order(store.graph(), ample, nobody);
    CHECK(ample.peak() >= bytes);
    struct Silent : WorkMeter {
      void start(std::string_view, std::uint64_t, std::string_view) override { FAIL("a pass began"); }
    } silent;
    MemoryBudget small(bytes / 2);
    testing::check_message(
        testing::message_of<ResourceError>([&] { (void)community_order(store.graph(), small, silent); }),
        {"communities of nodes"});
    CHECK(small.used() == 0);
  }
}

}  // namespace unweave
