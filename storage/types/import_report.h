// storage/types/import_report.h - what an import is going to take, what it found in its files, and
// what it did with it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/io/types.h"
#include "storage/types/feature_layout.h"
#include "storage/types/layers.h"
#include "storage/types/pair_rules.h"
#include "storage/types/weight_unit.h"

namespace unweave {

/// What became of the input, and what the new store holds.
struct BuildReport {
  std::uint64_t edges_read = 0;
  std::uint64_t self_loops = 0;            ///< dropped
  std::uint64_t duplicates = 0;            ///< dropped
  std::uint64_t spooled_bytes = 0;         ///< bytes of arcs that passed through a temporary file
  std::uint64_t unlabelled_split_ids = 0;  ///< ignored
  NodeId nodes = 0;
  std::uint64_t edges = 0;                  ///< undirected, distinct, without loops; arcs of a directed graph
  Layers layers{};                          ///< directions and kinds of edges
  std::optional<PairRules> pairs{};         ///< where links are predicted
  std::uint64_t held_edges = 0;             ///< edges out of the graph, which are not among `edges`
  std::uint32_t max_weight = 1;             ///< as declared; 1 where edges have no weights
  std::uint64_t weight_sum = 0;             ///< weights of all edges, where they have some
  std::optional<WeightUnit> weight_unit{};  ///< where weights are real: what the two count
  std::uint32_t features = 0;
  std::uint32_t classes = 0;
  std::string order = "none";
  double seconds_order = 0;  ///< to compute the order of nodes
  double bits_per_arc = 0;   ///< 8 x bytes of the shards with their index / arcs; 0 without arcs
};

/// What readers of edges leave out.
struct LeftOutWeights {
  std::uint64_t ignored = 0;  ///< weights of edges that are taken without them
  std::uint64_t zeros = 0;    ///< weights of 0, which are no edges
};

struct ImportReport : BuildReport {
  /// Distinct edges that stand in one direction only, which the graph has in both. Where edges are
  /// repeated in both directions nobody counts which of them are repeats of the same direction:
  /// then the fewest that there can be.
  std::uint64_t one_way_edges = 0;
  bool one_way_exact = true;
  LeftOutWeights left_out;
  bool labels_are_of_graphs = false;         ///< classes and splits below are of whole graphs
  std::optional<std::uint64_t> graphs;       ///< numbers of whole graphs; absent where nodes belong to none
  std::optional<std::uint64_t> named;        ///< nodes that have a name; absent where nodes have numbers alone
  std::optional<std::uint64_t> rows_scaled;  ///< rows brought down to norm 1; absent without features
  FeatureScale scale;
  std::uint64_t feature_bytes = 0;                     ///< bytes of the feature files
  double largest_norm = 0;                             ///< largest norm of a row as it came
  std::optional<std::uint64_t> empty_classes;          ///< absent without labels, or without room to count them
  std::vector<std::uint32_t> first_empty_classes;      ///< at most kNamedClasses
  std::vector<std::string> class_names;                ///< as declared; empty where classes have numbers alone
  std::array<std::optional<std::uint64_t>, 3> splits;  ///< nodes of train, valid and test; absent where not given
  std::string order_reason;                            ///< which order "auto" took and why, a sentence; else empty
  std::vector<std::string> remarks;                    ///< sentences about what may not have been meant

  /// Adds a sentence to the remarks, once: a file may be opened twice. Not for concurrent use.
  void remark(const std::string& sentence);
};

struct ImportSeconds {
  double edges = 0;     ///< reading edges and bringing them together by their ends
  double graph = 0;     ///< sorting and encoding lists, for an order twice, and computing the order
  double features = 0;  ///< reading, scaling and writing them
  double write = 0;     ///< making all files durable
  [[nodiscard]] double total() const noexcept { return edges + graph + features + write; }
};

/// Bytes of disk and memory are those at a time. What no file tells is assumed, and `assumed` says
/// how.
struct ImportForecast {
  std::uint64_t nodes = 0, edges = 0, columns = 0;
  bool nodes_exact = true, edges_exact = true;  ///< declared somewhere, else from a sample of the lines
  bool sparse = false;                          ///< features are
  double bits_per_arc = 0;
  std::uint64_t input_bytes = 0;  ///< bytes of the files, as they lie on the disk
  std::uint64_t graph_bytes = 0, least_graph_bytes = 0, most_graph_bytes = 0;
  std::uint64_t feature_bytes = 0, other_bytes = 0;  ///< others: labels, names, orders
  std::uint64_t memory_bytes = 0;                    ///< the least that it can do with
  std::uint64_t memory_available_bytes = 0;
  std::uint64_t temporary_bytes = 0;  ///< edges that have no room in memory, and a graph by ids under an order
  std::uint64_t disk_bytes = 0, disk_free_bytes = 0;
  std::uint64_t passes = 1;   ///< over the edges: one, and one more for each time that they go through the disk
  double input_resident = 1;  ///< share of the files that lies in the page cache
  std::optional<ImportSeconds> seconds;  ///< absent where no rates of the machine can be had
  std::vector<std::string> assumed;      ///< sentences

  [[nodiscard]] std::uint64_t store_bytes() const noexcept { return graph_bytes + feature_bytes + other_bytes; }
  [[nodiscard]] bool fits() const noexcept {
    return disk_bytes <= disk_free_bytes && memory_bytes <= memory_available_bytes;
  }
};

inline constexpr std::size_t kNamedClasses = 10;
/// More classes than this are remarked upon where nobody declared them.
inline constexpr std::uint32_t kManyClasses = 1000;

}  // namespace unweave
