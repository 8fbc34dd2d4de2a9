// tests/bench/limits/directed_store.h - the arcs of a file as a store of shards, for benchmarks of
// the codec.
#pragma once

#include <filesystem>

#include "engine/resources/memory.h"
#include "storage/input/bytes/byte_source.h"

namespace unweave {

/// Writes the arcs as they stand, self loops included, repeated ones once, into the folder `store`,
/// missing or empty. Unlike an imported one the graph is directed: nothing but the shards' lists
/// can be read. Nodes: largest id + 1. Throws InputError, DataError, and ResourceError where
/// `budget` does not hold 8 bytes an arc, up to 24 while a file is read that does not tell how many
/// it has (text), and 24 an arc of the largest shard.
void write_directed_store(const std::filesystem::path& store, const InputFile& arcs, MemoryBudget& budget);

}  // namespace unweave
