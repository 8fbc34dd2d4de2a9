// algorithms/evaluation/link_metrics.h - how well scores tell edges from other pairs.
//
// source   Hu et al., Open Graph Benchmark, NeurIPS 2020: Hits@K and the mean reciprocal rank, as
//          its evaluator computes them
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/evaluation/reports.h"

namespace unweave {

/// Share of edges whose score is strictly above the K-th best of all other pairs; 1 where there are
/// fewer than K of these, absent without edges. `others` is ascending. K > 0.
[[nodiscard]] std::optional<double> hits_at(std::size_t k, std::span<const double> edges,
                                            std::span<const double> others);

/// Adds up reciprocal ranks of edges, each among other pairs of its own.
class ReciprocalRanks {
 public:
  /// The rank is the mean of the best and the worst one that equal scores leave open.
  void add(double edge, std::span<const double> others);
  /// Mean over the edges; absent without one.
  [[nodiscard]] std::optional<double> mean() const noexcept;

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

/// Counts of right and wrong answers where a pair is said to be an edge from a score on.
struct LinkCounts {
  std::size_t edges = 0, others = 0;
  std::size_t right_edges = 0;   ///< edges that are said to be some
  std::size_t wrong_others = 0;  ///< other pairs that are said to be edges

  // These are absent where there is nothing to divide by.
  [[nodiscard]] std::optional<double> accuracy() const noexcept;
  [[nodiscard]] std::optional<double> precision() const noexcept;
  [[nodiscard]] std::optional<double> recall() const noexcept;
  [[nodiscard]] std::optional<double> f1() const noexcept;
};

/// All figures of scores, which it sorts. `reciprocal_rank`: their mean, where it is known.
[[nodiscard]] LinkFigures figures_of(std::vector<double>& edges, std::vector<double>& others,
                                     std::optional<double> reciprocal_rank);

}  // namespace unweave
