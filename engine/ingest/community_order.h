// engine/ingest/community_order.h - an order in which nodes that share many neighbours lie
// together.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/io/types.h"

namespace unweave {

/// Every node's position when communities lie one after the other, and those with many edges
/// between them near to each other. Inside a community larger degrees come first, then smaller ids.
/// The order does not depend on the number of threads.
///
/// Communities come from label propagation whose clusters have a limited size (Meyerhenke, Sanders,
/// Schulz, Partitioning complex networks via size-constrained clustering, SEA 2014): a few passes
/// over the lists, in each of which a node takes the label that most of its neighbours have. The
/// communities are clustered further by a sample of the arcs between them, about one a node
/// (Blondel, Guillaume, Lambiotte, Lefebvre, Fast unfolding of communities in large networks, J.
/// Stat. Mech. 2008), and sorted by the largest clusters, those of one by the next smaller ones,
/// and so on.
///
/// Throws ResourceError before the first pass where community_order_bytes(), and the decoded lists
/// of a few blocks, exceed the budget.
[[nodiscard]] std::vector<NodeId> community_order(const Graph& graph, MemoryBudget& budget, WorkMeter& meter);

/// Memory that it takes for so many nodes and arcs: 16 to 46 bytes a node, where many have few
/// neighbours. Decoded lists come to it, and arcs of the sample beyond one a node.
[[nodiscard]] std::uint64_t community_order_bytes(std::uint64_t nodes, std::uint64_t arcs) noexcept;

}  // namespace unweave
