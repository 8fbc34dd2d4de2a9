// storage/input/typed_folder.cpp - finds the files of a heterogeneous data set, and reads its lists
// of types and relations.
#include "storage/input/typed_folder.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "storage/input/bytes/npy.h"
#include "storage/input/foreign_format.h"
#include "storage/input/ogb_files.h"
#include "storage/input/words/line_reader.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTypeCounts = "num-node-dict.csv.gz";
constexpr const char* kTriplets = "triplet-type-list.csv.gz";
constexpr std::string_view kBetween = "___";

/// The name of a type, a relation and a type, in the order of an edge's ends.
using Triplet = std::array<std::string, 3>;

std::string folder_of(const Triplet& triplet) {
  return triplet[0] + std::string(kBetween) + triplet[1] + std::string(kBetween) + triplet[2];
}

std::vector<std::string> words_of_line(std::string_view line) {
  std::vector<std::string> words;
  for (Fields fields(line); !fields.at_end();) words.emplace_back(fields.take());
  return words;
}

/// The lines of a text that are not empty, as words.
std::vector<std::vector<std::string>> lines_of(const InputFile& file) {
  LineReader lines{ByteSource(file)};
  std::vector<std::vector<std::string>> all;
  for (std::string_view line; lines.next(line);)
    if (!Fields(line).at_end()) all.push_back(words_of_line(line));
  return all;
}

NodeTypes types_of_text(const fs::path& raw) {
  const InputFile file = required_file(raw / kTypeCounts);
  const auto lines = lines_of(file);
  if (lines.size() != 2 || lines[0].size() != lines[1].size())
    throw InputError(file.path, "whole file", "not a line of types and a line with as many counts",
                     lines.size() > 2 ? kOneGraph : kFetchFolderAgain);
  NodeTypes types;
  for (std::size_t i = 0; i < lines[0].size(); ++i) {
    NodeType& type = types.emplace_back();
    type.name = lines[0][i];
    Fields count(lines[1][i]);
    if (count.number(type.nodes) != std::errc() || !count.at_end())
      throw InputError(file.path, "line 2", quote_for_message(lines[1][i]) + " is not a count", kFetchFolderAgain);
  }
  return types;
}

std::vector<Triplet> triplets_of_text(const fs::path& raw) {
  const InputFile file = required_file(raw / kTriplets);
  std::vector<Triplet> triplets;
  for (const std::vector<std::string>& words : lines_of(file)) {
    if (words.size() != 3)
      throw InputError(file.path, "line " + std::to_string(triplets.size() + 1), "not type, relation and type",
                       kFetchFolderAgain);
    triplets.push_back({words[0], words[1], words[2]});
  }
  return triplets;
}

/// Folders whose name is a type, a relation and a type.
std::vector<Triplet> triplets_of_folders(const fs::path& folder) {
  std::vector<Triplet> triplets;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::size_t first = name.find(kBetween), second = name.rfind(kBetween);
    if (first == std::string::npos || first == second) continue;
    triplets.push_back({name.substr(0, first), name.substr(first + kBetween.size(), second - first - kBetween.size()),
                        name.substr(second + kBetween.size())});
  }
  std::sort(triplets.begin(), triplets.end());
  return triplets;
}

std::size_t type_of(const NodeTypes& types, const std::string& name, const fs::path& folder) {
  const std::size_t type = type_named(types, name);
  if (type == types.size())
    throw DataError(folder.string() + ": a relation has an end of the type " + quote_for_message(name) +
                    ", which is none of the types; " + std::string(kFetchFolderAgain));
  return type;
}

/// A relation is named by its middle word where no other one is.
void add_relations(const std::vector<Triplet>& triplets, const fs::path& folder, TypedFolder& found,
                   const std::string& edges) {
  std::map<std::string, int> times;
  for (const Triplet& triplet : triplets) ++times[triplet[1]];
  for (const Triplet& triplet : triplets) {
    const fs::path at = folder / folder_of(triplet);
    TypedFolder::Relation& relation = found.relations.emplace_back();
    relation.name = times[triplet[1]] == 1 ? triplet[1] : triplet[0] + "-" + triplet[1] + "-" + triplet[2];
    relation.ends = {type_of(found.types, triplet[0], folder), type_of(found.types, triplet[2], folder)};
    relation.edges = required_file(at / edges);
  }
}

/// Puts the type with labels before the others.
void put_first(NodeTypes& types, const std::string& name) {
  const auto labelled = types.begin() + static_cast<std::ptrdiff_t>(type_named(types, name));
  std::rotate(types.begin(), labelled, labelled + 1);
}

