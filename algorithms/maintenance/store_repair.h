// algorithms/maintenance/store_repair.h - what can be had again of a store with damaged files, and
// what is lost.
//
//   state        every file of the levels (storage/formats/level_files.h): computed anew from
//                graph, features and the manifest's propagation, all at once, where these are
//                whole. Rows that a lazy stream left stale are exact then
//   certificates the newest of each model, from the model file
//   release      what is private of the newest release of a canonical model
//                (SolverEntry::canonical): trained again from the model file's options and
//                certified, where graph, features, labels and splits are whole. The weights are
//                those of before if the model was up to date
//   journal      on request alone: cut off where it is damaged; the requests after that are lost
//   the rest     shards, order, features, labels, splits, changes, models, older certificates:
//                never
//
// Nothing that is whole is overwritten: new files come into being beside the old ones, and a new
// manifest names them. A crash leaves the store as it was or repaired.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "algorithms/maintenance/reports.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"

namespace unweave {

/// Throws DataError when there is no manifest to begin with, ResourceError (another writer, memory,
/// disk).
[[nodiscard]] std::vector<RepairedFile> repair_store(const std::filesystem::path& store, const RepairOptions& options,
                                                     MemoryBudget& budget, WorkMeter& meter);

}  // namespace unweave
