// algorithms/propagation/node_sample.cpp - lists the pieces and keeps the middle one of each equal part.
#include "algorithms/propagation/node_sample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "engine/graph/block_graph.h"

namespace unweave {
namespace {

bool holds_any(const RowMask& wanted, NodeRange piece) {
  for (std::size_t block = piece.first / kBlockNodes; block * kBlockNodes < piece.last; ++block)
    if (wanted.block_bits(block) != 0) return true;
  return false;
}

}  // namespace

std::vector<NodeRange> sample_pieces(NodeId nodes, NodeId piece_nodes, const RowMask* wanted, double stride) {
  std::vector<NodeRange> pieces;
  for (std::uint64_t first = 0; first < nodes; first += piece_nodes) {
    const NodeRange piece{static_cast<NodeId>(first),
                          static_cast<NodeId>(std::min<std::uint64_t>(nodes, first + piece_nodes))};
    if (wanted == nullptr || holds_any(*wanted, piece)) pieces.push_back(piece);
  }
  const auto all = static_cast<double>(pieces.size());
  const auto taken = static_cast<std::size_t>(std::ceil(all / std::max(1.0, stride)));
  for (std::size_t i = 0; i < taken; ++i)  // the one in the middle of each of so many equal parts
    pieces[i] = pieces[(2 * i + 1) * pieces.size() / (2 * taken)];
  pieces.resize(taken);
  return pieces;
}

}  // namespace unweave
