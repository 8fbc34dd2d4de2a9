// algorithms/privacy/accounting/rewind.h - Rewind-to-Delete: how far unlearning ends from
// retraining, and the noise for it.
//
// A learns on D (n rows) from a fixed theta_0 by T steps of one constant size and publishes theta_T
// + N(0, sigma^2 I). Unlearning goes back to the iterate of step T - K, takes K steps on the
// remaining data D' and publishes with fresh noise of the same sigma; it is compared with A run on
// D' from theta_0. T, K, sigma, batch, step, the starting point and the largest change that is
// admitted are public and fixed before learning. S. Mu and D. Klabjan, "Descend or Rewind?
// Stochastic Gradient Descent Unlearning" (2025), is meant by theorem and lemma numbers; what is
// not theirs says so.
//
// A stream of requests is accounted as one change against the original run, from whose iterates
// every unlearning starts; the guarantee is per publication, for requests that do not depend on
// earlier ones. Batches are b rows drawn uniformly, with replacement or as subsets, afresh at every
// step (not a shuffled epoch). Errors: UsageError for constants out of range and K > T. A bound
// beyond a double's range is infinity.
#pragma once

#include <cstdint>

#include "algorithms/privacy/accounting/gradient_step.h"
#include "algorithms/privacy/accounting/mechanisms.h"

namespace unweave {

/// How D' differs from D, as a ceiling that is fixed before learning; over a stream the totals of
/// its batches add up.
class DataChange {
 public:
  /// `removed` < n rows disappear. G >= norm of every sample's gradient on the feasible set. The
  /// difference of two gradients at one theta is all that enters, so a regulariser common to all
  /// samples need not be counted in G.
  [[nodiscard]] static DataChange removal(std::uint64_t rows, std::uint64_t removed, double gradient);
  /// Rows may also have moved: total >= sum over rows of the change of their gradient, 2 G for a
  /// removed row and moved_row_weight() of noisy_sgd.h for a moved one. At most 2 G n.
  [[nodiscard]] static DataChange weighted(std::uint64_t rows, double gradient, double total);

  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  [[nodiscard]] double gradient() const noexcept { return gradient_; }
  [[nodiscard]] double total() const noexcept { return total_; }  ///< kappa
  [[nodiscard]] double fraction() const noexcept;                 ///< p = kappa / (2 G n), m / n for removals alone

 private:
  DataChange(std::uint64_t rows, double gradient, double total);

  std::uint64_t rows_;
  double gradient_;
  double total_;
};

struct DescentPlan {
  GradientStep step;
  std::uint64_t steps = 0;  ///< T
  std::uint64_t batch = 1;  ///< b
  DataChange change;
};

enum class DistanceRule {
  kMean,  ///< bound of the mean distance, mean_sigma()
  kTail,  ///< tail bound, tail_sigma()
};

/// Bound of E|unlearnt - retrained| over the joint law below, and of |unlearnt - retrained| surely
/// where every step takes the exact gradient of all rows:
///   eta (kappa / n) sum over j = K .. T - 1 of gamma^j,   for removals 2 eta G m / n times the sum (Theorem 18).
/// Proof: for a slot of learning's batch z is uniform on D; let retraining take z', the row of D'
/// that z has become, or a fresh uniform one if z is gone: z' is uniform on D'. The two gradients
/// at one theta differ by at most kappa / n in the mean (2 G with probability m / n, a moved row's
/// change with 1 / n each), so the distance e of learning and retraining obeys E e_t <= gamma E
/// e_(t-1) + eta kappa / n for T - K steps. Unlearning step t then takes the batch of retraining
/// step T - K + t, and K steps multiply by gamma^K. For exact gradients everything holds surely;
/// for subsets of b rows the slots of lost rows are drawn anew from the rest of D', which is
/// uniform too. With moved rows, and with gradients less a common regulariser, this is our
/// extension of the theorem. kPaper: Theorem 2 as printed, which puts 1 / mu in the place of 1 / (1
/// - gamma): too small by about 2 / eta, and false. It needs a step of strongly_convex_lemma15.
[[nodiscard]] double rewind_distance(const DescentPlan& plan, std::uint64_t unlearning_steps,
                                     BoundRule rule = BoundRule::kCorrected);

/// Bound that |unlearnt - retrained| exceeds with probability at most `failure`; an extension.
/// Proof: under the same joint law the distance is at most sum over steps t = 1 .. T - K of (2 eta
/// G / b) gamma^(T - t) times b values in [0, 1], independent over steps, each of mean p =
/// change.fraction(): tail_bound(). (A slot's value is its gradient difference over 2 G.) Never
/// above the value for differences of 2 G throughout.
[[nodiscard]] double rewind_tail(const DescentPlan& plan, std::uint64_t unlearning_steps, double failure);

/// Least sigma with which K unlearning steps reach the total guarantee by the rule, when a sure
/// `shift` comes on top of the distance of rewind_distance and rewind_tail; infinity where it is
/// not finite, 0 for K = T and no shift. For Descent-to-Delete, whose K unlearning steps go on from
/// theta_T, the shift is gamma^T travel, with travel >= |theta_K - theta_0| (descend.h). Proof:
/// couple learning step K + j with retraining step j as in rewind_distance, j = 1 .. T - K. Step
/// size and law of the rows do not depend on the step, so both runs keep their laws. They start at
/// theta_K and theta_0, hence e_(T-K) is at most gamma^(T-K) travel plus what Rewind-to-Delete has
/// there; K common steps multiply by gamma^K. With one travel for all K the distance never grows
/// with K. Rounding adds to the shift, for each of the two runs, r times the sum of gamma^j over j
/// below the number of its steps, as every step leaves the exact run by at most r.
[[nodiscard]] double shifted_sigma(const DescentPlan& plan, std::uint64_t unlearning_steps, double shift,
                                   const PrivacyTarget& total, DistanceRule distance);

}  // namespace unweave
