// tools/commands/import_folders.cpp - folders of data sets as sources of an import.
#include "tools/commands/import_folders.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "storage/input/features/feature_reader.h"
#include "storage/input/foreign_format.h"
#include "storage/input/ogb_folder.h"
#include "storage/input/typed_folder.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// The sources that a folder of nodes and edges of one kind holds.
void add_plain_folder(const OgbFolder& folder, ImportOptions& options) {
  options.edges = folder.edges;
  options.features = folder.features;
  options.labels = folder.labels;
  options.train = folder.train;
  options.valid = folder.valid;
  options.test = folder.test;
  options.stated_nodes = folder.num_nodes;
  options.stated_edges = folder.num_edges;
  options.two_row_edges = true;
  // Weights in the archive of the edges are read with these.
  const bool reads_weights =
      options.max_weight > 1 && folder.edge_values && folder.edge_values->member == "edge_weight";
  if (folder.edge_values && !options.ignore_weights && !reads_weights)
    throw InputError(display_name(*folder.edge_values), "whole file",
                     "weights or features of edges, which are not read from a folder of OGB",
                     "take the edges without them by --ignore-weights");
}

/// Those of a folder of several kinds.
void add_typed_folder(const CommandLine& line, TypedFolder folder, ImportOptions& options) {
  options.types = std::move(folder.types);
  options.nodes = first_id(options.types, options.types.size());
  for (TypedFolder::Relation& relation : folder.relations) {
    options.layers.relations.push_back({std::move(relation.name), relation.ends});
    options.relations.push_back({std::move(relation.edges), std::move(relation.stated)});
  }
  TypedFeatures features;
  for (const NodeType& type : options.types) features.nodes.push_back(type.nodes);
  features.files = std::move(folder.features);
  if (std::any_of(features.files.begin(), features.files.end(), [](const auto& file) { return file.has_value(); }))
    options.features = std::move(features);
  options.labels = std::move(folder.labels);
  if (options.labels) options.labels_of = 0;
  options.two_row_edges = true;
  if (line.has("split")) {
    if (folder.unread_splits.empty()) throw UsageError("--ogb and --split: give one of them; the folder has its own");
    return;
  }
  options.train = std::move(folder.train);
  options.valid = std::move(folder.valid);
  options.test = std::move(folder.test);
  if (!folder.unread_splits.empty())
    line.note(folder.unread_splits +
              " is a file of PyTorch, which is not read, so that the store has no splits; `python3 -c \"import numpy, "
              "torch; d = torch.load(" +
              python_path(folder.unread_splits) +
              ", weights_only=False); [numpy.save(s + '.npy', d[s]) for s in ('train', 'valid')]\"` writes its ids, "
              "and --split train=train.npy,valid=valid.npy gives them to an import");
}

}  // namespace

void add_ogb_folder(const CommandLine& line, ImportOptions& options) {
  const std::filesystem::path path = line.get<std::string>("ogb");
  const bool is_typed = is_typed_folder(path);
  for (const std::string other :
       {"edges", "relation", "features", "features-of", "nodes", "labels", "labels-of", "split", "type"})
    if (line.has(other) && !(is_typed && (other == "type" || other == "split")))
      throw UsageError("--ogb and --" + other + ": give one of them; the folder has its own");
  if (is_typed) {
    add_typed_folder(line, open_typed_folder(path, std::exchange(options.types, {})), options);
  } else {
    add_plain_folder(open_ogb_folder(path), options);
  }
  options.empty_label = EmptyLine::kUnlabelled;
  for (RelationEdges& relation : options.relations) relation.file.header = Header::no;
  if (options.features && is_typed)
    for (InputFile* const file : feature_files(*options.features)) file->header = Header::no;
  for (std::optional<InputFile>* const file :
       {&options.edges, &options.labels, &options.train, &options.valid, &options.test})
    if (*file) (*file)->header = Header::no;  // as OGB writes them
}

void add_tu_folder(const CommandLine& line, ImportOptions& options) {
  for (const std::string other : {"edges", "relation", "features", "nodes", "ids", "labels", "graphs",
                                  "number-of-graphs", "graph-labels", "edge-weights", "max-weight", "ogb"})
    if (line.has(other)) throw UsageError("--tu and --" + other + ": give one of them; the data set has its own");
  const std::optional<double> bound =
      line.has("attribute-bound") ? std::optional(line.get<double>("attribute-bound")) : std::nullopt;
  for (const std::string& file : use_tu_dataset(line.get<std::string>("tu"), bound, options))
    line.note(file + " is not read");
}

void note_missing_parts(const CommandLine& line, const ImportOptions& from) {
  const std::pair<const char*, const std::optional<InputFile>&> parts[] = {
      {"labels", from.labels}, {"train", from.train}, {"valid", from.valid}, {"test", from.test}};
  std::string missing;
  for (const auto& [name, file] : parts)
    if (!file) missing += (missing.empty() ? "" : ", ") + std::string(name);
  if (!missing.empty())
    line.note(line.get<std::string>("ogb") + " has no files of these, nor has the store now: " + missing);
}

}  // namespace unweave
