// engine/ingest/graph_order.cpp - computes orders by name, and writes the shards of a graph in a new order.
#include "engine/ingest/graph_order.h"

#include <algorithm>
#include <memory>

#include "engine/ingest/arc_sort.h"
#include "engine/ingest/bfs_order.h"
#include "engine/ingest/node_ranking.h"
#include "engine/ingest/shard_builder.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "engine/resources/pipeline.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kBlocksAnItem = 256;
constexpr std::size_t kEdgesAtATime = std::size_t{1} << 16;

std::vector<NodeId> degree_order(const Graph& graph, MemoryBudget& budget) {
  const Reservation memory = budget.reserve(std::uint64_t{graph.num_nodes()} * 12, "nodes by degree");
  return positions_of(nodes_by_degree(graph));
}

/// Edges of consecutive blocks, each once, by positions.
struct EdgePiece {
  std::size_t first_block = 0;
  std::size_t last_block = 0;
  Graph::BlockBuffer buffer;
  std::vector<Edge> edges;
  std::vector<std::uint32_t> weights;
};

}  // namespace

std::string order_names() {
  return "degree, bfs";
}

bool is_order(std::string_view name) {
  return name == "none" || name == "degree" || name == "bfs";
}

std::vector<NodeId> compute_order(std::string_view name, const Graph& graph, MemoryBudget& budget, WorkMeter& meter) {
  if (name == "degree") return degree_order(graph, budget);
  if (name == "bfs") return bfs_order(graph, budget, meter);
  throw UsageError("there is no order " + std::string(name) + " to compute; take " + order_names());
}

std::vector<FileEntry> build_reordered_shards(const std::filesystem::path& store, const Graph& graph,
                                              const std::vector<NodeId>& positions, MemoryBudget& budget,
                                              WorkMeter& meter) {
  const Reservation memory = budget.reserve(memory_shares::kEdgeSort.of(budget), "sorting of edges");
  const auto nodes = static_cast<NodeId>(positions.size());
  ArcSorter sorter(store, static_cast<std::size_t>(memory.bytes()), nodes, graph.max_weight());
  std::size_t next = 0;
  run_pipeline<EdgePiece>(
      [&](EdgePiece& piece) {
        piece.first_block = next;
        read_ahead_of(graph, next);
        next = piece.last_block = std::min(graph.num_blocks(), next + kBlocksAnItem);
        return piece.first_block < piece.last_block;
      },
      [&](EdgePiece& piece) {
        piece.edges.clear();
        piece.weights.clear();
        DecodedBlock block;
        for (std::size_t b = piece.first_block; b < piece.last_block; ++b) {
          graph.decode(b, piece.buffer, block);
          for_edges(block, [&](NodeId u, NodeId v, std::uint32_t weight) {
            piece.edges.push_back({positions[u], positions[v]});
            if (graph.max_weight() > 1) piece.weights.push_back(weight);
          });
          // Where hubs come first, a piece would hold a good part of the graph.
          if (piece.edges.size() < kEdgesAtATime && b + 1 < piece.last_block) continue;
          sorter.add(piece.edges, piece.weights);
          piece.edges.clear();
          piece.weights.clear();
        }
      },
      [&](const EdgePiece& piece) { meter.advance((piece.last_block - piece.first_block) * kBlockNodes); });
  const std::unique_ptr<SortedArcs> arcs = sorter.finish();
  return build_shards(store, nodes, graph.max_weight(), *arcs, budget, meter).files;
}

}  // namespace unweave
