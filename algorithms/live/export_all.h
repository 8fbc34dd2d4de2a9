// algorithms/live/export_all.h - all that a store holds at its present moment as files that an import takes back.
//
// An import of them, told the constants below, makes the store that a purge makes of this one, before a propagation: what was
// removed is in none of the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "storage/io/types.h"
#include "storage/types/feature_layout.h"
#include "storage/types/ids_are.h"

namespace unweave {

class LiveStore;

/// What the files hold, and what an import of them needs to be told.
struct ExportedStore {
  NodeId nodes = 0;
  std::uint64_t edges = 0;       ///< edges.npy, int64 [edges, 2], each once; no such file where there are none
  std::uint32_t max_weight = 1;  ///< above 1: weights.npy, int64 [edges]
  /// Numbers are names in this store, and mean names in the files, too: edges.txt, with weights as a third column, and splits as
  /// .txt stand in the place of these arrays.
  bool by_name = false;
  std::uint32_t columns = 0;  ///< no files of features where there are none
  /// Dense: features.npy [nodes, columns]; sparse: features_indptr.npy, features_indices.npy and features_values.npy, the arrays
  /// of a CSR matrix. Values are float32, or float64 where rows were divided by a constant: those that divided by it, as an
  /// import divides them, are the store's.
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

/// Writes the files into `folder`, which is made where it is missing. Where the order of the store is not that of the ids,
/// rows and edges are sorted within the store's budget, with temporary files in the folder. Throws UsageError where the folder
/// is not empty, and for a store whose features were scaled by statistics of the data: no import knows these any more;
/// DataError, ResourceError.
ExportedStore export_all(const LiveStore& store, const std::filesystem::path& folder);

}  // namespace unweave
