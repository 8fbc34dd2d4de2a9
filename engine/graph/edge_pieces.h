// engine/graph/edge_pieces.h - all edges of a graph in pieces: decoded on all threads, used in
// order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/pipeline.h"

namespace unweave {

/// Ids of the lists of a block, without self loops.
[[nodiscard]] inline std::uint64_t block_arcs(const Graph& graph, std::size_t block) {
  const auto first = static_cast<NodeId>(block * kBlockNodes);
  const NodeId last = first + std::min<NodeId>(kBlockNodes, graph.num_nodes() - first);
  std::uint64_t arcs = 0;
  for (NodeId node = first; node < last; ++node) arcs += graph.list_length(node);
  return arcs;
}

/// Edges of consecutive blocks, each once, u < v, by positions in their order.
struct EdgePiece {
  std::size_t first_block = 0, last_block = 0;
  Graph::BlockBuffer buffer;
  std::vector<Edge> edges;
  std::vector<std::uint32_t> weights;  ///< empty where edges have none
};

/// Calls work(piece) on any thread, then use(piece) in the order of the edges, one at a time. A
/// piece has some ten thousand arcs, or those of one block. Throws FormatError, and what these
/// throw.
template <class Work, class Use>
void for_edge_pieces(const Graph& graph, const Work& work, const Use& use) {
  constexpr std::uint64_t kArcsAPiece = std::uint64_t{1} << 16;  // where hubs come first, blocks would be too many
  std::size_t next = 0;
  run_pipeline<EdgePiece>(
      [&](EdgePiece& piece) {
        piece.first_block = next;
        for (std::uint64_t arcs = 0; next < graph.num_blocks() && arcs < kArcsAPiece; ++next) {
          read_ahead_of(graph, next);
          arcs += block_arcs(graph, next);
        }
        piece.last_block = next;
        return piece.first_block < piece.last_block;
      },
      [&](EdgePiece& piece) {
        piece.edges.clear();
        piece.weights.clear();
        DecodedBlock block;
        for (std::size_t b = piece.first_block; b < piece.last_block; ++b) {
          graph.decode(b, piece.buffer, block);
          for_edges(block, [&](NodeId u, NodeId v, std::uint32_t weight) {
            piece.edges.push_back({u, v});
            if (graph.max_weight() > 1) piece.weights.push_back(weight);
          });
        }
        work(piece);
      },
      [&](EdgePiece& piece) { use(piece); });
}

}  // namespace unweave
