// storage/input/ogb_files.h - what the layouts of OGB's folders share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "storage/input/import_options.h"

namespace unweave {

inline constexpr std::string_view kFetchFolderAgain = "fetch the folder again";
inline constexpr std::string_view kOneGraph =
    "give a data set of one graph, whose nodes have the labels; whole graphs are read from other files (guide: classify-graphs)";

[[nodiscard]] std::optional<InputFile> file_if_present(const std::filesystem::path& path);
/// Throws DataError where there is no such file.
[[nodiscard]] InputFile required_file(const std::filesystem::path& path, std::string_view remedy = kFetchFolderAgain);
/// One number in a text. Throws DataError without the file, InputError for a text of another form.
[[nodiscard]] StatedCount read_text_count(const std::filesystem::path& path);

/// Ids of a split, files of this folder.
struct SplitFiles {
  std::optional<InputFile> train, valid, test;
};
/// Those of the one folder below `splits` that has some; `below`: a folder inside it, or empty.
/// Throws DataError for several.
[[nodiscard]] SplitFiles split_files(const std::filesystem::path& splits, const std::string& below = {});

}  // namespace unweave
