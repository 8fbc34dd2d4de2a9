// algorithms/solvers/langevin/langevin_constants.h - the public constants of `langevin`, chosen
// from n, C and the options alone.
#pragma once

#include <cstddef>

#include "algorithms/privacy/accounting/langevin.h"
#include "algorithms/solvers/langevin/langevin_state.h"
#include "algorithms/unlearning/options.h"
#include "algorithms/unlearning/parameters.h"
#include "algorithms/unlearning/slot_constants.h"

namespace unweave {

struct LangevinParameters {
  std::optional<std::uint64_t> epochs;
  std::optional<double> sigma;
  std::optional<double> step_size;
  std::optional<double> radius;
  std::uint64_t order_key = 1;
  std::optional<std::uint64_t> batch_rows;
};
/// With full batches there are no batch rows to choose.
[[nodiscard]] const ParametersOf<LangevinParameters>& langevin_parameters(bool full_batches);

/// eta = 1/L.
/// R: (lambda/2) |W*|^2 <= f(0) whatever the data, so the ball holds the minimiser. sigma = 0.1
/// sqrt(lambda): in the stationary law a coordinate has standard deviation sigma / sqrt(lambda) at
/// most, so a
///   margin is blurred by 0.1.
/// b: default_batch_rows(), or n with `full_batches`.
/// T: twice the epochs that bring the largest distance there is, 2R, to (epsilon, delta), and
/// enough to forget a
///   thousandth of the start: no request ever needs more than half of T. Where lambda is small
///   beside what requests change, the distance does reach 2R, and unlearning then costs just that
///   half.
/// Each gives way to a parameter of the options. Throws UsageError for a parameter out of range,
/// and where float64 cannot resolve the noise.
[[nodiscard]] LangevinConstants choose_constants(bool full_batches, std::size_t rows, std::size_t classes,
                                                 const SolverOptions& options);

/// Epochs of a request from this distance: the fewest that reach epsilon; none where T would be
/// needed, or would not do.
[[nodiscard]] std::optional<std::uint64_t> request_epochs(const LangevinConstants& constants,
                                                          const LangevinAccountant& accountant, double distance,
                                                          double epsilon);

/// Epochs that any request needs, whatever came before: the fewest that bring the largest distance
/// there is, 2R, to epsilon; none where T would be needed, or would not do.
[[nodiscard]] std::optional<std::uint64_t> epochs_from_anywhere(const LangevinConstants& constants, const NoisySgd& sgd,
                                                                const SolverOptions& options);

/// The accountant of these: no start is known, so none is charged for.
[[nodiscard]] LangevinAccountant accountant_from_anywhere(const NoisySgd& sgd, const SolverOptions& options);
/// The accountant of releases whose requests depend on no release: aligned, sharp, with the noise
/// that is added. Under --bound paper as printed, from the finite burn-in of Theorem 3.2 on: valid
/// for one request, and a factor above 2 loose; for later ones Theorem 3.11 forgets that the start
/// is not stationary.
[[nodiscard]] LangevinAccountant accountant_of(const LangevinConstants& constants, const NoisySgd& sgd,
                                               const SolverOptions& options);
/// Throws UsageError where the normal numbers that a run draws for `weights` weights lack so much
/// of their tails that it would show: T N draws a weight, in pairs that end at a radius of 9.49
/// (RandomSource::gaussian), 2^-65 of a normal pair's chance; together, times 1 + e^epsilon for
/// both runs and directions, at most a hundredth of delta.
void require_tails(const LangevinConstants& constants, const NoisySgd& sgd, std::size_t weights,
                   const SolverOptions& options);
/// By how much a removed row changes the sum of a batch's gradients: its slot is emptied; as
/// printed, it is overwritten.
[[nodiscard]] double removed_row_weight(const NoisySgd& sgd, const SolverOptions& options);

}  // namespace unweave
