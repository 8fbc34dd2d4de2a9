// engine/ingest/relation_subsets.h - edges of sets of relations, from the graph of the relations.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/graph/graph.h"
#include "engine/ingest/arc_sort.h"
#include "engine/resources/work_meter.h"
#include "storage/io/types.h"
#include "storage/types/layers.h"

namespace unweave {

/// Told of an edge of a set, by users' ids, that weighs more units than a list of neighbours holds;
/// throws.
using RefuseSum = std::function<void(std::uint32_t layer, Edge edge, std::uint64_t units)>;

/// Adds every edge of the layers of relations, and for each set an edge of its layer that weighs
/// what those of its relations weigh together, each one where they have no weights
/// (storage/types/layers.h). `relations`: the graph of the layers of relations alone, with `users`
/// nodes a copy. The meter counts nodes of users. Throws FormatError, and what the sorter and
/// `refuse` throw.
void add_with_subsets(const Graph& relations, const Layers& layers, NodeId users, ArcSorter& sorter, WorkMeter& meter,
                      const RefuseSum& refuse);

}  // namespace unweave
