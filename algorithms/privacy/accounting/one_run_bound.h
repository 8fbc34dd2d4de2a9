// algorithms/privacy/accounting/one_run_bound.h - what guesses of fair coins from one release say
// about epsilon at the least.
//
// Steinke, Nasr and Jagielski, "Privacy Auditing with One (1) Training Run", NeurIPS 2023, bound
// the guesses under differential privacy, which says of each coin alone how far it moves the
// release. A certificate of unlearning says more, and another bound follows (THEOREMS.md, "What one
// run refutes"): whatever the coins, the release is (epsilon, delta)-close to one law that does not
// know them, so that all guesses together are right hardly more often than by chance.
#pragma once

#include <cstdint>

namespace unweave {

/// Guesses of independent fair coins; who guesses may abstain, by the release alone.
struct CoinGuesses {
  std::uint64_t made = 0;
  std::uint64_t right = 0;
};

/// ln of the probability that at least so many of `made` coins come up as guessed when the guesses
/// know nothing of them. Throws UsageError for more right guesses than guesses.
[[nodiscard]] double log_chance(CoinGuesses guesses);

/// With probability `confidence` over coins and release no more than epsilon, if every release is
/// (epsilon, delta)-close to a law that does not depend on the coins: ln((1 - confidence - delta) /
/// chance), or 0 where that is negative. Delta may be 0. Throws UsageError for delta outside [0,
/// 1), a confidence outside (0, 1), or as log_chance() does.
[[nodiscard]] double one_run_lower_bound(CoinGuesses guesses, double delta, double confidence);

/// That bound where release and law are no easier to tell apart than two Gaussians mu standard
/// deviations apart: mu is at least Phi^-1(1 - confidence) - Phi^-1(chance), and this is epsilon at
/// `delta`, above 0, of such Gaussians.
[[nodiscard]] double gaussian_one_run_lower_bound(CoinGuesses guesses, double delta, double confidence);

}  // namespace unweave
