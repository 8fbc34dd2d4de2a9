// engine/ingest/order_choice.h - the order "auto": the one under which the lists of a graph take
// the fewest bytes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/io/types.h"

namespace unweave {

/// Bits an arc of the lists if every node lay at its position, from a sample of the blocks that the
/// store would have: at least 128, or all that there are, of those with about as many arcs, so that
/// hubs take part. Index and degrees are left out. Without positions they are those of the graph.
/// Charges less than half a byte a node, and the sample. Throws FormatError, ResourceError.
[[nodiscard]] double sampled_bits_per_arc(const Graph& graph, std::span<const NodeId> positions, MemoryBudget& budget);

/// The positions of the order with the fewest sampled bits an arc, "none" among them; ties go to
/// the one that is cheaper to compute. `why`, where it is not null, becomes a sentence with the
/// bits of each. Depends on the graph alone. Holds what the orders hold one after the other, and 4
/// bytes a node; the positions are the caller's to charge. Throws as compute_order() does.
[[nodiscard]] std::vector<NodeId> choose_order(const Graph& graph, MemoryBudget& budget, WorkMeter& meter,
                                               std::string* why);

}  // namespace unweave
