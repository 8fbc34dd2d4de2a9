// algorithms/live/stepwise_fold.h - what lies beside the files of a large store goes into them step
// by step, so that little disk is needed for it.
//
// A checkpoint leaves changed edges, rows of features and rows of sums beside the files that they
// differ from. A step writes the successors of some of these files, makes them durable, swaps the
// manifest and removes what they replace. Contents, requests and models stay as they are, and a
// crash leaves the store as it is before a step or after it.
//
// Rows are absolute: a file may have what is still kept beside it. A changed edge is not, and
// stands in two lists; the manifest says how many spans of lists have the changed edges
// (Manifest::folded_spans). A reader takes such a store as it is; whoever opens it to write ends
// the shards first, since changes that come later could not be told apart.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/formats/manifest.h"

namespace unweave {

/// Bytes of new files beside those that they replace, unless one file alone has more.
inline constexpr std::uint64_t kFoldStep = std::uint64_t{1} << 30;

/// Folds the edges of the graph, the features and the sums of a store without a pending request and
/// without stale rows, which nobody has open for writing and whose writer's lock the caller holds.
/// `signed_zeros` says of which spans the features are written anew in any case; it may be empty.
/// Afterwards the changes speak of neither edges nor rows of sums; the edges held out of the graph,
/// labels and splits stay beside their files. `step`: as kFoldStep. Returns the present manifest.
/// Throws DataError, FormatError, ResourceError; then the manifest on the disk is that of the last
/// step.
[[nodiscard]] Manifest fold_stepwise(const std::filesystem::path& store, Manifest manifest,
                                     const std::vector<bool>& signed_zeros, std::uint64_t step, MemoryBudget& budget,
                                     WorkMeter& meter);

/// The part of it that has to come to its end before requests are taken: the shards, where
/// `manifest` says that some have the changed edges and others have not.
[[nodiscard]] Manifest end_stepwise_fold(const std::filesystem::path& store, Manifest manifest, MemoryBudget& budget);

}  // namespace unweave
