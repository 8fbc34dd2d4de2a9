// algorithms/solvers/langevin/langevin_constants.h - the public constants of `langevin`, chosen from n, C and the options alone.
//
// The objective is the mean over n slots, f(W) = (1/n) sum_i sum_c l(z_i.w_c, y_ic) + (lambda/2) |W|_F^2, rows of norm
// at most X: 1, or sqrt 2 with an intercept. An empty slot has loss 0. Per row, joint over the C classes:
//   logistic       |slopes|_2 <= sqrt C on every W, l'' <= 1/4
//   least squares  |slopes|_2 <= X R + sqrt C inside the ball, l'' = 1
// so L = X^2 max l'' + lambda, m = lambda, and M = X times the bound of the slopes.
#pragma once

#include <cstddef>

#include "algorithms/privacy/accounting/head_constants.h"
#include "algorithms/privacy/accounting/langevin.h"
#include "algorithms/solvers/langevin/langevin_state.h"
#include "algorithms/solvers/solver.h"

namespace unweave {

inline constexpr Parameter kLangevinParameters[] = {
    {"epochs", {}, "epochs of learning"},
    {"sigma", {}, "noise of a step: sqrt(2 step-size) sigma on every weight"},
    {"step-size", {}, "at most 1 / smoothness"},
    {"radius", {}, "of the ball that weights are projected onto"},
    {"order-key", 1, "draws the batches"},
    {"batch-rows", {}, "rows of a batch"},  // last: langevin-full has none
};

/// eta = 1/L.
/// R: (lambda/2) |W*|^2 <= f(0) whatever the data, so the ball holds the minimiser.
/// sigma = 0.1 sqrt(lambda): in the stationary law a coordinate has standard deviation sigma / sqrt(lambda) at most, so a
///   margin is blurred by 0.1.
/// b: default_batch_rows(), or n with `full_batches`.
/// T: twice the epochs that bring the largest distance there is, 2R, to (epsilon, delta), and enough to forget a
///   thousandth of the start: no request ever needs more than half of T. Where lambda is small beside what requests
///   change, the distance does reach 2R, and unlearning then costs just that half.
/// Each gives way to a parameter of the options. Throws UsageError for a parameter out of range, and where float64 cannot
/// resolve the noise.
[[nodiscard]] LangevinConstants choose_constants(bool full_batches, std::size_t rows, std::size_t classes,
                                                 const SolverOptions& options);

/// X of these options: rows are clipped to norm 1, and an intercept adds a value 1.
[[nodiscard]] double row_norm_bound(const SolverOptions& options) noexcept;
/// The bounds of the options' head for rows of that norm and weights in a ball.
[[nodiscard]] LossConstants loss_constants(const SolverOptions& options, double radius, std::size_t classes);
/// Standard deviation of a margin that the defaults aim at, for a row of norm 1.
inline constexpr double kMarginNoise = 0.1;
/// Passes over the rows that nobody waits for: defaults that come out larger are refused, with what to change.
inline constexpr std::uint64_t kMostPasses = 10'000'000;
/// Throws UsageError for more than kMostPasses.
void require_patience(std::uint64_t passes, std::string_view unit, std::string_view remedy);
/// The least power of two from 32 on with n/b <= 1024; n where that is fewer.
[[nodiscard]] std::uint64_t default_batch_rows(std::uint64_t rows);

/// The run of these constants. Throws UsageError as NoisySgd does, and for a head without bounds.
[[nodiscard]] NoisySgd noisy_sgd_of(const SlotRun& run, const SolverOptions& options, std::size_t classes);

/// Epochs of a request from this distance: the fewest that reach epsilon; none where T would be needed, or would not do.
[[nodiscard]] std::optional<std::uint64_t> request_epochs(const LangevinConstants& constants,
                                                          const LangevinAccountant& accountant, double distance,
                                                          double epsilon);

/// The accountant of releases: aligned, sharp, with the noise that is added. Under --bound paper as printed, from the finite
/// burn-in of Theorem 3.2 on: valid for one request, and a factor above 2 loose; for later ones Theorem 3.11 forgets that
/// the start is not stationary.
[[nodiscard]] LangevinAccountant accountant_of(const LangevinConstants& constants, const NoisySgd& sgd,
                                               const SolverOptions& options);
/// By how much a removed row changes the sum of a batch's gradients: its slot is emptied; as printed, it is overwritten.
[[nodiscard]] double removed_row_weight(const NoisySgd& sgd, const SolverOptions& options);

}  // namespace unweave
