// engine/shard_builder.h - from a stream of sorted arcs to the shards of a graph.
#pragma once

#include <filesystem>
#include <vector>

#include "engine/arc_sort.h"
#include "engine/work_meter.h"
#include "storage/gap_block.h"
#include "storage/sealed_file.h"
#include "storage/types.h"

namespace unweave {

/// Writes the shards of a graph of `nodes` nodes from its arcs, all of whose ids are below `nodes`. Reading, encoding
/// (on all threads) and writing overlap; the bytes do not depend on the number of threads. Holds the encoded blocks of
/// one shard and about 2 MiB a thread. Throws what the stream throws, and ResourceError for a full disk.
[[nodiscard]] std::vector<FileEntry> build_shards(const std::filesystem::path& store, NodeId nodes, ArcStream& arcs,
                                                  Codec codec, WorkMeter& meter);

}  // namespace unweave
