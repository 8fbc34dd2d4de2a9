// algorithms/api/unweave/ingest.h - new stores: from files of a user, or synthetic.
#pragma once

#include <filesystem>

#include "algorithms/synthetic/generate.h"
#include "engine/ingest/store_import.h"
#include "unweave/resources.h"

namespace unweave {
inline namespace v0 {

/// Builds a store in the folder `store`, which is missing, empty or what a killed import left; on any error nothing is left.
/// Throws UsageError for options that do not fit together, InputError and DataError for files, ResourceError.
ImportReport import_store(const std::filesystem::path& store, const ImportOptions& options, Resources& resources);

/// Builds a store of a synthetic graph in the folder `store`. Equal options give equal files. Throws UsageError, ResourceError.
BuildReport generate_store(const std::filesystem::path& store, const GenerateOptions& options, Resources& resources);

}  // namespace v0
}  // namespace unweave
