// storage/input/typed_folder.h - where the parts of a heterogeneous data set of OGB lie in its
// folder, as fetched.
//
// Sources: W. Hu et al., Open Graph Benchmark: Datasets for Machine Learning on Graphs, NeurIPS
// 2020 (ogbn-mag); W. Hu et al., OGB-LSC: A Large-Scale Challenge for Machine Learning on Graphs,
// 2021 (MAG240M). Two layouts:
// - text: raw/num-node-dict.csv.gz (a line of types, a line of counts),
//   raw/triplet-type-list.csv.gz
//   (type, relation and type a line), raw/relations/A___R___B/{edge,num-edge-list}.csv.gz,
//   raw/node-feat/A/node-feat.csv.gz, raw/node-label/A/node-label.csv.gz and
//   split/NAME/A/{train,valid,test}.csv.gz;
// - MAG240M: processed/A___R___B/edge_index.npy, processed/A/node_feat.npy, node_label.npy. How
//   many
//   nodes a type without features has, and the splits, are in meta.pt and split_dict.pt, which are
//   PyTorch's and are not read.
// Ids in all files count from 0 within a type.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "storage/input/import_options.h"

namespace unweave {

struct TypedFolder {
  struct Relation {
    std::string name;  ///< R, or A-R-B where several relations are called R
    InputFile edges;
    EndTypes ends;                      ///< places among `types`
    std::optional<StatedCount> stated;  ///< how many edges there are
  };

  NodeTypes types;  ///< the type with labels first, whose ids then are those of the data set
  std::vector<std::optional<InputFile>> features;  ///< one a type
  std::vector<Relation> relations;
  std::optional<InputFile> labels;              ///< those of the nodes of the first type
  std::optional<InputFile> train, valid, test;  ///< absent without labels
  std::string unread_splits{};                  ///< the file that has them, where it is none that can be read
};

/// Whether a folder holds one of these layouts.
[[nodiscard]] bool is_typed_folder(const std::filesystem::path& folder);

/// Finds the files and reads the counts, nothing else. `given`: types whose numbers of nodes no
/// file that can be read tells. Throws DataError for a missing part, for labels of several types,
/// for several splits; InputError for lists that are none; UsageError for a type that is to be
/// given and is not, or is given and has features.
[[nodiscard]] TypedFolder open_typed_folder(const std::filesystem::path& folder, const NodeTypes& given = {});

}  // namespace unweave
