// algorithms/solvers/hessian_free/hessian_free_state.h - the public constants of `hessian-free`, and what its model holds beside its weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "algorithms/privacy/accounting/hessian_free.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/sgd/sgd_schedule.h"
#include "algorithms/solvers/hessian_free/sgd_statistics.h"
#include "algorithms/solvers/solver.h"
#include "storage/formats/statistics_file.h"

namespace unweave {

inline constexpr Parameter kHessianFreeParameters[] = {
    {"epochs", 15, "times that SGD takes all rows"},
    {"batch-rows", std::nullopt, "rows of a step"},
    {"step-size", std::nullopt, "of the first step of SGD"},
    {"decay", std::nullopt, "factor of the step size from step to step"},
    {"group-rows", 1, "declared groups: so many training rows that follow each other are removed together"},
    {"own-hessian", 1, "1: vectors without the curvature of their own rows; 0: as published"},
    {"backward", std::nullopt, "1: statistics by backward propagators, 0: by forward accumulation"},
    {"statistics", std::nullopt,
     "0: none, train again at every removal; else 1 where making them takes minutes, not days"},
    {"bits", 16, "of a number of the statistics: 8, 16 or 32"},
    {"s-max", std::nullopt, "largest distance from the retrained weights that the noise covers"},
    {"retrain", 0, "1: train again rather than publish what is not certified"},
};

/// One of these.
[[nodiscard]] const Parameter& hessian_free_parameter(std::string_view name) noexcept;

/// Fixed at training.
struct HessianFreeConstants {
  SgdConstants sgd;
  double largest_shift = 0;  ///< s_max
  std::uint64_t group_rows = 1;
  std::uint32_t bits = 16;
  RemovedCurvature curvature = RemovedCurvature::kKept;
  bool retrain = false;

  friend bool operator==(const HessianFreeConstants&, const HessianFreeConstants&) = default;
};

/// Order, batches and steps of a run, from the parameters `epochs` to `decay` and public numbers. Throws UsageError for
/// one out of range.
[[nodiscard]] SgdConstants choose_run(const NetworkShape& shape, std::uint64_t slots, const SolverOptions& options);
/// The same, and from the other options.
[[nodiscard]] HessianFreeConstants choose_constants(const NetworkShape& shape, std::uint64_t slots,
                                                    const SolverOptions& options);

/// All of it private but for the constants: it depends on removed data.
struct HessianFreeState {
  HessianFreeConstants constants;
  std::vector<NodeId> slots;           ///< ascending node of each slot, kNoNode where the row has left
  Vector clean;                        ///< weights without noise
  bool statistics = false;             ///< there are files of them
  bool backward = false;               ///< how they were made
  std::uint64_t run = 0;               ///< of the files' names
  double largest_norm = 0;             ///< of the weights of the run
  std::vector<double> filled;          ///< slots of each step's batch that were filled; none: all were
  std::vector<std::uint64_t> removed;  ///< records since the training
  std::uint64_t erase_from = 0;        ///< these of them may still lie in the files
  std::vector<double> visits;          ///< of the removed records, one after the other
  double single_bound = 0;             ///< of the first one
  double error = 0;                    ///< of their encodings, in all
};

[[nodiscard]] SolverState to_solver_state(const HessianFreeState& state);
/// The node of each slot, from the array "nodes" of a model's state. Throws UsageError naming `train`.
[[nodiscard]] std::vector<NodeId> kept_slots(const Model& model);
/// Throws UsageError naming `train` when this is not the state of such a model.
[[nodiscard]] HessianFreeState hessian_free_state(const Model& model);

[[nodiscard]] RecordLayout layout_of(const HessianFreeConstants& constants) noexcept;
/// The file that holds a record, records by partition_rows of the schedule.
[[nodiscard]] StatisticsShape statistics_shape(const HessianFreeConstants& constants, std::uint64_t run,
                                               std::uint64_t parameters, std::uint64_t partition);
[[nodiscard]] std::filesystem::path statistics_path(const std::filesystem::path& folder, std::uint64_t run,
                                                    std::uint64_t partition);

/// Distance of the clean weights from a run without the removed records, encoding included; infinity where the head is
/// not linear, 0 where nothing was removed. `row_norm` bounds the rows.
[[nodiscard]] double distance_of(const HessianFreeState& state, const NetworkShape& shape, double lambda,
                                 double row_norm);

/// Noise of a release of so many weights: for s_max, or under --bound paper the classic one for Theorem 4.
[[nodiscard]] OutputNoise release_noise(const HessianFreeState& state, const NetworkShape& shape,
                                        const SolverOptions& options);

}  // namespace unweave
