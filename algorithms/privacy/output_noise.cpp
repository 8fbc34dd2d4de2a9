// algorithms/privacy/output_noise.cpp - grid, sensitivity, noise level and release.
#include "algorithms/privacy/output_noise.h"

#include <cmath>

#include "algorithms/learning/no_model_error.h"
#include "algorithms/privacy/discrete_gaussian.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

// The discrete law costs e^kappa in the ratio and in delta, kappa < 1e-60 (THEOREMS.md, Lemma 2),
// which is paid by asking for slightly less.
constexpr double kEpsilonSlack = 1 - 1e-12;
constexpr double kDeltaSlack = 1 - 1e-9;
constexpr double kLeastEpsilon = 1e-50;    // whose slack still pays for 2 kappa
constexpr double kLeastDistance = 1e-140;  // whose square is a number
constexpr double kSmoothing = 9;           // t^2 of Lemma 2, in grid steps squared

}  // namespace

OutputNoise plan_output_noise(double distance, std::size_t coordinates, double epsilon, double delta) {
  if (!(distance > 0) || !std::isfinite(distance)) throw UsageError("the distance of a release must be positive");
  if (!(distance >= kLeastDistance))
    throw UsageError("the noise level of this release underflows; use a larger " + option("tau"));
  if (!(epsilon >= kLeastEpsilon)) throw UsageError(option("epsilon") + " must be at least 1e-50");
  OutputNoise noise;
  noise.distance = distance;
  const double first = sigma_of(distance, epsilon * kEpsilonSlack, delta * kDeltaSlack);
  noise.grid = std::exp2(std::floor(std::log2(first)) - 23);
  if (!(noise.grid > 1e-280))
    throw UsageError("the noise level of this release underflows; use a larger " + option("tau"));
  noise.sensitivity = distance + noise.grid * std::sqrt(static_cast<double>(coordinates)) * (1 + 1e-12);
  const double sigma = sigma_of(noise.sensitivity, epsilon * kEpsilonSlack, delta * kDeltaSlack);
  const double steps = sigma / noise.grid;
  const double variance = std::ceil(steps * steps * (1 + 1e-12) + kSmoothing);
  if (!(variance <= static_cast<double>(kMostDiscreteVariance)))
    throw UsageError("epsilon and delta are too small for exact noise on so many weights; use larger ones");
  noise.variance = static_cast<std::uint64_t>(variance);
  noise.sigma = noise.grid * std::sqrt(static_cast<double>(noise.variance));
  return noise;
}

OutputNoise noise_of_sigma(double sigma, std::size_t coordinates, double epsilon, double delta) {
  return plan_output_noise(sigma / sigma_of(1, epsilon, delta), coordinates, epsilon, delta);
}

double smoothed_sigma(double sigma, double grid) noexcept {
  return std::sqrt(sigma * sigma - kSmoothing * grid * grid);
}

double least_delta(const OutputNoise& noise, double epsilon) {
  return delta_of(noise.sensitivity, smoothed_sigma(noise.sigma, noise.grid), epsilon);
}

double shift_of(const OutputNoise& noise) {
  return noise.sensitivity / smoothed_sigma(noise.sigma, noise.grid);
}

double composed_epsilon(double shift, std::uint64_t releases, double delta) {
  constexpr double kUp = 1 + 1e-9;  // pays for Lemma 2's factors and for rounding
  return kUp * epsilon_of(shift * std::sqrt(static_cast<double>(releases)), 1, delta * kDeltaSlack);
}

Matrix publish(Matrix& weights, const OutputNoise& noise, RandomSource& random) {
  const double steps = 1 / noise.grid;  // exact, a power of two
  if (!(weights.size() == 0 || weights.cwiseAbs().maxCoeff() * steps < 0x1p62))
    throw NoModelError("weights are too large for the noise grid; use a larger " + option("tau") + " or " +
                       option("lambda"));
  Matrix published(weights.rows(), weights.cols());
  for (Eigen::Index i = 0; i < weights.size(); ++i) {
    const auto rounded = static_cast<std::int64_t>(std::nearbyint(weights.data()[i] * steps));
    published.data()[i] = static_cast<double>(rounded + discrete_gaussian(random, noise.variance)) * noise.grid;
  }
  wipe(weights.data(), size_of(weights.size()) * sizeof(double));
  return published;
}

}  // namespace unweave
