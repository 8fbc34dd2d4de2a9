// algorithms/privacy/accounting/descend.h - Descent-to-Delete by stochastic gradients: unlearning
// goes on from the last iterate.
//
// As in rewind.h, but unlearning takes its K steps on D' from theta_T, so no earlier iterate has to
// be kept. Losses are strongly convex, and retraining is again compared after T steps on D'. With
// batches that both runs share, what comes on top of the distance of rewind.h is a shift
// (shifted_sigma): gamma^T times what largest_regularised_travel says. Errors: UsageError for
// constants out of range, and where a bound is beyond a double's range.
#pragma once

#include <cstdint>

#include "algorithms/privacy/accounting/gradient_step.h"

namespace unweave {

/// Bound of |theta_K - theta_0| surely, for theta_0 = 0 and losses l(z; theta) + lambda |theta|^2 /
/// 2 with |grad l(z; .)| <= data_gradient and eta lambda <= 1: |theta_t| <= (1 - eta lambda)
/// |theta_(t-1)| + eta data_gradient, so data_gradient (1 - (1 - eta lambda)^K) / lambda, with
/// projection onto a ball around 0 or without. It grows with K, so the value at T serves every K.
[[nodiscard]] double largest_regularised_travel(double data_gradient, double lambda, double step_size,
                                                std::uint64_t steps);

/// Constants of unprojected SGD: for every data set, E_z|grad l(z; theta)|^2 <= B |grad mean
/// loss|^2 + C at every theta (single samples, whatever the batch), and l(z; theta_0) in [0,
/// initial_loss] for every z.
struct UnprojectedPlan {
  GradientStep step;
  std::uint64_t steps = 0;  ///< T
  std::uint64_t rows = 0;   ///< n
  std::uint64_t removed = 0;
  double relative = 0;  ///< B
  double constant = 0;  ///< C
  double initial_loss = 0;
};

/// Bound of E|unlearnt - retrained|^2 for unprojected SGD with independent batches, Mu and Klabjan,
/// Theorem 4: with q = 1 - eta mu / 2,
///   5 C / (mu^2 B) (q^2K + 2 q^K) + 4 L eta C / mu^2,
/// of which no K removes the last term. UsageError unless eta <= 1 / (L B), B, C > 0, m / n < 1 /
/// (6 B + 1), K <= T and
///   T >= K + (ln l_0 - ln(5 C / (4 B mu))) / ln(1 / q).
[[nodiscard]] double descend_second_moment(const UnprojectedPlan& plan, std::uint64_t unlearning_steps);

}  // namespace unweave
