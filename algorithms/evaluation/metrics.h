// algorithms/evaluation/metrics.h - how good predictions of labelled rows are, class by class.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage/io/types.h"

namespace unweave {

class LiveStore;
struct ModelRecord;

/// One class against the rest. A ratio that has nothing to divide by is absent.
struct ClassMetrics {
  std::uint64_t support = 0;    ///< rows of the class
  std::uint64_t predicted = 0;  ///< rows that are said to be of it
  std::uint64_t right = 0;      ///< both
  std::optional<double> auc;    ///< absent where all rows or no rows are of the class

  [[nodiscard]] std::optional<double> precision() const noexcept;  ///< right / predicted
  [[nodiscard]] std::optional<double> recall() const noexcept;     ///< right / support
  [[nodiscard]] std::optional<double> f1() const noexcept;         ///< 2 right / (predicted + support)
};

struct Metrics {
  std::uint64_t rows = 0;
  std::vector<ClassMetrics> classes;
  std::vector<std::uint64_t>
      confusion;  ///< classes x classes, a row the label, a column the prediction; empty: not asked

  // These are none where there are no rows.
  [[nodiscard]] std::optional<double> accuracy() const noexcept;
  /// Share of the most frequent class: what it would be right to always say.
  [[nodiscard]] std::optional<double> majority() const noexcept;
  /// From right, predicted and support of all classes together; of one label a row it is the accuracy.
  [[nodiscard]] std::optional<double> micro_f1() const noexcept { return accuracy(); }
  /// Means over the classes that have an F1, or an AUC.
  [[nodiscard]] std::optional<double> macro_f1() const noexcept;
  [[nodiscard]] std::optional<double> macro_auc() const noexcept;
  [[nodiscard]] std::size_t classes_without_auc() const noexcept;
};

/// How well a model predicts `nodes`, which have labels and rows in the store. The AUC of a class is the share of pairs of a row of the class and
/// one of another in which the former has the larger score, equal scores half, over all pairs; the score is the margin
/// of the class, of a coupled head its probability. Reads the rows twice. Memory: 12 bytes a node, 32 a class, with a confusion
/// matrix 8 bytes for each pair of classes, and a chunk of margins. Throws UsageError, ResourceError.
[[nodiscard]] Metrics metrics_of(const LiveStore& store, const ModelRecord& record, std::span<const NodeId> nodes,
                                 bool confusion);

}  // namespace unweave
