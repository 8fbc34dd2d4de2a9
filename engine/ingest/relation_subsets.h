// engine/ingest/relation_subsets.h - edges of sets of relations, from the graph of the relations.
#pragma once

#include "engine/graph/graph.h"
#include "engine/ingest/arc_sort.h"
#include "engine/resources/work_meter.h"
#include "storage/io/types.h"
#include "storage/types/layers.h"

namespace unweave {

/// Adds every edge of the layers of relations, and for each set an edge of its layer that weighs as
/// many units as relations of the set have one (storage/types/layers.h). `relations`: the graph of
/// the layers of relations alone, with `users` nodes a copy. The meter counts nodes
/// of users. Throws FormatError, and what the sorter throws.
void add_with_subsets(const Graph& relations, const Layers& layers, NodeId users, ArcSorter& sorter, WorkMeter& meter);

}  // namespace unweave
