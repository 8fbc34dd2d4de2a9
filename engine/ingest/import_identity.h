// engine/ingest/import_identity.h - what the bytes of an imported store follow from, in words that another process
// compares.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/ingest/store_import.h"

namespace unweave {

using ImportIdentity = std::vector<std::pair<std::string, std::string>>;

/// Options, and of every input file its path, size, time of change and inode. Nothing where one of them cannot be read
/// again, as standard input and arrays in memory.
[[nodiscard]] std::optional<ImportIdentity> import_identity(const ImportOptions& options);

/// One line for each of them.
[[nodiscard]] std::string identity_text(const ImportIdentity& identity);

/// The input files that options name.
[[nodiscard]] std::vector<const InputFile*> files_of(const ImportOptions& options);

/// Whether one of them is standard input, a pipe or an array in memory, which no second reader has. Throws DataError
/// for a folder.
[[nodiscard]] bool reads_a_pipe(const ImportOptions& options);

/// In what two of them differ, for a message; empty: in nothing.
[[nodiscard]] std::string identity_difference(const ImportIdentity& before, const ImportIdentity& now);

}  // namespace unweave
