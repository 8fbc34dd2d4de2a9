// engine/ingest/graph_order.cpp - computes orders by name, and writes the shards of a graph in a
// new order.
#include "engine/ingest/graph_order.h"

#include <algorithm>
#include <memory>

#include "engine/graph/edge_pieces.h"
#include "engine/ingest/arc_sort.h"
#include "engine/ingest/bfs_order.h"
#include "engine/ingest/community_order.h"
#include "engine/ingest/node_ranking.h"
#include "engine/ingest/order_choice.h"
#include "engine/ingest/shard_builder.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

std::vector<NodeId> degree_order(const Graph& graph, MemoryBudget& budget) {
  const Reservation memory = budget.reserve(std::uint64_t{graph.num_nodes()} * 12, "nodes by degree");
  return positions_of(nodes_by_degree(graph));
}

}  // namespace

std::string order_names() {
  return "degree, bfs, community, auto";
}

bool is_order(std::string_view name) {
  return name == "none" || name == "degree" || name == "bfs" || name == "community" || name == "auto";
}

std::uint64_t order_bytes(std::string_view name, std::uint64_t nodes, std::uint64_t arcs) noexcept {
  if (name == "community") return community_order_bytes(nodes, arcs);
  if (name == "auto") return std::max(community_order_bytes(nodes, arcs), nodes * (20 + sizeof(NodeId)));
  return nodes * (name == "bfs" ? 20 : 12);
}

std::vector<NodeId> compute_order(std::string_view name, const Graph& graph, MemoryBudget& budget, WorkMeter& meter,
                                  std::string* reason) {
  if (name == "degree") return degree_order(graph, budget);
  if (name == "bfs") return bfs_order(graph, budget, meter);
  if (name == "community") return community_order(graph, budget, meter);
  if (name == "auto") return choose_order(graph, budget, meter, reason);
  throw UsageError("there is no order " + std::string(name) + " to compute; take " + order_names());
}

std::vector<FileEntry> build_reordered_shards(const std::filesystem::path& store, const Graph& graph,
                                              const std::vector<NodeId>& positions, MemoryBudget& budget,
                                              WorkMeter& meter, ShardOf of) {
  const Reservation memory = budget.reserve(memory_shares::kEdgeSort.of(budget), "sorting of edges");
  const auto nodes = static_cast<NodeId>(positions.size());
  ArcSorter sorter(store, static_cast<std::size_t>(memory.bytes()), nodes, graph.max_weight());
  for_edge_pieces(
      graph,
      [&](EdgePiece& piece) {
        for (Edge& edge : piece.edges) edge = {positions[edge.u], positions[edge.v]};
        sorter.add(piece.edges, piece.weights);
      },
      [&](const EdgePiece& piece) { meter.advance((piece.last_block - piece.first_block) * kBlockNodes); });
  const std::unique_ptr<SortedArcs> arcs = sorter.finish();
  return build_shards(store, nodes, graph.list_form(), *arcs, budget, meter, std::nullopt, of).files;
}

}  // namespace unweave
