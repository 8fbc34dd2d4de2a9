// algorithms/privacy/accounting/chernoff.h - a tail bound for geometrically weighted sums of many
// small chances.
#pragma once

#include <cstdint>

namespace unweave {

/// sum over k < terms of exp(-decay k) (X_k1 + ... + X_k,draws), the X independent (or, for one k,
/// drawn without replacement from one population), each in [0, 1] and of mean at most `mean`.
struct WeightedSum {
  std::uint64_t terms = 0;
  double decay = 0;  ///< >= 0
  std::uint64_t draws = 1;
  double mean = 0;
};

/// A bound that the sum exceeds with probability at most `failure`:
///   min over x > 0 of (1/x) [ draws sum_k ln(1 + mean (e^(x w_k) - 1)) + ln(1 / failure) ],  w_k = exp(-decay k),
/// and never above the sum's largest value, draws sum_k w_k.
/// Proof: e^(x w t) <= 1 + t (e^(x w) - 1) for t in [0, 1] by convexity, so the bracket less ln(1 /
/// failure) bounds the sum's log-moment generating function (for draws without replacement by
/// Hoeffding 1963, Theorem 4), and Chernoff's inequality holds for every x. The bracket over x has
/// one minimum (the convex function in it vanishes at 0); it is found by golden section, and
/// falling short of it costs no validity.
/// Work does not grow with `terms`: ln(1 + mean (e^(x w) - 1)) is convex in ln w, so runs of terms
/// are bounded by chords over at most 1 % of ln w.
/// Throws UsageError unless decay is finite and at least 0, mean in [0, 1], draws above 0 and
/// failure in (0, 1).
[[nodiscard]] double tail_bound(const WeightedSum& sum, double failure);

}  // namespace unweave
