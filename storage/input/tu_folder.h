// storage/input/tu_folder.h - a data set of whole graphs in the form of TUDataset.
//
// Source: C. Morris et al., TUDataset: A collection of benchmark datasets for learning with graphs,
// ICML workshop 2020 (graphlearning.io). Files FOLDER/NAME_*.txt, a line a node, graph or edge, ids
// of nodes and graphs from 1:
//   A                 "i, j", edges, in one direction or both
//   graph_indicator   the graph of each node
//   graph_labels      the class of each graph, any whole numbers; their distinct values in ascending
//                     order are the classes 0, 1, ..
//   node_labels       whole numbers, one or several a node; of each place the distinct values in
//                     ascending order are columns of zeros and ones
//   node_attributes   real numbers, which are divided by a public bound
// The last three may be missing. Files of edge labels and attributes, and of attributes of graphs,
// are not read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "storage/input/import_options.h"

namespace unweave {

struct TuFolder {
  InputFile edges;                        ///< ids from 1 (EdgeOptions::ids_from_one)
  InputFile graphs;                       ///< that of each node, from 0, in memory
  std::optional<InputFile> graph_labels;  ///< classes from 0, in memory
  std::uint64_t classes = 0;              ///< how many there are; 0 without labels
  TuInput features;                       ///< with a bound of 1
  std::vector<std::string> unread;        ///< names of files that the data set has and nobody reads
};

/// Finds the files of `prefix`, FOLDER/NAME, and reads those that are a number a node or a graph: 4
/// bytes each stay in memory. Throws DataError for a missing part, InputError for a line.
[[nodiscard]] TuFolder open_tu_folder(const std::filesystem::path& prefix);

/// Puts the data set of `prefix` into the options of an import, whose own edges, features, nodes,
/// graphs and labels of graphs it takes the place of. `bound`: what no attribute of a node exceeds,
/// which has to be said where there are some. Returns the files that nobody reads. Throws what
/// open_tu_folder() throws, UsageError for a bound or a number of classes that do not fit.
std::vector<std::string> use_tu_folder(const std::filesystem::path& prefix, std::optional<double> bound,
                                       ImportOptions& options);

}  // namespace unweave
