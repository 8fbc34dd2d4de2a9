// algorithms/privacy/output_noise.h - how the weights of T1 are published: on a grid, with discrete
// Gaussian noise.
//
// THEOREMS.md (T1) proves the (epsilon, delta) of exactly this procedure.
#pragma once

#include <cstdint>

#include "algorithms/numerics/matrix.h"
#include "algorithms/random/random_source.h"

namespace unweave {

/// Public constants of one release.
struct OutputNoise {
  double distance = 0;         ///< tau / mu: between the finished iterate and the exact minimiser
  double grid = 0;             ///< power of two, at most 2^-20 sigma
  double sensitivity = 0;      ///< distance + grid * sqrt(coordinates)
  std::uint64_t variance = 0;  ///< sigma^2 in grid steps squared
  double sigma = 0;            ///< grid * sqrt(variance)
};

/// Chooses grid and sigma for a release of `coordinates` numbers. Throws UsageError for values
/// without a noise level.
[[nodiscard]] OutputNoise plan_output_noise(double distance, std::size_t coordinates, double epsilon, double delta);

/// Noise whose level is `sigma`, or a millionth above it, and the distance that it covers.
[[nodiscard]] OutputNoise noise_of_sigma(double sigma, std::size_t coordinates, double epsilon, double delta);

/// The standard deviation that the smoothed discrete law keeps (THEOREMS.md, Lemma 2): 9 grid steps
/// squared of the variance smooth it.
[[nodiscard]] double smoothed_sigma(double sigma, double grid) noexcept;
/// Standard deviations between two Gaussians that are no easier to tell apart than two releases
/// with this noise (Lemma 2).
[[nodiscard]] double shift_of(const OutputNoise& noise);
/// Epsilon at `delta` of `releases` of them seen together, each of such a shift given all before
/// it.
[[nodiscard]] double composed_epsilon(double shift, std::uint64_t releases, double delta);

/// Smallest delta at `epsilon` that sensitivity and noise of a release give.
[[nodiscard]] double least_delta(const OutputNoise& noise, double epsilon);

/// Rounds to the grid, adds fresh noise to every coordinate, and wipes `weights`. The published
/// float64 numbers are the noisy grid integers times the grid, rounded to float64. Throws
/// UsageError when a weight is too large for the grid.
[[nodiscard]] Matrix publish(Matrix& weights, const OutputNoise& noise, RandomSource& random);

}  // namespace unweave
