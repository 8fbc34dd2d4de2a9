// algorithms/privacy/accounting/rewind.h - Rewind-to-Delete: how far unlearning ends from retraining, and the noise for it.
//
// A learns on D (n rows) from a fixed theta_0 by T steps of one constant size and publishes theta_T + N(0, sigma^2 I).
// Unlearning goes back to the iterate of step T - K, takes K steps on the remaining data D' and publishes with fresh
// noise of the same sigma; it is compared with A run on D' from theta_0. T, K, sigma, batch, step, the starting point and
// the largest change that is admitted are public and fixed before learning. S. Mu and D. Klabjan, "Descend or Rewind?
// Stochastic Gradient Descent Unlearning" (2025), is meant by theorem and lemma numbers; what is not theirs says so.
//
// A stream of requests is accounted as one change against the original run, from whose iterates every unlearning starts;
// the guarantee is per publication, for requests that do not depend on earlier ones.
// Batches are b rows drawn uniformly, with replacement or as subsets, afresh at every step (not a shuffled epoch).
// Errors: UsageError for constants out of range, K > T, and where a bound is beyond a double's range.
#pragma once

#include <cstdint>

#include "algorithms/privacy/accounting/gradient_step.h"
#include "algorithms/privacy/accounting/mechanisms.h"

