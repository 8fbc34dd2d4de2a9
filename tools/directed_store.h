// tools/directed_store.h - the arcs of a file as a store of shards, for benchmarks of the codec.
#pragma once

#include <filesystem>

#include "engine/memory.h"
#include "storage/input/byte_source.h"

namespace unweave {

/// Writes the arcs as they stand, self loops included, repeated ones once, into the folder `store`, missing or empty.
/// Unlike an imported one the graph is directed: nothing but the shards' lists can be read. Nodes: largest id + 1.
/// Throws InputError, DataError, ResourceError where 8 bytes an arc do not fit `budget`.
void write_directed_store(const std::filesystem::path& store, const InputFile& arcs, MemoryBudget& budget);

}  // namespace unweave
