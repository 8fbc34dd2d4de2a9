// algorithms/live/export_report.h - what is to be read out of a store, or drawn from it, and what
// there was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/io/types.h"
#include "storage/types/feature_layout.h"
#include "storage/types/ids_are.h"

namespace unweave {

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
  std::uint64_t edges = 0;       ///< edges.npy, int64 [edges, 2], each once; no such file where there are none
  std::uint32_t max_weight = 1;  ///< above 1: weights.npy, int64 [edges]
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
