// algorithms/propagation/node_sample.h - which nodes stand for all in a trial.
#pragma once

#include <vector>

#include "engine/graph/row_mask.h"
#include "storage/io/types.h"

namespace unweave {

/// Of the pieces of `piece_nodes` consecutive nodes (a multiple of 32) that hold a `wanted` one (null: any), about one in
/// `stride`, evenly spread among these; at least one where there are any. Ascending.
[[nodiscard]] std::vector<NodeRange> sample_pieces(NodeId nodes, NodeId piece_nodes, const RowMask* wanted,
                                                   double stride);

}  // namespace unweave
