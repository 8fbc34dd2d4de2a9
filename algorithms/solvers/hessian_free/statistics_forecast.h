// algorithms/solvers/hessian_free/statistics_forecast.h - whether and how `hessian-free` makes its
// vectors, and what they take, before it learns.
#pragma once

#include "algorithms/solvers/hessian_free/hessian_free_state.h"
#include "algorithms/unlearning/planned_task.h"

namespace unweave {

struct StatisticsForecast {
  std::uint64_t records = 0;     ///< vectors: one a training row or declared group
  std::uint64_t parameters = 0;  ///< numbers of a vector
  StatisticsCost cost;           ///< multiply-adds
  bool able = false;             ///< whether they can be made backward
  bool backward = false;         ///< whether that way is taken
  bool made = false;             ///< whether they are made; otherwise every removal trains again
  std::uint64_t disk_bytes = 0;  ///< bytes of their files, were they made; the largest number where it is more
};

/// Estimates the vectors from public numbers and the options alone. `memory`: bytes that the solver
/// may use.
[[nodiscard]] StatisticsForecast forecast_statistics(const NetworkShape& shape, const HessianFreeConstants& constants,
                                                     std::uint64_t rows, std::uint64_t memory,
                                                     const SolverOptions& options);

/// Throws ResourceError where the disk of `folder` has no room for the files.
void require_disk(const StatisticsForecast& forecast, const std::filesystem::path& folder);

/// Puts the forecast into answers to `plan`.
[[nodiscard]] TrainingNeeds hessian_free_needs(const PlannedTask& task);

}  // namespace unweave
