// engine/ingest/node_ranking.h - nodes by descending degree, and permutations turned round.
#pragma once

#include <span>
#include <vector>

#include "engine/graph/graph.h"
#include "storage/io/types.h"

namespace unweave {

/// All nodes, larger degrees first, then smaller ids. Holds 8 bytes a node beside the result.
[[nodiscard]] std::vector<NodeId> nodes_by_degree(const Graph& graph);

/// positions[order[i]] = i.
[[nodiscard]] std::vector<NodeId> positions_of(std::span<const NodeId> order);

}  // namespace unweave