/// The one folder with labels, as the name of its type; empty where none has some.
std::string labelled_type(const NodeTypes& types, const fs::path& folder, const std::string& file) {
  std::string labelled;
  for (const NodeType& type : types) {
    if (!file_if_present(folder / type.name / file)) continue;
    if (!labelled.empty())
      throw DataError(folder.string() + ": nodes of the types " + labelled + " and " + type.name +
                      " have labels, and models learn those of one; move the folder of the other away");
    labelled = type.name;
  }
  return labelled;
}

TypedFolder open_text(const fs::path& folder) {
  const fs::path raw = folder / "raw";
  TypedFolder found;
  found.types = types_of_text(raw);
  const std::string labelled = labelled_type(found.types, raw / "node-label", "node-label.csv.gz");
  if (!labelled.empty()) put_first(found.types, labelled);
  for (const NodeType& type : found.types)
    found.features.push_back(file_if_present(raw / "node-feat" / type.name / "node-feat.csv.gz"));
  add_relations(triplets_of_text(raw), raw / "relations", found, "edge.csv.gz");
  for (TypedFolder::Relation& relation : found.relations)
    relation.stated = read_text_count(relation.edges.path.parent_path() / "num-edge-list.csv.gz");
  if (labelled.empty()) return found;
  found.labels = InputFile{raw / "node-label" / labelled / "node-label.csv.gz", {}};
  SplitFiles split = split_files(folder / "split", labelled);
  found.train = std::move(split.train);
  found.valid = std::move(split.valid);
  found.test = std::move(split.test);
  return found;
}

/// Types in the order of the ends of relations, with the number of nodes that rows of features or
/// the user tell.
NodeTypes types_of_arrays(const fs::path& processed, const std::vector<Triplet>& triplets, const NodeTypes& given) {
  NodeTypes types;
  for (const Triplet& triplet : triplets)
    for (const std::string& name : {triplet[0], triplet[2]}) {
      if (type_named(types, name) < types.size()) continue;
      NodeType& type = types.emplace_back(NodeType{name, 0});
      const std::size_t told = type_named(given, name);
      const auto features = file_if_present(processed / name / "node_feat.npy");
      if (features) {
        const NpyReader array(*features);
        type.nodes = array.header().shape.empty() ? 0 : array.header().shape[0];
        if (told < given.size() && given[told].nodes != type.nodes)
          throw UsageError(option("type", name + "=" + std::to_string(given[told].nodes)) + ": " +
                           features->path.string() + " has " + std::to_string(type.nodes) + " rows; leave it out");
      } else if (told == given.size()) {
        throw UsageError(processed.string() + ": no file that can be read tells how many nodes of the type " + name +
                         " there are; give " + option("type", name + "=N") +
                         ", whose number `python3 -c \"import torch; print(torch.load(" +
                         python_path(processed.parent_path() / "meta.pt") + "))\"` prints");
      } else {
        type.nodes = given[told].nodes;
      }
    }
  for (const NodeType& type : given)
    if (type_named(types, type.name) == types.size())
      throw UsageError(option("type", type.name + "=" + std::to_string(type.nodes)) + ": no relation of " +
                       processed.string() + " has such an end; correct the name");
  return types;
}

TypedFolder open_arrays(const fs::path& folder, const NodeTypes& given) {
  const fs::path processed = folder / "processed";
  const std::vector<Triplet> triplets = triplets_of_folders(processed);
  TypedFolder found;
  found.types = types_of_arrays(processed, triplets, given);
  const std::string labelled = labelled_type(found.types, processed, "node_label.npy");
  if (!labelled.empty()) put_first(found.types, labelled);
  for (const NodeType& type : found.types)
    found.features.push_back(file_if_present(processed / type.name / "node_feat.npy"));
  add_relations(triplets, processed, found, "edge_index.npy");
  if (labelled.empty()) return found;
  found.labels = InputFile{processed / labelled / "node_label.npy", {}};
  if (const auto splits = file_if_present(folder / "split_dict.pt")) found.unread_splits = splits->path.string();
  return found;
}

bool has_arrays(const fs::path& folder) {
  const fs::path processed = folder / "processed";
  std::error_code unreadable;
  if (!fs::is_directory(processed, unreadable) || fs::exists(folder / "raw", unreadable)) return false;
  return !triplets_of_folders(processed).empty();
}

}  // namespace

bool is_typed_folder(const fs::path& folder) {
  const auto is_in_raw = [&](const char* name) { return file_if_present(folder / "raw" / name).has_value(); };
  return is_in_raw(kTypeCounts) || is_in_raw(kTriplets) || has_arrays(folder);
}

TypedFolder open_typed_folder(const fs::path& folder, const NodeTypes& given) {
  if (has_arrays(folder)) return open_arrays(folder, given);
  if (!given.empty())
    throw UsageError(option("type", given[0].name + "=" + std::to_string(given[0].nodes)) + ": " +
                     (folder / "raw" / kTypeCounts).string() + " says how many nodes each type has; leave it out");
  return open_text(folder);
}

}  // namespace unweave
