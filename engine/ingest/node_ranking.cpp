// engine/ingest/node_ranking.cpp - sorts nodes by degree, and turns permutations round.
#include "engine/ingest/node_ranking.h"

#include <cstdint>
#include <functional>

#include "engine/resources/parallel.h"

namespace unweave {
namespace {

constexpr std::size_t kRankedATask = std::size_t{1} << 14;

}  // namespace

std::vector<NodeId> nodes_by_degree(const Graph& graph) {
  std::vector<std::uint64_t> keys(graph.num_nodes());
  parallel_ranges(0, keys.size(), kRankedATask, [&](std::size_t first, std::size_t last) {
    for (std::size_t node = first; node < last; ++node)
      keys[node] = std::uint64_t{~graph.degree(static_cast<NodeId>(node))} << 32 | node;
  });
  parallel_sort(keys.begin(), keys.end(), std::less<>());
  std::vector<NodeId> order(keys.size());
  for (std::size_t at = 0; at < keys.size(); ++at) order[at] = static_cast<NodeId>(keys[at]);
  return order;
}

std::vector<NodeId> positions_of(std::span<const NodeId> order) {
  std::vector<NodeId> positions(order.size());
  parallel_ranges(0, order.size(), kRankedATask, [&](std::size_t first, std::size_t last) {
    for (std::size_t at = first; at < last; ++at) positions[order[at]] = static_cast<NodeId>(at);
  });
  return positions;
}

}  // namespace unweave
