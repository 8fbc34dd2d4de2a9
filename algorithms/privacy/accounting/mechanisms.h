// algorithms/privacy/accounting/mechanisms.h - from what is known of a distance between two outputs
// to Gaussian noise.
//
// x is the un-noised output of unlearning, y that of retraining, under any joint law of the two
// runs; each is published plus fresh N(0, sigma^2 I), sigma per coordinate. Every function takes
// the *total* guarantee: for every set S of outputs P[X in S] <= e^epsilon P[Y in S] + delta, and
// the same with X and Y exchanged. When |x - y| <= shift surely, sigma_of of gaussian_mechanism.h
// is the least noise.
//
// Errors: UsageError for a distance that is negative or not finite, epsilon that is not finite and
// above 0, delta not strictly between 0 and 1, and where no finite sigma above 0 exists. A distance
// of 0 needs no noise: 0.
#pragma once

#include <functional>

#include "algorithms/privacy/bound_rule.h"

namespace unweave {

/// A total guarantee: nothing is left to be doubled.
struct PrivacyTarget {
  double epsilon = 1;
  double delta = 1e-4;
};

/// Throws UsageError unless epsilon is finite and above 0 and delta lies strictly between 0 and 1.
void check_target(const PrivacyTarget& total);

/// |x - y| <= shift surely: sigma = shift sqrt(2 ln(1.25 / delta)) / epsilon. Dwork and Roth
/// (2014), Theorem A.1, proved for epsilon <= 1 alone, so kCorrected throws UsageError above 1;
/// kPaper prints the formula for any epsilon.
[[nodiscard]] double classic_sigma(double shift, const PrivacyTarget& total, BoundRule rule = BoundRule::kCorrected);

/// E|x - y|^2 <= root_mean_square^2. Mu and Klabjan, "Descend or Rewind?", Lemma 12.1: Markov, |x -
/// y| <= root_mean_square / sqrt(delta / 2) with probability at least 1 - delta / 2, then Lemma 1:
/// the classic noise for delta / 2, and the other half for the failure. Above epsilon = 1
/// kCorrected takes the analytic noise for delta / 2 instead, here and in the next one.
[[nodiscard]] double second_moment_sigma(double root_mean_square, const PrivacyTarget& total,
                                         BoundRule rule = BoundRule::kCorrected);

/// E|x - y| <= mean. Mu and Klabjan, Lemma 12.2: Markov, |x - y| <= mean / (delta / 2) with
/// probability 1 - delta / 2, then Lemma 1.
[[nodiscard]] double first_moment_sigma(double mean, const PrivacyTarget& total,
                                        BoundRule rule = BoundRule::kCorrected);

/// Largest slope of chords from the origin of the Gaussian curve delta(s) = delta_of(s, 1,
/// epsilon),
///   c1(epsilon) = sup over s > 0 of delta(s) / s,
/// from above, to nine digits. It falls in epsilon, and epsilon above 1e12 counts as 1e12.
[[nodiscard]] double mean_constant(double epsilon);

/// E|x - y| <= mean: sigma = c1(epsilon) mean / delta.
/// Proof: the hockey-stick divergence sup_S P(S) - e^epsilon Q(S) is jointly convex in (P, Q), and
/// X, Y are mixtures over the pair (x, y) of N(x, sigma^2 I), N(y, sigma^2 I), which are at
/// divergence delta(|x - y| / sigma). So that of X from Y, and of Y from X, is at most E delta(|x -
/// y| / sigma) <= c1 E|x - y| / sigma = delta.
[[nodiscard]] double mean_sigma(double mean, const PrivacyTarget& total);

/// |x - y| <= tail(f) with probability at least 1 - f, for every f in (0, 1): the least over the
/// shares 5, 10, 20 and 50 % of delta given to f, the rest to the analytic noise at tail(f). Proof
/// for one f: with E the event, which the noise does not depend on, P[X in S] <= P[X in S, E] + f
/// <= e^epsilon P[Y in S, E] + (delta - f) + f.
[[nodiscard]] double tail_sigma(const std::function<double(double)>& tail, const PrivacyTarget& total);

}  // namespace unweave
