// algorithms/privacy/accounting/epsilon_lower_bound.h - what an experiment says about epsilon at
// the least.
#pragma once

#include <cstdint>

namespace unweave {

/// How often an event came up among independent trials.
struct EventCount {
  std::uint64_t trials = 0;
  std::uint64_t hits = 0;
};

/// If P and Q are (epsilon, delta)-close, P(E) <= e^epsilon Q(E) + delta for every event E. With p
/// below P(E) and q above Q(E), each but for a chance of (1 - confidence) / 2 (Clopper and Pearson
/// 1934), epsilon is at least ln((p - delta) / q) with probability `confidence`; 0 where that is
/// negative. The event must have been chosen without these trials. Throws UsageError for more hits
/// than trials, delta or confidence outside (0, 1).
[[nodiscard]] double epsilon_lower_bound(EventCount of_p, EventCount of_q, double delta, double confidence);

/// If P and Q are no easier to tell apart than two Gaussians mu standard deviations apart, P(E) <=
/// Phi(Phi^-1(Q(E)) + mu) for every event E (the tests of two Gaussians, Neyman and Pearson). So mu
/// is at least Phi^-1(p) - Phi^-1(q) with p and q as above, and epsilon at `delta` at least that of
/// such Gaussians: more than epsilon_lower_bound() tells, as an event of any probability speaks.
/// Throws as that.
[[nodiscard]] double gaussian_epsilon_lower_bound(EventCount of_p, EventCount of_q, double delta, double confidence);

}  // namespace unweave
