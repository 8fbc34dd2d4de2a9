// engine/ingest/shard_builder.h - from sorted arcs to the shards of a graph.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "engine/graph/arc_lists.h"
#include "engine/graph/graph.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/work_meter.h"
#include "storage/io/types.h"
#include "storage/types/file_entry.h"

namespace unweave {

struct BuiltShards {
  std::vector<FileEntry> files;
  ArcIndex arcs = 0;    ///< an edge is two for each unit of its weight
  ArcIndex unique = 0;  ///< an edge is two
};

/// Is told of each node how many arcs its list has, in order; throws where there are too many.
using CheckLength = std::function<void(NodeId node, std::uint64_t arcs)>;

/// Writes the shards of a graph of `nodes` nodes from its arcs, all of whose ids are below `nodes`,
/// with the largest weight for which they were sorted. Reading, sorting and encoding run on all
/// threads, only shards are put together in order; the bytes do not depend on the number of
/// threads. Charges what it holds besides `arcs` to the budget. `part`: writes the shards of these
/// spans alone, for which `arcs` has all arcs. `of`: which graph of the store it is. `check` may be
/// empty. Throws DataError, ResourceError, and what `check` does.
[[nodiscard]] BuiltShards build_shards(const std::filesystem::path& store, NodeId nodes, const ListForm& form,
                                       SortedArcs& arcs, MemoryBudget& budget, WorkMeter& meter,
                                       std::optional<RankShare> part = std::nullopt, ShardOf of = ShardOf::nodes,
                                       const CheckLength& check = {});

/// Memory that fold_shards() asks for at least.
[[nodiscard]] std::uint64_t fold_bytes(const Graph& graph);
/// Writes the shards of `graph` as build_shards() would from its present arcs. `shards` are those
/// that it lies on: where no list differs the file stays as it is. Returns one file a span. Counts
/// nodes on the meter. Throws FormatError, ResourceError.
[[nodiscard]] std::vector<FileEntry> fold_shards(const std::filesystem::path& store, const Graph& graph,
                                                 std::vector<FileEntry> shards, MemoryBudget& budget, WorkMeter& meter,
                                                 ShardOf of = ShardOf::nodes);
/// Likewise of the spans of `part` alone, in a step of the meter that the caller has begun: names
/// the new files in `shards`, which has one file a span.
void fold_shards(const std::filesystem::path& store, const Graph& graph, std::vector<FileEntry>& shards, RankShare part,
                 MemoryBudget& budget, WorkMeter& meter, ShardOf of = ShardOf::nodes);

}  // namespace unweave
