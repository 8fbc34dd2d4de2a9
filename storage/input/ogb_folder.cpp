// storage/input/ogb_folder.cpp - finds the files of a data set in either layout of OGB, and reads
// its two counts.
#include "storage/input/ogb_folder.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <vector>

#include "storage/input/bytes/npy.h"
#include "storage/input/words/line_reader.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFetchFolderAgain = "fetch the folder again";
constexpr std::string_view kOneGraph = "give a data set of one graph, whose nodes have the labels";
constexpr const char* kSplitFiles[] = {"train.csv.gz", "valid.csv.gz", "test.csv.gz"};

bool is_file(const fs::path& path) {
  std::error_code unreadable;
  return fs::is_regular_file(path, unreadable);
}

std::optional<InputFile> file_if_present(const fs::path& path) {
  return is_file(path) ? std::optional(InputFile{path, {}}) : std::nullopt;
}

InputFile required_file(const fs::path& path, std::string_view remedy = kFetchFolderAgain) {
  if (!is_file(path)) throw DataError(path.string() + ": this file is missing; " + std::string(remedy));
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

StatedCount read_array_count(const fs::path& archive, const std::string& member) {
  NpyReader array(InputFile{archive, member});
  array.require_integers("counts");
  if (array.header().elements != 1)
    throw InputError(array.name(), ".npy header", "shape " + array.header().shape_text() + " instead of one count",
                     kOneGraph);
  std::vector<std::int64_t> count(1);
  array.read(count);
  const std::string place = "element " + array.index_text(0);
  if (count[0] < 0)
    throw InputError(array.name(), place, std::to_string(count[0]) + " is not a count", kFetchFolderAgain);
  return {static_cast<std::uint64_t>(count[0]), {archive, member}, place};
}

[[noreturn]] void refuse_relations(const std::string& file) {
  throw DataError(file +
                  ": the edges are of several kinds, which no store tells apart; import the edges that are meant by " +
                  option("edges") + ", or move this file away where they are all the same to you");
}

OgbFolder text_layout(const fs::path& raw) {
  if (const fs::path kinds = raw / "edge_reltype.csv.gz"; is_file(kinds)) refuse_relations(kinds.string());
  OgbFolder found;
  found.edges = required_file(raw / "edge.csv.gz");
  found.features = required_file(raw / "node-feat.csv.gz", "fetch it again, or take a data set that has features");
  found.labels = file_if_present(raw / "node-label.csv.gz");
  for (const char* const name : {"edge-feat.csv.gz", "edge-weight.csv.gz", "edge_feat.csv.gz", "edge_weight.csv.gz"})
    if (!found.edge_values) found.edge_values = file_if_present(raw / name);
  found.num_nodes = read_text_count(raw / "num-node-list.csv.gz");
  found.num_edges = read_text_count(raw / "num-edge-list.csv.gz");
  return found;
}

OgbFolder array_layout(const fs::path& raw) {
  const fs::path data = raw / "data.npz";
  OgbFolder found;
  found.edges = {data, "edge_index"};
  found.features = {data, "node_feat"};
  if (const auto labels = file_if_present(raw / "node-label.npz")) found.labels = InputFile{labels->path, "node_label"};
  for (const std::string& name : npz_members(data))
    if (name.starts_with("edge_reltype"))
      refuse_relations(display_name(InputFile{data, name}).string());
    else if (name == "edge_feat" || name == "edge_weight")
      found.edge_values = InputFile{data, name};
  found.num_nodes = read_array_count(data, "num_nodes_list");
  found.num_edges = read_array_count(data, "num_edges_list");
  return found;
}

/// The folder under `splits` that holds the ids; empty if none does.
fs::path split_folder(const fs::path& splits) {
  std::vector<fs::path> found;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(splits, missing)) {
    const auto holds = [&](const char* name) { return is_file(entry.path() / name); };
    if (std::any_of(std::begin(kSplitFiles), std::end(kSplitFiles), holds)) found.push_back(entry.path());
  }
  if (found.empty()) return {};
  if (found.size() == 1) return found[0];
  std::sort(found.begin(), found.end());
  std::string names;
  for (const fs::path& one : found) names += (names.empty() ? "" : ", ") + one.filename().string();
  throw DataError(splits.string() + ": several splits: " + names + "; leave one of these folders there");
}

}  // namespace

OgbFolder open_ogb_folder(const fs::path& folder) {
  const fs::path raw = folder / "raw";
  for (const char* const name : {"triplet-type-list.csv.gz", "num-node-dict.csv.gz", "edge_index_dict.npz"}) {
    if (!is_file(raw / name)) continue;
    throw DataError(
        (raw / name).string() +
        ": a heterogeneous data set, of several kinds of nodes or edges; convert one kind with Python: import numpy, "
        "ogb.nodeproppred; g, y = ogb.nodeproppred.NodePropPredDataset('ogbn-mag')[0]; numpy.save('edges.npy', "
        "g['edge_index_dict'][('paper', 'cites', 'paper')]); numpy.save('features.npy', g['node_feat_dict']['paper'])");
  }
  const bool text = is_file(raw / "edge.csv.gz");
  const bool arrays = is_file(raw / "data.npz");
  if (text && arrays)
    throw DataError(raw.string() + ": both edge.csv.gz and data.npz; leave the one that belongs to the data set");
  if (!text && !arrays)
    throw DataError(folder.string() +
                    ": neither raw/edge.csv.gz nor raw/data.npz lies there; name the folder of one "
                    "data set of OGB, which holds raw and split");
  OgbFolder found = text ? text_layout(raw) : array_layout(raw);
  const fs::path split = found.labels ? split_folder(folder / "split") : fs::path();
  if (split.empty()) return found;
  found.train = file_if_present(split / kSplitFiles[0]);
  found.valid = file_if_present(split / kSplitFiles[1]);
  found.test = file_if_present(split / kSplitFiles[2]);
  return found;
}

}  // namespace unweave
