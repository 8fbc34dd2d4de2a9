// storage/input/import_options.h - what an import is told: the files of a user, and how they are
// meant.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "storage/input/input_file.h"
#include "storage/types/feature_layout.h"
#include "storage/types/ids_are.h"
#include "storage/types/layers.h"
#include "storage/types/node_types.h"
#include "storage/types/pair_rules.h"
#include "storage/types/weight_unit.h"

namespace unweave {

/// A CSR matrix in separate arrays; without `values`, each entry is 1.
struct CsrFiles {
  InputFile indptr;
  InputFile indices;
  std::optional<InputFile> values;
};

/// A CSR matrix in separate arrays, whose width no array tells.
struct CsrInput {
  CsrFiles files;
  std::uint64_t columns = 0;
};

/// Features by types of nodes. Each type has columns of its own, beside those of the types before,
/// and zeros in all others.
struct TypedFeatures {
  std::vector<std::uint64_t> nodes;             ///< how many each type has
  std::vector<std::optional<InputFile>> files;  ///< one a type; none: its rows are zeros
};

/// Rows of the nodes of a data set in the form of TUDataset (tu_folder.h): numbers of classes of
/// nodes as columns of zeros and ones, then attributes, divided by a bound. Where it has neither, a
/// row is the number 1.
struct TuInput {
  InputFile indicator;  ///< the file that tells how many nodes there are
  std::optional<InputFile> labels, attributes;
  std::vector<std::vector<std::int64_t>> values;  ///< for each number of a line of labels those that there are, sorted
  std::uint64_t nodes = 0, attribute_columns = 0;
  double bound = 1;  ///< no attribute is beyond it
};

using FeatureInput = std::variant<InputFile, CsrInput, TypedFeatures, TuInput>;

/// A count that a file states, and the place in the file, for messages.
struct StatedCount {
  std::uint64_t count = 0;
  InputFile file;
  std::string place;
};

/// The edges of a relation. Where the types of its ends are known (Layers::relations), ids in the
/// file are those within a type.
struct RelationEdges {
  InputFile file;
  std::optional<StatedCount> stated{};  ///< as ImportOptions::stated_edges
  std::optional<InputFile> weights{};   ///< as ImportOptions::edge_weights
};

/// What an empty line among labels means. Where it is a mistake, empty lines may still end the
/// file.
enum class EmptyLine : std::uint8_t { kMistake, kUnlabelled };

struct ImportOptions {
  std::optional<InputFile> edges;
  std::optional<FeatureInput> features;
  std::optional<std::uint64_t> nodes;
  /// Names of the nodes, that of node 0 first (name_reader.h). Edges, splits and requests as text
  /// then speak of names; binary files of numbers, as rows of features and labels do.
  std::optional<InputFile> ids;
  /// Holds the columns of tables against each other and against the names; with_charges() makes it,
  /// where columns are chosen.
  std::shared_ptr<LineOrders> orders{};
  /// What a number means in edges, splits and requests, where nodes have names; has to be said
  /// where a name is the position of another node.
  std::optional<IdsAre> ids_are;
  std::optional<InputFile> labels;
  std::optional<std::uint64_t> classes;
  std::vector<std::string> class_names;         ///< as many as `classes`, where they have names (class_names.h)
  std::optional<InputFile> train, valid, test;  ///< only with labels
  std::optional<InputFile> graphs;              ///< the number of each node's whole graph, -1 for none
  std::optional<std::uint64_t> number_of_graphs;
  std::optional<InputFile> graph_labels;                          ///< classes of whole graphs; not with labels
  std::optional<InputFile> graph_train, graph_valid, graph_test;  ///< only with graph_labels
  bool ids_from_one = false;                                      ///< as EdgeOptions::ids_from_one
  /// Requests; the nodes that they remove get a class of their own, the last, and the columns of
  /// replay_features.h.
  std::optional<InputFile> replay;
  bool standardize = false;
  FeatureType feature_type = FeatureType::f32;
  FeatureScale scale;                                     ///< not with standardize
  std::string order = "none";                             ///< order of nodes inside the store, graph_order.h
  std::optional<StatedCount> stated_nodes, stated_edges;  ///< what files beside the data say, which must agree
  Layers layers;                                          ///< directed: an edge u-v is the arc from u to v
  std::vector<RelationEdges> relations;                   ///< one for each of the layers', in the place of `edges`
  NodeTypes types;                                        ///< kinds of nodes; then `nodes` is their sum
  std::optional<std::size_t> labels_of{};                 ///< the type whose nodes alone have labels and splits
  std::optional<PairRules> pairs{};       ///< what pairs of nodes are for, to predict links; not with relations
  bool two_row_edges = false;             ///< as EdgeOptions::two_rows
  bool ignore_weights = false;            ///< as EdgeOptions::ignore_weights
  std::uint32_t max_weight = 1;           ///< as EdgeOptions::max_weight; kMostWeight at most
  std::optional<InputFile> edge_weights;  ///< as EdgeOptions::weights
  EmptyLine empty_label = EmptyLine::kMistake;
  std::optional<WeightUnit> weight_unit{};  ///< edges have real weights; then max_weight is kMostWeight
};

}  // namespace unweave
