// engine/shard_builder.h - from sorted arcs to the shards of a graph.
#pragma once

#include <filesystem>
#include <vector>

#include "engine/arc_lists.h"
#include "engine/work_meter.h"
#include "storage/sealed_file.h"
#include "storage/types.h"

namespace unweave {

struct BuiltShards {
  std::vector<FileEntry> files;
  ArcIndex arcs = 0;
};

/// Writes the shards of a graph of `nodes` nodes from its arcs, all of whose ids are below `nodes`. Reading, sorting and
/// encoding run on all threads, only shards are put together in order; the bytes do not depend on the number of threads.
/// Charges what it holds besides `arcs` to the budget. Throws DataError, ResourceError.
[[nodiscard]] BuiltShards build_shards(const std::filesystem::path& store, NodeId nodes, SortedArcs& arcs,
                                       MemoryBudget& budget, WorkMeter& meter);

}  // namespace unweave
