// engine/ingest/bfs_order.h - the order in which a breadth-first search meets the nodes.
#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/io/types.h"

namespace unweave {

/// Every node's position in a breadth-first search from the node of largest degree, then from the
/// one of largest degree that is left, and so on. A node comes after the one that is first to reach
/// it; among those reached by the same one, larger degrees come first, then smaller ids. The order
/// does not depend on the number of threads. The search decodes the blocks of a level once, side by
/// side, and holds 20 bytes a node.
[[nodiscard]] std::vector<NodeId> bfs_order(const Graph& graph, MemoryBudget& budget, WorkMeter& meter);

}  // namespace unweave
