// tools/cli/npy_output.h - options that name the NumPy files which a command writes; "-" is
// standard output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/graph/node_names.h"
#include "storage/npy/npy_writer.h"
#include "tools/cli/command.h"

namespace unweave {

/// Checks those of the options that were given. Throws UsageError for a file in the folder of the
/// store, for a name that promises another format than NumPy's, for two options with one file, and
/// for "-" where somebody would read the bytes.
void check_npy_outputs(const CommandLine& line, const std::vector<std::string>& options,
                       const std::filesystem::path& store);

/// Arrays have numbers of nodes, and where numbers are names in a store, those would be read back
/// as names: `--ids` is an error there (its text has names), which a UsageError tells, and the
/// options that have no other form are noted.
void check_node_numbers(const CommandLine& line, const NodeNames& names, const std::vector<std::string>& options);

/// Where an option that was given puts its array.
[[nodiscard]] NpyTarget npy_target(const CommandLine& line, const std::string& option);

/// Notes that `missing` of `asked` nodes have no embedding, why, and what becomes of them.
void note_missing_rows(const CommandLine& line, const std::filesystem::path& store, std::uint64_t missing,
                       std::uint64_t asked, const std::string& fate);

}  // namespace unweave
