// tests/support/released_iterate.h - what a release was before its noise.
#pragma once

#include <cmath>

#include "algorithms/privacy/discrete_gaussian.h"
#include "algorithms/unlearning/model.h"
#include "algorithms/unlearning/report.h"

namespace unweave::testing {

/// The finished iterate behind a seeded release, rounded to its grid: the noise is drawn again and
/// taken off.
inline Matrix without_noise(const Model& model, const StepReport& report, const SolverOptions& options) {
  const double grid = report.terms.at("grid"), sigma = report.terms.at("sigma");
  const auto variance = static_cast<std::uint64_t>(std::llround(sigma / grid * (sigma / grid)));
  RandomSource random = noise_source(options, model.releases - 1);
  Matrix out = model.published;
  for (Eigen::Index i = 0; i < out.size(); ++i)
    out.data()[i] -= static_cast<double>(discrete_gaussian(random, variance)) * grid;
  return out;
}

}  // namespace unweave::testing
