// algorithms/maintenance/grow.h - room for more nodes in a store, in place.
#pragma once

#include <filesystem>
#include <optional>

#include "algorithms/maintenance/reports.h"
#include "engine/graph/store.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/formats/manifest.h"

namespace unweave {

/// Makes a generation of the same contents with `options.nodes` nodes, of which the new ones have
/// nothing but names, and wait for `insert-node`. What was computed stays, and so do models and the
/// journal; a number of nodes that the store has already changes nothing. Without an order, and
/// once nothing is left in the journal, the files are those of an import with this number of nodes
/// (engine/ingest/growth.h). A crash leaves the store as it was or grown. Throws what opening a
/// store throws; UsageError for fewer nodes than there are, and where nodes have copies or so many
/// would need other spans: a purge can do that; InputError for names; ResourceError. `lock`: as
/// purge_store() has it.
GrowReport grow_store(const std::filesystem::path& store, const GrowOptions& options, MemoryBudget& budget,
                      WorkMeter& meter, std::optional<WriterLock> lock = std::nullopt);

/// Throws ResourceError where the disk has not the room for the files of a growth to so many nodes.
void require_room_to_grow(const std::filesystem::path& store, const Manifest& manifest, std::uint64_t nodes);

/// How many nodes grow_store() would add. Throws UsageError as it does.
[[nodiscard]] std::uint64_t nodes_to_add(const std::filesystem::path& store, const Manifest& manifest,
                                         const GrowOptions& options);

}  // namespace unweave
