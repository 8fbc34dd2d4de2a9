// algorithms/live/reports.h - what is asked of an open store and what it tells: propagations,
// exports, drawn requests. Plain structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/propagation/propagation_forecast.h"
#include "engine/ranks/ranks.h"
#include "storage/io/types.h"
#include "storage/types/feature_layout.h"
#include "storage/types/ids_are.h"
#include "storage/types/layers.h"
#include "storage/types/node_types.h"
#include "storage/types/pair_rules.h"
#include "storage/types/weight_unit.h"

namespace unweave {

/// How far the sums have come.
struct PropagateProgress {
  std::uint64_t done = 0;   ///< rows summed, each counted once a column tile
  std::uint64_t total = 0;  ///< rows in all, each counted once a column tile
};

/// Called from any thread, one call at a time; may be empty.
using PropagateMeter = std::function<void(const PropagateProgress&)>;

/// What a propagation does with parts of it that are finished.
struct PropagateHow {
  bool restart = false;   ///< drops all of them, those of other options too
  bool assemble = false;  ///< all tiles are there, and nothing is summed
  /// In a job of several ranks: each takes some partitions of the rows, and not some columns
  /// (rank_propagation.h).
  bool by_rows = false;
};

struct PropagateReport {
  std::uint64_t rows = 0;      ///< rows of sums kept, over all levels
  std::uint64_t targets = 0;   ///< nodes that have a row of the embedding
  std::uint64_t tiles = 1;     ///< column tiles
  std::size_t tile_width = 0;  ///< columns of a tile
  double sweep_seconds = 0;    ///< without the first reading of features and the last sync
  double sync_seconds = 0;     ///< the last sync: what was left to write, and making it durable
  double cone_seconds = 0;     ///< finding the rows that labelled ones read
  double fill_seconds = 0;     ///< norms of columns, room for tiles, and filling them
  /// What was predicted once the rows were known and before anything was summed; `cone` is that of
  /// before. Absent where the rates of the machine are not known.
  std::optional<PropagationSeconds> predicted;
  double arc_features_per_second = 0;  ///< (arcs + nodes) x columns x L / sweep_seconds; 0: parts were there already
  std::vector<std::string> dropped;    ///< damaged tiles whose columns were computed anew, a message each
};

/// Which jobs one call does: that of `index`, or, without one, one after another of those that
/// nobody has done or is at.
struct TileChoice {
  std::optional<std::uint64_t> index{};
  std::uint64_t jobs = 1;
};

struct TileReport {
  std::uint64_t done = 0;            ///< jobs that this call has done
  std::uint64_t there = 0;           ///< jobs asked for that were done before
  std::uint64_t busy = 0;            ///< that others are at
  std::uint64_t tiles = 0;           ///< column tiles written
  std::uint64_t rows = 0;            ///< rows of each of them, over all levels
  std::vector<TileColumns> columns;  ///< those of the jobs that this call has done
  std::vector<TileColumns> missing;  ///< columns that no tile has yet
  std::vector<std::string> dropped;  ///< damaged tiles, a message each; what was theirs is made anew, or missing
  double sweep_seconds = 0, fill_seconds = 0, cone_seconds = 0;
};

struct RankPlan {
  std::uint64_t tiles = 1, tile_columns = 0;  ///< the rank with the most columns has them
  std::uint64_t memory_bytes = 0;             ///< what that rank takes, beside what an open store takes
  std::uint64_t graph_bytes = 0;              ///< what one rank reads of lists, each as often as it passes over them
  std::uint64_t disk_bytes = 0;               ///< at a time, on the storage that all share
  std::uint64_t disk_free_bytes = 0;          ///< there
  RankCalls calls;
};

/// What becomes of nodes without an embedding.
enum class MissingRows {
  leave_out,  ///< no row; of nodes that were asked for by their ids UsageError
  nan,        ///< a row of NaN
};

/// What there was to write.
struct ExportedRows {
  std::uint64_t rows = 0;     ///< written
  std::uint64_t missing = 0;  ///< nodes without an embedding among those asked for
};

/// What the files hold, and what an import of them needs to be told.
struct ExportedStore {
  NodeId nodes = 0;
  std::uint64_t edges = 0;  ///< edges.npy, int64 [edges, 2], each once; no such file where there are none
  NodeTypes types{};        ///< kinds of nodes
  Layers layers;            ///< directed: edges are arcs, from the first node to the second
  std::vector<std::string> relation_files{};  ///< edges of each of the relations, in the place of edges.npy
  std::uint32_t max_weight = 1;               ///< above 1: weights.npy, int64 [edges]
  std::optional<WeightUnit> weight_unit{};    ///< weights.npy is float64 [edges], of multiples of the unit
  /// Numbers are names in this store, and mean names in the files, too: edges.txt, with weights as
  /// a third column, and splits as .txt stand in the place of these arrays.
  bool by_name = false;
  std::uint32_t columns = 0;  ///< no files of features where there are none
  /// Dense: features.npy [nodes, columns]; sparse: features_indptr.npy, features_indices.npy and
  /// features_values.npy, the arrays of a CSR matrix. Values are float32, or float64 where rows
  /// were divided by a constant: those that divided by it, as an import divides them, are the
  /// store's.
  bool sparse = false;
  FeatureType type = FeatureType::f32;
  FeatureScale scale;
  bool has_labels = false;  ///< labels.npy, int64 [nodes], -1 for none
  std::uint32_t classes = 0;
  std::vector<std::string> class_names;                         ///< empty where classes have numbers alone
  bool has_train = false, has_valid = false, has_test = false;  ///< train.npy, valid.npy, test.npy: ids, int64
  bool has_names = false;                                       ///< names.txt, one a line
  std::optional<IdsAre> ids_are;                                ///< as the import of the files has to say
  std::optional<PairRules> pairs{};                             ///< what the import has to declare of pairs
  std::uint32_t graphs = 0;                                     ///< above 0: graphs.npy, int64 [nodes], -1 for none
  bool has_graph_labels = false;                                ///< graph_labels.npy, int64 [graphs], or .txt as labels
  bool has_graph_train = false, has_graph_valid = false, has_graph_test = false;  ///< graph_train.npy, ..: int64
  bool has_expiries = false;  ///< expiries.txt, requests that say it to the store that an import makes
  std::string order;          ///< in which the store has its nodes
};

enum class DrawKind {
  kNode,            ///< `node` of nodes of the pool; by default labelled training nodes
  kFeature,         ///< `feature` of the same
  kEdge,            ///< `edge` of edges with an end in the pool; by default all
  kVulnerableEdge,  ///< `edge` of edges between a node of the pool, by default labelled test nodes, that has few
                    ///< neighbours, and a neighbour with its label: nodes in random order, of each its edges
  kAdversarialEdge,  ///< `insert-edge` of pairs that are no edge, a node of the pool, by default all with a label, and any
                     ///< node with another label
  kGraph             ///< `graph` of labelled training graphs that have nodes
};

/// "node", "feature", "edge", "vulnerable-edge" or "adversarial-edge". Throws UsageError for other
/// names.
[[nodiscard]] DrawKind parse_draw(std::string_view name);

struct DrawOptions {
  DrawKind kind = DrawKind::kNode;
  std::uint64_t count = 0;
  std::optional<std::vector<NodeId>> pool;  ///< the user's ids
  std::uint64_t degree_below = 10;          ///< neighbours of a vulnerable node, its self loop not counted
  std::uint64_t seed = 1;
};

}  // namespace unweave
