// algorithms/solvers/registry/unlearning_plan.h - what unlearning will cost, from public numbers and the options alone: nothing is trained.
//
// A removed row counts as one; rows that move weigh what they move by, which only a batch can tell, and are not here.
// Removed rows are taken to lie where they count most.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/solvers/solver.h"

namespace unweave {

struct UnlearningPlan {
  std::string unit;            ///< what is counted: epochs or steps
  std::uint64_t learning = 0;  ///< T, and the price of training again
  std::vector<std::pair<std::string, double>> constants;
  std::vector<std::string> rules;  ///< names of the noise levels that noise() returns

  /// Fewest after one batch that removes `rows` from a freshly trained model, at the constants above and this epsilon;
  /// none: train again.
  std::function<std::optional<std::uint64_t>(std::uint64_t rows, double epsilon)> fewest;
  /// Least sigma with which `count` suffice for such a batch, rule by rule; infinity where none does.
  std::function<std::vector<double>(std::uint64_t rows, std::uint64_t count)> noise;
  /// Counts of a sequence of batches that remove so many rows each, where training again costs `learning`.
  std::function<std::vector<std::uint64_t>(std::span<const std::uint64_t> batches)> sequence;
};

/// Throws UsageError for a solver without an account, naming those that have one, and what the solver would throw.
[[nodiscard]] UnlearningPlan plan_unlearning(std::string_view solver, std::size_t rows, std::size_t features,
                                             std::size_t classes, const SolverOptions& options);

}  // namespace unweave
