// algorithms/live/export_all.h - all that a store holds at its present moment as files that an
// import takes back.
//
// An import of them, told the constants of ExportedStore, makes the store that a purge makes of
// this one, before a propagation: what was removed is in none of the files.
#pragma once

#include <filesystem>

#include "algorithms/live/reports.h"

namespace unweave {

class LiveStore;

/// Writes the files into `folder`, which is made where it is missing. Where the order of the store
/// is not that of the ids, rows and edges are sorted within the store's budget, with temporary
/// files in the folder. Throws UsageError where the folder is not empty, and for a store whose
/// features were scaled by statistics of the data: no import knows these any more; DataError,
/// ResourceError.
ExportedStore export_all(const LiveStore& store, const std::filesystem::path& folder);

}  // namespace unweave
