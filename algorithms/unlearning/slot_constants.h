// algorithms/unlearning/slot_constants.h - public constants of projected SGD over slots, from n, C
// and the options alone.
//
// The objective is the mean over n slots, f(W) = (1/n) sum_i sum_c l(z_i.w_c, y_ic) + (lambda/2)
// |W|_F^2, rows of norm at most X: 1, or sqrt 2 with an intercept. An empty slot has loss 0. Per
// row, joint over the C classes:
//   logistic       |slopes|_2 <= sqrt C on every W, l'' <= 1/4
//   least squares  |slopes|_2 <= X R + sqrt C inside the ball, l'' = 1
// so L = X^2 max l'' + lambda, m = lambda, and M = X times the bound of the slopes.
#pragma once

#include <cstdint>
#include <string_view>

#include "algorithms/privacy/accounting/head_constants.h"
#include "algorithms/privacy/accounting/noisy_sgd.h"
#include "algorithms/sgd/slot_run.h"
#include "algorithms/unlearning/options.h"

namespace unweave {

/// X of these options: rows are clipped to norm 1, and an intercept adds a value 1.
[[nodiscard]] double row_norm_bound(const SolverOptions& options) noexcept;
/// The bounds of the options' head for rows of that norm and weights in a ball.
[[nodiscard]] LossConstants loss_constants(const SolverOptions& options, double radius, std::size_t classes);
/// R of the ball that holds the minimiser whatever the data: (lambda/2) |W*|^2 <= f(0).
[[nodiscard]] double minimiser_radius(const SolverOptions& options, std::size_t classes);

/// Standard deviation of a margin that the defaults aim at, for a row of norm 1.
inline constexpr double kMarginNoise = 0.1;
/// Passes over the rows that nobody waits for: defaults that come out larger are refused, with what
/// to change.
inline constexpr std::uint64_t kMostPasses = 10'000'000;
/// Throws UsageError for more than kMostPasses.
void require_patience(std::uint64_t passes, std::string_view unit, std::string_view remedy);
/// The least power of two from 32 on with n/b <= 1024; n where that is fewer.
[[nodiscard]] std::uint64_t default_batch_rows(std::uint64_t rows);

/// The run of these constants. Throws UsageError as NoisySgd does.
[[nodiscard]] NoisySgd noisy_sgd_of(const SlotRun& run, const SolverOptions& options, std::size_t classes);

}  // namespace unweave
