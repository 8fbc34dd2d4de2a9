// algorithms/privacy/accounting/langevin.h - what unlearning by projected noisy SGD certifies, and
// the noise and epochs it needs.
//
// Learning runs T epochs on the old data; a request then runs K epochs of the same iteration on the
// new data (noisy_sgd.h). With Z >= W_infinity of the two laws before the last K epochs, privacy
// amplification by iteration (Lemma 3.4) bounds the Renyi divergence of what is released from the
// law of reference, in both directions, by
//   eps(alpha) <= alpha Z^2 g(KN) / (2 s^2),   s^2 = 2 eta sigma^2 the variance added to a
//                                              coordinate at an iteration,
// which is the curve of two Gaussians mu = Z sqrt(g) / s standard deviations apart. The two laws
// are images of these two Gaussians under one kernel (THEOREMS.md, Lemma 8), so that their exact
// curve holds too.
#pragma once

#include <cstdint>

#include "algorithms/privacy/accounting/noisy_sgd.h"

namespace unweave {

/// How the T epochs of learning, which do not reach the stationary law exactly, are charged.
enum class BurnIn {
  /// Not at all (Corollaries 3.8, 3.12, Theorem 3.11): learning is taken to end in the stationary
  /// law. With burn_in_distance for Z, the reference is instead a retraining as long as the whole
  /// run (Lemma 3.5, Corollary 3.10).
  kNone,
  /// Theorem 3.2: by the weak triangle inequality at order 2 alpha. Reference: retraining for T
  /// epochs.
  kWeakTriangle,
  /// Epoch t of the retraining is coupled with epoch t + K of the run, so that both end with the
  /// same K epochs: Z = min(2R, 2R c^{(T-K)N} + distance), and no order is lost. Past K = T, T
  /// epochs are shared and Z = 2R. Reference: retraining for T epochs.
  kAligned,
};

/// The s^2 of the bound.
enum class NoiseVariance {
  kPrinted,  ///< eta sigma^2, as the paper's proofs take it: valid, a factor 2 loose in eps(alpha)
  kActual,   ///< 2 eta sigma^2, what an iteration adds; kSharp with it is attained by a linear Gaussian chain
};

/// From mu to (epsilon, delta).
enum class Conversion {
  kRenyi,  ///< from the Renyi divergences of all orders, as the paper does (renyi.h)
  kExact,  ///< the curve of two Gaussians itself (gaussian_mechanism.h); never larger. kWeakTriangle has none
};

/// Which bound. The defaults, with kExact, are what releases use.
struct LangevinBound {
  BurnIn burn_in = BurnIn::kAligned;
  std::uint64_t learning_epochs = 0;  ///< T, at least 1; unused by kNone
  Decay decay = Decay::kSharp;
  NoiseVariance variance = NoiseVariance::kActual;
  Conversion conversion = Conversion::kRenyi;
};

/// `distance` is that of the change alone, from noisy_sgd.h: stationary_distance for one request,
/// following_distance along a sequence; the start of the two runs is added here, anew at every
/// request, as each is compared with its own retraining from the start. `epochs` is K >= 1. Results
/// are float64, to about 12 digits, infinity beyond its range. Throws UsageError for arguments
/// outside their ranges and an infinite distance.
class LangevinAccountant {
 public:
  /// delta in (0, 1). kWeakTriangle and kAligned need a finite radius.
  LangevinAccountant(const NoisySgd& sgd, const LangevinBound& bound, double delta);

  /// Bound on the Renyi divergence of order alpha > 1.
  [[nodiscard]] double renyi(double alpha, double distance, std::uint64_t epochs, double sigma) const;

  /// Least epsilon of the conversion. Falls with epochs (kAligned: up to T) and sigma.
  [[nodiscard]] double epsilon(double distance, std::uint64_t epochs, double sigma) const;

  /// Least sigma with epsilon(distance, epochs, sigma) <= epsilon. See resolvable_sigma for what
  /// float64 can add; a value below the normal range is its least number. Throws UsageError where
  /// no finite sigma will do.
  [[nodiscard]] double smallest_sigma(double distance, std::uint64_t epochs, double epsilon) const;
  /// Least K with epsilon(distance, K, sigma) <= epsilon. Throws UsageError where none will do:
  /// kWeakTriangle and kAligned keep a part that more epochs do not lower.
  [[nodiscard]] std::uint64_t fewest_epochs(double distance, double sigma, double epsilon) const;

 private:
  [[nodiscard]] double mu(double distance, std::uint64_t epochs) const;  // at sigma = 1
  [[nodiscard]] bool weak_triangle() const { return bound_.burn_in == BurnIn::kWeakTriangle; }
  [[nodiscard]] bool exact() const { return bound_.conversion == Conversion::kExact; }

  NoisySgd sgd_;
  LangevinBound bound_;
  double delta_;
};

}  // namespace unweave
