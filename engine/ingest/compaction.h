// engine/ingest/compaction.h - the immutable files of a store's present contents, as an import of
// them would have made them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/contents.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/formats/manifest.h"

namespace unweave {

/// Tells of each span whether a row of features there has a zero with a sign (find_signed_zeros()).
/// Nothing where the files of features have by now all that was set and cleared.
using FindSignedZeros = std::function<std::optional<std::vector<bool>>()>;

/// Writes shards, features, labels, splits and, unless `keep_order`, the order that the present
/// graph gives; what would come out as it is stays. `manifest` is that of the generation that
/// `contents` came from. Returns a manifest of these files alone: no changes, no embedding, request
/// 0. The files are not yet durable.
///
/// Where the order is another one, or where `nodes` is above the number that there are, everything
/// is written anew, through temporary files in `store`. `nodes` counts copies. Nodes that are new
/// have nothing but the names of `added`, as far as it goes, and are of the last type; under an
/// order that is kept they come last. `reason`, unless it is null, becomes what compute_order()
/// says of an order that is chosen. `signed_zeros` is asked where nodes stay in their places; spans
/// without such zeros, and without rows that were set or cleared, stay. Holds the labels and 8
/// bytes a node for an order, charged to the budget like the rest. Throws FormatError, DataError,
/// ResourceError.
[[nodiscard]] Manifest compact_contents(const std::filesystem::path& store, const Manifest& manifest,
                                        const Contents& contents, NodeId nodes, const NameList* added, bool keep_order,
                                        std::string* reason, const FindSignedZeros& signed_zeros, MemoryBudget& budget,
                                        WorkMeter& meter);

/// The manifest of a store that is open with what was set and cleared of features, labels and
/// splits in its files: the changes need to speak of edges alone. Shards and levels stay as they
/// are. Throws FormatError, ResourceError.
[[nodiscard]] Manifest fold_data(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents,
                                 MemoryBudget& budget, WorkMeter& meter);
/// Memory of the budget without which fold_data() cannot do.
[[nodiscard]] std::uint64_t fold_data_bytes(const Contents& contents);

}  // namespace unweave
