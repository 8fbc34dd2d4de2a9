// algorithms/privacy/accounting/descend.h - Descent-to-Delete by stochastic gradients: unlearning goes on from the last iterate.
//
// As in rewind.h, but unlearning takes its K steps on D' from theta_T, so no earlier iterate has to be kept. Losses are
// strongly convex, and retraining is again compared after T steps on D'. Errors as there.
#pragma once

#include <cstdint>
#include <optional>

#include "algorithms/privacy/accounting/rewind.h"

namespace unweave {

/// Bounds of |theta_K - theta_0| surely. Both grow with K, so the value at T serves every K.
/// K steps of at most eta G, G the bound of whole gradients with the regulariser, inside a set of this diameter (infinity:
/// no projection).
[[nodiscard]] double largest_travel(double diameter, double step_size, double gradient, std::uint64_t steps);
/// theta_0 = 0, losses l(z; theta) + lambda |theta|^2 / 2 with |grad l(z; .)| <= data_gradient, eta lambda <= 1:
/// |theta_t| <= (1 - eta lambda) |theta_(t-1)| + eta data_gradient, so data_gradient (1 - (1 - eta lambda)^K) / lambda,
/// with projection onto a ball around 0 or without.
[[nodiscard]] double largest_regularised_travel(double data_gradient, double lambda, double step_size,
                                                std::uint64_t steps);

/// Bound of E|unlearnt - retrained|, and of the distance surely for full batches; an extension:
///   gamma^T travel + eta (kappa / n) sum over j = K .. T - 1 of gamma^j,   travel >= |theta_K - theta_0|.
/// Proof: couple learning step K + j with retraining step j as in rewind_distance, j = 1 .. T - K. Step size and law of
/// the rows do not depend on the step, so both runs keep their laws. They start at theta_K and theta_0, hence
/// E e_(T-K) <= gamma^(T-K) travel + eta (kappa / n) sum of gamma^j over j < T - K; K common steps multiply by gamma^K.
/// With one `travel` for all K it never grows with K. Needs gamma < 1, else UsageError.
[[nodiscard]] double descend_distance(const DescentPlan& plan, double travel, std::uint64_t unlearning_steps);

/// Bound that |unlearnt - retrained| exceeds with probability at most `failure`: gamma^T travel + rewind_tail().
[[nodiscard]] double descend_tail(const DescentPlan& plan, double travel, std::uint64_t unlearning_steps,
                                  double failure);

/// Least sigma (for the rule) with which K unlearning steps reach the total guarantee, rounding charged.
[[nodiscard]] double descend_sigma(const DescentPlan& plan, double travel, std::uint64_t unlearning_steps,
                                   const PrivacyTarget& total, DistanceRule distance);

/// Least K for which sigma suffices, `travel` being one for all K; none where even T steps leave too much.
[[nodiscard]] std::optional<std::uint64_t> least_descend_steps(const DescentPlan& plan, double travel, double sigma,
                                                               const PrivacyTarget& total, DistanceRule distance);

/// Bounds of E|unlearnt - retrained|^2 for unprojected SGD with independent batches, strongly convex losses and
/// eta <= 1 / (L B). All have a floor of about 4 L eta C / mu^2 that no K removes.
enum class SecondMomentRule {
  /// Mu and Klabjan, Theorem 4: needs B, C > 0, m / n < 1 / (6 B + 1) and T >= theorem4_learning_steps().
  kTheorem4,
  /// What its proof has before the last simplification: B > 0 and m / n < 1 / (6 B + 1), any T. With q = 1 - eta mu / 2,
  ///   4/mu [(1 - eta mu)^K (q^T l_0 + C / (4 B mu) + L eta C / mu) + (1 - eta mu)^T l_0 + L eta C / mu].
  kAnyLength,
  /// An extension of kAnyLength that keeps the bias of D against D' in terms of m: M = 2 B m / (n - m - 2 B m) < 1 and
  /// D = C m / (n - m - 2 B m); 1 - eta mu (1 - M) for q and (D + L eta C) / (2 mu (1 - M)) for the terms in C after q^T.
  /// Proof: with b the gap of the two mean gradients, |b|^2 <= m / (n - m) E|grad l|^2 (Lemma 19) <= M |g'|^2 + D for g'
  /// the mean gradient of D', as |grad of D|^2 <= 2 |g'|^2 + 2 |b|^2. A step on D then lowers the loss of D' in the
  /// mean by eta (1 - M) / 2 |g'|^2 less (eta D + L eta^2 C) / 2, and |g'|^2 >= 2 mu times the loss above its minimum.
  /// Steps on D' are the case M = D = 0, and |theta - minimiser|^2 <= 2 / mu times the loss above its minimum.
  kRemovalAware,
};

/// UsageError unless the step is one for strongly convex losses, K <= T and the conditions of the rule hold.
[[nodiscard]] double descend_second_moment(const UnprojectedPlan& plan, std::uint64_t unlearning_steps,
                                           SecondMomentRule rule);

/// The learning steps that Theorem 4 needs at K: K + (ln l_0 - ln(5 C / (4 B mu))) / ln(1 / (1 - eta mu / 2)), at least K.
/// Any integer from there on serves.
[[nodiscard]] double theorem4_learning_steps(const UnprojectedPlan& plan, std::uint64_t unlearning_steps);

/// Least K whose bound of the second moment is at most `square`, for kAnyLength and kRemovalAware (kTheorem4 needs more
/// learning steps for more K: UsageError); none where the floor is above it.
[[nodiscard]] std::optional<std::uint64_t> least_descend_steps(const UnprojectedPlan& plan, double square,
                                                               SecondMomentRule rule);

}  // namespace unweave
