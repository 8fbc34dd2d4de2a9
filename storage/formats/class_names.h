// storage/formats/class_names.h - names of classes at rest, behind the labels (FORMAT.md, "Labels
// and splits").
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"
#include "storage/types/class_names.h"

namespace unweave {

/// As write_labels(), with the names of all classes behind them; as that one alone where there are
/// none.
FileEntry write_named_labels(const std::filesystem::path& store, std::span<const std::int32_t> labels,
                             const std::vector<std::string>& names, const char* stem = "labels");
/// The names in a file of labels; none where classes have numbers alone. Throws FormatError.
[[nodiscard]] std::vector<std::string> read_class_names(const std::filesystem::path& store, const FileEntry& labels,
                                                        NodeId nodes, std::uint32_t classes);
/// As read_class_names(), where the file is open already.
[[nodiscard]] std::vector<std::string> class_names_in(const SealedFile& labels, NodeId nodes, std::uint32_t classes);

}  // namespace unweave
