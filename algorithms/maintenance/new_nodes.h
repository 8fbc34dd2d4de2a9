// algorithms/maintenance/new_nodes.h - how many nodes a store gets room for, and what users call
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "engine/graph/node_names.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/formats/manifest.h"
#include "storage/formats/name_file.h"
#include "storage/input/input_file.h"

namespace unweave {

/// How many nodes come to the store where it is to have `nodes` in all; none where nobody says. New
/// ones may have `names`. Throws UsageError for fewer nodes than there are, for names of no node,
/// and where the store cannot take more.
[[nodiscard]] std::uint64_t added_nodes(const std::filesystem::path& store, const Manifest& manifest,
                                        const std::optional<std::uint64_t>& nodes,
                                        const std::optional<InputFile>& names);

/// The names of a file, of which there are `added` at most and none is among those `present`. They
/// lie in a file of the store that no manifest names. Throws InputError.
[[nodiscard]] NameList read_new_names(const std::filesystem::path& store, const Manifest& manifest,
                                      const InputFile& file, const NodeNames& present, std::uint64_t added,
                                      MemoryBudget& budget, WorkMeter& meter);

}  // namespace unweave
