// storage/input/ogb_files.cpp - files that may be missing, counts in texts, and the one split of a
// data set.
#include "storage/input/ogb_files.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <vector>

#include "storage/input/words/line_reader.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSplitFiles[] = {"train.csv.gz", "valid.csv.gz", "test.csv.gz"};

}  // namespace

std::optional<InputFile> file_if_present(const fs::path& path) {
  std::error_code unreadable;
  return fs::is_regular_file(path, unreadable) ? std::optional(InputFile{path, {}}) : std::nullopt;
}

InputFile required_file(const fs::path& path, std::string_view remedy) {
  if (!file_if_present(path)) throw DataError(path.string() + ": this file is missing; " + std::string(remedy));
  return {path, {}};
}

StatedCount read_text_count(const fs::path& path) {
  StatedCount stated{0, required_file(path), {}};
  LineReader lines{ByteSource(stated.file)};
  std::string_view line;
  while (lines.next(line)) {
    Fields fields(line);
    if (fields.at_end()) continue;
    if (!stated.place.empty()) throw InputError(path, lines.place(), "a second count, of another graph", kOneGraph);
    if (fields.number(stated.count) != std::errc() || !fields.at_end() || fields.after_comma())
      throw InputError(path, lines.place(), quote_for_message(line) + " is not a count", kFetchFolderAgain);
    stated.place = lines.place();
  }
  if (stated.place.empty()) throw InputError(path, "whole file", "no count", kFetchFolderAgain);
  return stated;
}

SplitFiles split_files(const fs::path& splits, const std::string& below) {
  std::vector<fs::path> found;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(splits, missing)) {
    const fs::path folder = below.empty() ? entry.path() : entry.path() / below;
    const auto holds = [&](const char* name) { return file_if_present(folder / name).has_value(); };
    if (std::any_of(std::begin(kSplitFiles), std::end(kSplitFiles), holds)) found.push_back(folder);
  }
  if (found.empty()) return {};
  if (found.size() == 1)
    return {file_if_present(found[0] / kSplitFiles[0]), file_if_present(found[0] / kSplitFiles[1]),
            file_if_present(found[0] / kSplitFiles[2])};
  std::sort(found.begin(), found.end());
  std::string names;
  for (const fs::path& one : found) names += (names.empty() ? "" : ", ") + fs::relative(one, splits).begin()->string();
  throw DataError(splits.string() + ": several splits: " + names + "; leave one of these folders there");
}

}  // namespace unweave
