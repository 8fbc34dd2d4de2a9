// engine/graph/block_graph.h - what a sweep needs of a graph: blocks of whole adjacency lists that
// can be decoded alone.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/codec/gap_block.h"
#include "storage/io/types.h"
#include "storage/types/list_view.h"

namespace unweave {

/// The adjacency lists of consecutive nodes, one after the other, without self loops, sorted; a
/// neighbour stands there as often as its edge weighs. Every target is below the graph's
/// num_nodes(): the gather kernels rely on it.
struct DecodedBlock {
  NodeId first = 0;
  std::uint32_t nodes = 0;
  const std::uint32_t* counts = nullptr;  ///< neighbours of each node
  const NodeId* targets = nullptr;        ///< sum of counts ids
  /// Null, or what the edge of each target weighs: then each neighbour stands there once.
  const std::uint32_t* weights = nullptr;
};

/// Calls use(u, v, weight) for the arcs of a block's nodes u, each neighbour once, in order.
template <class Use>
void for_arcs(const DecodedBlock& block, const Use& use) {
  const NodeId* target = block.targets;
  const std::uint32_t* weight = block.weights;
  for (std::uint32_t i = 0; i < block.nodes; ++i) {
    const std::size_t ids = block.counts[i];
    const NodeId u = block.first + i;
    for_neighbours({{target, ids}, weight}, [&](NodeId v, std::uint32_t times) { use(u, v, times); });
    target += ids;
    if (weight != nullptr) weight += ids;
  }
}

/// Calls use(u, v, weight) for the edges of a block's nodes u with v > u, in order.
template <class Use>
void for_edges(const DecodedBlock& block, const Use& use) {
  for_arcs(block, [&](NodeId u, NodeId v, std::uint32_t weight) {
    if (v > u) use(u, v, weight);
  });
}

/// A graph that decodes block b (nodes [32 b, 32 b + 32)) into a buffer that the caller owns and
/// reuses. decode() may run on several threads at once with different buffers; `out` stays valid
/// until the buffer is used again. A graph may also have max_decoded_bytes(), the most a buffer
/// comes to hold, which is then charged to the memory budget, and read_ahead(first, last), which is
/// told of blocks that will be decoded soon. One whose edges have real weights has self_weight()
/// too, as Graph has it.
template <class G>
concept BlockGraph = requires(const G& graph, std::size_t block, typename G::BlockBuffer& buffer, DecodedBlock& out) {
  requires std::default_initializable<typename G::BlockBuffer>;
  { graph.num_nodes() } -> std::convertible_to<NodeId>;
  { graph.num_blocks() } -> std::convertible_to<std::size_t>;
  graph.decode(block, buffer, out);
};

}  // namespace unweave
