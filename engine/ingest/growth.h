// engine/ingest/growth.h - a store gets room for more nodes, and keeps the files that they leave as
// they are.
#pragma once

#include <filesystem>

#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/formats/manifest.h"
#include "storage/formats/name_file.h"

namespace unweave {

/// Whether a store of `before` nodes can grow to `after`: each span keeps its first node. Where
/// there are too many for that all files are written anew, as by a purge.
[[nodiscard]] bool spans_stay(NodeId before, NodeId after) noexcept;

/// The manifest of the same generation with `nodes` nodes, no fewer than it has, for which
/// spans_stay(). Nodes have one copy each. New ones come last, also under an order, and are of the
/// last type. They have nothing but the names of
/// `added`, as far as it goes (null: none), and zeros as their rows. Files of whole spans of
/// features and levels stay, shards are copied, since they say how many nodes there are, and what
/// has a value for each node is written anew; what an import with this number of nodes would write
/// comes out byte for byte, unless there is an order. Changes, requests and models stay as they
/// are. The files are not yet durable. Charges a few bytes for each node to the budget. Throws
/// DataError, FormatError, ResourceError, and UsageError as rewrite_names() does.
[[nodiscard]] Manifest grow_generation(const std::filesystem::path& store, const Manifest& before, NodeId nodes,
                                       const NameList* added, MemoryBudget& budget, WorkMeter& meter);

}  // namespace unweave
