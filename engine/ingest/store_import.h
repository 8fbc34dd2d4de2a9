// engine/ingest/store_import.h - a store from a user's files: edges, features, labels, splits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "engine/ingest/import_report.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/input/byte_source.h"
#include "storage/input/feature_reader.h"
#include "storage/input/label_reader.h"
#include "storage/input/ogb_folder.h"
#include "storage/types/ids_are.h"

namespace unweave {

/// A CSR matrix in separate arrays, whose width no array tells.
struct CsrInput {
  CsrFiles files;
  std::uint64_t columns = 0;
};

struct ImportOptions {
  std::optional<InputFile> edges;
  std::optional<std::variant<InputFile, CsrInput>> features;
  std::optional<std::uint64_t> nodes;
  /// Names of the nodes, that of node 0 first (name_reader.h). Edges, splits and requests as text then speak of names; binary
  /// files of numbers, as rows of features and labels do.
  std::optional<InputFile> ids;
  /// Holds the columns of tables against each other and against the names; with_charges() makes it, where columns are chosen.
  std::shared_ptr<LineOrders> orders{};
  /// What a number means in edges, splits and requests, where nodes have names; has to be said where a name is the position of
  /// another node.
  std::optional<IdsAre> ids_are;
  std::optional<InputFile> labels;
  std::optional<std::uint64_t> classes;
  std::vector<std::string> class_names;         ///< as many as `classes`, where they have names (class_names.h)
  std::optional<InputFile> train, valid, test;  ///< only with labels
  /// Requests; the nodes that they remove get a class of their own, the last, and the columns of replay_features.h.
  std::optional<InputFile> replay;
  bool standardize = false;
  FeatureType feature_type = FeatureType::f32;
  FeatureScale scale;                                     ///< not with standardize
  std::string order = "none";                             ///< order of nodes inside the store, graph_order.h
  std::optional<StatedCount> stated_nodes, stated_edges;  ///< what files beside the data say, which must agree
  bool two_row_edges = false;                             ///< as EdgeOptions::two_rows
  bool ignore_weights = false;                            ///< as EdgeOptions::ignore_weights
  std::uint32_t max_weight = 1;                           ///< as EdgeOptions::max_weight; kMostWeight at most
  std::optional<InputFile> edge_weights;                  ///< as EdgeOptions::weights
  EmptyLine empty_label = EmptyLine::kMistake;
};

/// Builds a store in the folder `store`, which is missing, empty or what a killed import left. Nodes: as declared or
/// stated, else names, rows of the features, else of the labels, else what a Matrix Market header says, else the
/// largest id + 1, which is at most 2^24 + 64 x edges + 1. Classes: as declared, else the largest label + 1. Equal
/// contents give equal files, whatever the order of the edges, the budget and the threads. An edge that comes with two
/// weights is an error; repeats of one weight are dropped.
///
/// No step holds the edges: they are sorted in a part of the budget and temporary files inside `store`. Under an order
/// the graph is built twice: by ids, for the order to be computed from it, then by positions.
///
/// The ranks of a job share the work where all of them call this with the same options: each reads all edges and has
/// the shards and features of some spans, in its own budget; `store` and the files lie on storage that all see. Where
/// the number of nodes is not known before the edges, rank 0 reads these once more. The store and the report, which
/// rank 0 has and others return empty, are those of one process, but for spooled_bytes, which all budgets together
/// decide. Throws UsageError for an order, names, standardize and pipes.
///
/// On any error nothing is left. Where the process is killed what it had made stays, until the next import into this
/// folder removes it and begins anew. Throws UsageError for options that do not fit together, InputError and DataError
/// for files, ResourceError.
ImportReport import_store(const std::filesystem::path& store, const ImportOptions& options, MemoryBudget& budget,
                          WorkMeter& meter, Ranks& job = Ranks::world());

}  // namespace unweave
