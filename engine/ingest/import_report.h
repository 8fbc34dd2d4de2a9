// engine/ingest/import_report.h - what an import found in its files, and what it did with it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/arc_lists.h"
#include "engine/ingest/store_builder.h"
#include "engine/resources/memory.h"
#include "storage/input/edge_weight.h"
#include "storage/io/types.h"

namespace unweave {

struct ImportReport : BuildReport {
  /// Distinct edges that stand in one direction only, which the graph has in both. Where edges are repeated in both
  /// directions nobody counts which of them are repeats of the same direction: then the fewest that there can be.
  std::uint64_t one_way_edges = 0;
  bool one_way_exact = true;
  LeftOutWeights left_out;
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

inline constexpr std::size_t kNamedClasses = 10;
/// More classes than this are remarked upon where nobody declared them.
inline constexpr std::uint32_t kManyClasses = 1000;

/// Sets one_way_edges of a graph of `edges` distinct edges.
void count_one_way_edges(const ArcCounts& counts, std::uint64_t edges, ImportReport& report);

/// Sets the empty classes among [0, classes), if a bit for each class fits the budget.
void count_empty_classes(std::span<const std::int32_t> labels, std::uint32_t classes, MemoryBudget& budget,
                         ImportReport& report);

}  // namespace unweave
