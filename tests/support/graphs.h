// tests/support/graphs.h - small graphs of every shape that tends to break things, and sums
// computed the plain way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "storage/io/types.h"
#include "support/csr_graph.h"

namespace unweave::testing {

struct NamedGraph {
  std::string name;
  NodeId nodes = 0;
  std::vector<Edge> edges;

  [[nodiscard]] CsrGraph csr() const { return {nodes, edges}; }
};

/// A random graph of about `edges` edges, and node 0 joined to half of the nodes.
inline NamedGraph random_graph_with_hub(NodeId nodes, std::size_t edges, std::uint32_t seed) {
  NamedGraph graph{"random with hub", nodes, {}};
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < edges; ++i) {
    graph.edges.push_back({static_cast<NodeId>(random() % nodes), static_cast<NodeId>(random() % nodes)});
  }
  for (NodeId v = 1; v < nodes / 2; ++v) graph.edges.push_back({0, v});
  return graph;
}

inline std::vector<NamedGraph> graph_family() {
  std::vector<NamedGraph> family{{"single node", 1, {}}, {"isolated nodes", 70, {}}, {"one edge", 2, {{1, 0}}}};
  NamedGraph path{"path", 100, {}};
  NamedGraph star{"star", 1500, {}};
  NamedGraph complete{"complete", 150, {}};
  for (NodeId u = 1; u < path.nodes; ++u) path.edges.push_back({u - 1, u});
  for (NodeId u = 1; u < star.nodes; ++u) star.edges.push_back({0, u});
  for (NodeId u = 0; u < complete.nodes; ++u) {
    for (NodeId v = 0; v < u; ++v) complete.edges.push_back({u, v});
  }
  family.push_back(path);
  family.push_back(star);
  family.push_back(complete);
  family.push_back({"two parts", 64, {{0, 1}, {1, 2}, {60, 61}, {61, 63}}});
  family.push_back(random_graph_with_hub(1700, 6000, 3));
  return family;
}

/// S(u, c) of one level by definition: a dense adjacency of booleans, 64-bit sums, no order that
/// matters.
inline std::vector<std::int64_t> plain_sums(const NamedGraph& graph, const std::vector<std::int64_t>& t,
                                            std::size_t width) {
  std::vector<std::vector<bool>> adjacent(graph.nodes, std::vector<bool>(graph.nodes, false));
  for (const Edge& edge : graph.edges) adjacent[edge.u][edge.v] = adjacent[edge.v][edge.u] = true;
  for (NodeId u = 0; u < graph.nodes; ++u) adjacent[u][u] = true;
  std::vector<std::int64_t> sums(graph.nodes * width, 0);
  for (NodeId u = 0; u < graph.nodes; ++u) {
    for (NodeId v = 0; v < graph.nodes; ++v) {
      if (!adjacent[u][v]) continue;
      for (std::size_t c = 0; c < width; ++c) sums[u * width + c] += t[v * width + c];
    }
  }
  return sums;
}

/// d(u), the self loop included.
inline std::vector<std::int64_t> plain_degrees(const NamedGraph& graph) {
  return plain_sums(graph, std::vector<std::int64_t>(graph.nodes, 1), 1);
}

/// round(sum / degree) to nearest with ties to even, in integers alone.
inline std::int64_t plain_quotient(std::int64_t sum, std::int64_t degree) {
  std::int64_t floor = sum / degree - (sum % degree < 0 ? 1 : 0);
  const std::int64_t twice = 2 * (sum - floor * degree);
  if (twice > degree || (twice == degree && floor % 2 != 0)) ++floor;
  return floor;
}

}  // namespace unweave::testing
