// engine/state/target_list_writer.h - writes lists of the targets (storage/formats/target_lists.h)
// from the graph.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "engine/graph/contents.h"
#include "storage/formats/level_files.h"
#include "storage/io/types.h"

namespace unweave {

/// Writes the lists of the labelled nodes and names them in the files of the last level; writes
/// nothing where they have more than an eighth of all arcs, since a copy of most of the graph does
/// not pay. Throws DataError, and ResourceError for a full disk.
void write_target_lists(const std::filesystem::path& store, const Contents& contents, LevelFiles& files);

/// Writes the lists of these nodes (sorted) whatever they take.
void write_target_lists(const std::filesystem::path& store, const Graph& graph, std::span<const NodeId> targets,
                        LevelFiles& files);

/// The most that is written for so many labelled nodes, whose lists have `arcs` arcs in sum; 0
/// where it does not pay.
[[nodiscard]] std::uint64_t most_target_list_bytes(const Graph& graph, NodeId targets, std::uint64_t arcs) noexcept;

}  // namespace unweave