namespace unweave {

/// Every step takes the exact gradient of all rows. Not the same as a batch of n rows drawn with replacement.
inline constexpr std::uint64_t kFullBatch = 0;

/// How D' differs from D, as a ceiling that is fixed before learning; over a stream the totals of its batches add up.
class DataChange {
 public:
  /// `removed` < n rows disappear. G >= norm of every sample's gradient on the feasible set. The difference of two
  /// gradients at one theta is all that enters, so a regulariser common to all samples need not be counted in G.
  [[nodiscard]] static DataChange removal(std::uint64_t rows, std::uint64_t removed, double gradient);
  /// Rows may also have moved: total >= sum over rows of the change of their gradient, 2 G for a removed row and
  /// moved_row_change() for a moved one. At most 2 G n.
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

/// min(2 G, L_x |x - x'|): what one moved row adds to a change's total. L_x is `row_lipschitz` of head_constants.h.
[[nodiscard]] double moved_row_change(double gradient, double row_lipschitz, double distance);

struct DescentPlan {
  GradientStep step;
  std::uint64_t steps = 0;           ///< T
  std::uint64_t batch = kFullBatch;  ///< b
  DataChange change;
  /// >= |computed - exact| of one step in floating point, 0: not charged. Two runs with the same batches round differently.
  double step_rounding = 0;
};

enum class DistanceRule {
  kSure,         ///< the distance is bounded surely: full batches alone. Analytic noise
  kFirstMoment,  ///< bound of the mean distance, Lemma 12.2: Markov
  kMean,         ///< bound of the mean distance, mean_sigma()
  kTail,         ///< tail bound, tail_sigma(): minibatches alone
};

/// Bound of E|unlearnt - retrained| over the joint law below, and of |unlearnt - retrained| surely for full batches:
///   eta (kappa / n) sum over j = K .. T - 1 of gamma^j,   for removals 2 eta G m / n times the sum (Theorem 18).
/// Proof: for a slot of learning's batch z is uniform on D; let retraining take z', the row of D' that z has become, or
/// a fresh uniform one if z is gone: z' is uniform on D'. The two gradients at one theta differ by at most kappa / n in
/// the mean (2 G with probability m / n, a moved row's change with 1 / n each), so the distance e of learning and
/// retraining obeys E e_t <= gamma E e_(t-1) + eta kappa / n for T - K steps. Unlearning step t then takes the batch of
/// retraining step T - K + t, and K steps multiply by gamma^K. For exact gradients everything holds surely; for subsets
/// of b rows the slots of lost rows are drawn anew from the rest of D', which is uniform too. With moved rows, and with
/// gradients less a common regulariser, this is our extension of the theorem.
/// kPaper: Theorem 2 as printed. It differs for strongly convex losses, where it puts 1 / mu in the place of
/// 1 / (1 - gamma): too small by about 2 / eta, and false. It needs a step of strongly_convex_lemma15.
/// Infinity beyond a double's range: the bound is vacuous, and log_rewind_distance, its natural logarithm, says how far.
[[nodiscard]] double rewind_distance(const DescentPlan& plan, std::uint64_t unlearning_steps,
                                     BoundRule rule = BoundRule::kCorrected);
[[nodiscard]] double log_rewind_distance(const DescentPlan& plan, std::uint64_t unlearning_steps,
                                         BoundRule rule = BoundRule::kCorrected);

/// Bound that |unlearnt - retrained| exceeds with probability at most `failure`, for minibatches; an extension.
/// Proof: under the same joint law the distance is at most sum over steps t = 1 .. T - K of (2 eta G / b) gamma^(T - t)
/// times b values in [0, 1], independent over steps, each of mean p = change.fraction(): tail_bound(). (A slot's value is
/// its gradient difference over 2 G.) Never above the value for differences of 2 G throughout.
[[nodiscard]] double rewind_tail(const DescentPlan& plan, std::uint64_t unlearning_steps, double failure);

/// What rounding can add to the distance: r sum of gamma^j over j < steps for each of the two runs, retraining's T steps
/// and the `taken` steps of learning and unlearning, as every step leaves the exact run by at most r.
[[nodiscard]] double rounding_shift(const DescentPlan& plan, std::uint64_t taken);

/// Least sigma (for the rule) with which K unlearning steps reach the total guarantee, rounding charged; 0 for K = T,
/// which is retraining itself. Throws UsageError where the bound is so far from useful that sigma is not finite.
[[nodiscard]] double rewind_sigma(const DescentPlan& plan, std::uint64_t unlearning_steps, const PrivacyTarget& total,
                                  DistanceRule distance);

/// Least K for which sigma suffices; T at most. sigma must be at least 0.
[[nodiscard]] std::uint64_t least_rewind_steps(const DescentPlan& plan, double sigma, const PrivacyTarget& total,
                                               DistanceRule distance);

/// Most rows of plan.change.rows() whose removal K unlearning steps and sigma cover, the rest of plan.change ignored.
[[nodiscard]] std::uint64_t most_removable_rows(const DescentPlan& plan, std::uint64_t unlearning_steps, double sigma,
                                                const PrivacyTarget& total, DistanceRule distance);

/// Least sigma when a sure `shift` comes on top of the distance of rewind_distance and rewind_tail; infinity where it is
/// not finite.
[[nodiscard]] double shifted_sigma(const DescentPlan& plan, std::uint64_t unlearning_steps, double shift,
                                   const PrivacyTarget& total, DistanceRule distance);

/// Constants of unprojected SGD: for every data set, E_z|grad l(z; theta)|^2 <= B |grad mean loss|^2 + C at every theta
/// (single samples, whatever the batch), and l(z; theta_0) in [0, initial_loss] for every z.
struct UnprojectedPlan {
  GradientStep step;
  std::uint64_t steps = 0;  ///< T
  std::uint64_t rows = 0;   ///< n
  std::uint64_t removed = 0;
  double relative = 0;  ///< B
  double constant = 0;  ///< C
  double initial_loss = 0;
};

/// Throws UsageError unless B, C and the initial loss are finite and at least 0, m < n, and, for kCorrected,
/// eta <= 1 / (L B).
void check_unprojected(const UnprojectedPlan& plan, BoundRule rule = BoundRule::kCorrected);

/// Bound of E|unlearnt - retrained| of unprojected SGD, Theorem 22, for eta <= 1 / (L B). It does not vanish with m.
/// kPaper: Theorem 3 as printed, which forgets that condition, and for strongly convex losses has
/// (gamma^K - gamma^T) / mu where eta (gamma^K - gamma^T) / (1 - gamma) is due; it needs a step of Lemma 15 there.
[[nodiscard]] double unprojected_rewind_distance(const UnprojectedPlan& plan, std::uint64_t unlearning_steps,
                                                 BoundRule rule = BoundRule::kCorrected);

/// That bound by the joint law of rewind_distance; an extension, which falls as sqrt(m / n):
///   eta sum of gamma^j (sqrt(m/n) + (m/n) sqrt(n / (n-m))) (sqrt(B (2 l_0 / eta + L eta C (T-K))) + sqrt C).
/// Proof: at theta_t the mean gradient difference of a slot is at most (m/n) (mean over Z + mean over D') of |grad l|,
/// which Cauchy-Schwarz bounds by the first bracket times sqrt(B |grad mean loss|^2 + C). By the descent lemma and
/// eta <= 1 / (L B), the sum over t < T - K of E|grad mean loss|^2 is at most 2 l_0 / eta + L eta C (T-K); Cauchy-Schwarz
/// over t, with sum of gamma^(2j) <= (sum of gamma^j)^2, gives the second.
[[nodiscard]] double coupled_unprojected_distance(const UnprojectedPlan& plan, std::uint64_t unlearning_steps);

}  // namespace unweave
