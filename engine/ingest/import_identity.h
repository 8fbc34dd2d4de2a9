// engine/ingest/import_identity.h - the input files of an import, and what the bytes of its store
// follow from, in words that ranks compare.
#pragma once

#include <string>
#include <vector>

#include "engine/ingest/store_import.h"

namespace unweave {

/// Options, and of every input file its path, size, time of change and inode, a line for each.
[[nodiscard]] std::string import_identity(const ImportOptions& options);

/// The input files that options name.
[[nodiscard]] std::vector<const InputFile*> files_of(const ImportOptions& options);

/// Whether a file is standard input, a pipe or a device, and can be read once.
[[nodiscard]] bool is_pipe(const InputFile& file);

/// Whether one of them is standard input, a pipe or an array in memory, which no second reader has.
/// Throws DataError for a folder.
[[nodiscard]] bool reads_a_pipe(const ImportOptions& options);

}  // namespace unweave
