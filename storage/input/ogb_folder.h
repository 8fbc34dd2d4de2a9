// storage/input/ogb_folder.h - where the parts of a node-property data set lie in a folder of OGB,
// as fetched.
//
// Source: W. Hu et al., Open Graph Benchmark: Datasets for Machine Learning on Graphs, NeurIPS
// 2020. Two layouts:
// - text: raw/{edge,node-feat,node-label,num-node-list,num-edge-list}.csv.gz, an edge, row, label
//   or count a line;
// - arrays: raw/data.npz with edge_index [2, m], node_feat [N, F], num_nodes_list and
//   num_edges_list, and raw/node-label.npz with node_label [N, 1], NaN for none.
// Both have split/NAME/{train,valid,test}.csv.gz, an id a line. Labels and splits may be missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "storage/input/bytes/byte_source.h"
#include "storage/input/import_options.h"

namespace unweave {

struct OgbFolder {
  InputFile edges;                              ///< text, or an array 2 x m whatever m is
  InputFile features;                           ///< dense; text has num_nodes rows
  std::optional<InputFile> labels;              ///< an empty line is a node without a label
  std::optional<InputFile> train, valid, test;  ///< absent without labels, since a split is one of labelled nodes
  std::optional<InputFile> edge_values;         ///< weights or features of edges, which no store keeps
  StatedCount num_nodes, num_edges;
};

/// Finds the files and reads the two counts, nothing else. Throws DataError for a folder of neither
/// layout or of both, for a missing part, for several splits, for a heterogeneous graph; InputError
/// for a count that is none, or several (more than one graph).
[[nodiscard]] OgbFolder open_ogb_folder(const std::filesystem::path& folder);

}  // namespace unweave
