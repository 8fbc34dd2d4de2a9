// algorithms/propagation/node_sample.h - which nodes stand for all in a trial.
#pragma once

#include <vector>

#include "engine/graph/row_mask.h"
#include "storage/io/types.h"

namespace unweave {

/// Draws about one in `stride` of the pieces of `piece_nodes` consecutive nodes (a multiple of 32) that hold a `wanted`
/// one (null: of all pieces). The drawn pieces are evenly spread among those, ascend, and are at least one where there
/// are any.
[[nodiscard]] std::vector<NodeRange> sample_pieces(NodeId nodes, NodeId piece_nodes, const RowMask* wanted,
                                                   double stride);

}  // namespace unweave
