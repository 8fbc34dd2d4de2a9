// algorithms/solvers/hessian_free/hessian_free_state.h - the public constants of `hessian-free`,
// and what its model holds beside its weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "algorithms/privacy/accounting/hessian_free.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/sgd/sgd_schedule.h"
#include "algorithms/solvers/hessian_free/sgd_statistics.h"
#include "algorithms/unlearning/model.h"
#include "algorithms/unlearning/run_over_slots.h"
#include "storage/formats/statistics_file.h"

namespace unweave {

struct HessianFreeParameters : RunParameters {
  std::uint64_t group_rows = 1;
  bool own_hessian = true;
  std::optional<bool> backward;
  std::optional<bool> statistics;
  std::uint32_t bits = 16;
  std::optional<double> largest_shift;
  bool retrain = false;
};
[[nodiscard]] const ParametersOf<HessianFreeParameters>& hessian_free_parameters();

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

/// The run and the rest, from the options and public numbers. Throws UsageError for a parameter out
/// of range.
[[nodiscard]] HessianFreeConstants choose_constants(const NetworkShape& shape, std::uint64_t slots,
                                                    const SolverOptions& options);

/// Everything here but the constants is private: it depends on removed data.
struct HessianFreeState {
  HessianFreeConstants constants;
  std::vector<NodeId> slots;           ///< ascending node of each slot, kNoNode where the row has left
  Vector clean;                        ///< weights without noise
  bool statistics = false;             ///< whether there are files of statistics
  bool backward = false;               ///< whether they were made backward
  std::uint64_t run = 0;               ///< number in the files' names
  double largest_norm = 0;             ///< largest norm of the weights of the run
  std::vector<double> filled;          ///< slots of each step's batch that were filled; empty: all were
  std::vector<std::uint64_t> removed;  ///< records removed since the training
  std::uint64_t erase_from = 0;        ///< records from this one on may still lie in the files
  std::vector<double> visits;          ///< visits of the removed records, one record after the other
  double single_bound = 0;             ///< bound of the first removed record
  double error = 0;                    ///< error of the encodings of the removed records, in all
};

[[nodiscard]] SolverState to_solver_state(const HessianFreeState& state);
/// Throws UsageError naming `train` when this is not the state of such a model.
[[nodiscard]] HessianFreeState hessian_free_state(const Model& model);

[[nodiscard]] RecordLayout layout_of(const HessianFreeConstants& constants) noexcept;
/// The file that holds a record, records by partition_rows of the schedule.
[[nodiscard]] StatisticsShape statistics_shape(const HessianFreeConstants& constants, std::uint64_t run,
                                               std::uint64_t parameters, std::uint64_t partition);
[[nodiscard]] std::filesystem::path statistics_path(const std::filesystem::path& folder, std::uint64_t run,
                                                    std::uint64_t partition);

/// Distance of the clean weights from a run without the removed records, encoding included;
/// infinity where the head is not linear, 0 where nothing was removed. `row_norm` bounds the rows.
[[nodiscard]] double distance_of(const HessianFreeState& state, const NetworkShape& shape, double lambda,
                                 double row_norm);

/// Noise of a release of so many weights: for s_max, or under --bound paper the classic one for
/// Theorem 4.
[[nodiscard]] OutputNoise release_noise(const HessianFreeState& state, const NetworkShape& shape,
                                        const SolverOptions& options);

}  // namespace unweave
