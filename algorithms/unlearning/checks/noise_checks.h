// algorithms/unlearning/checks/noise_checks.h - where discrete Gaussian noise puts published weights.
#pragma once

#include <string>

#include "algorithms/numerics/matrix.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/unlearning/checks/statements.h"

namespace unweave {

/// Factors x on N sigma^2 between which the squared norm of N normal numbers of deviation sigma, discrete or not, lies but for
/// a probability of e^-21.5 on each side.
struct NoiseFactors {
  double low;
  double high;
};
[[nodiscard]] NoiseFactors noise_factors(double coordinates);

/// Published weights must be whole multiples of the grid.
void check_grid(const Matrix& published, const OutputNoise& noise, Statements& say);
/// Published weights against a point within `shift` of what the noise was added to, `centre_name` in words.
void check_spread(const Matrix& published, const Matrix& centre, const std::string& centre_name,
                  const OutputNoise& noise, double shift, Statements& say);

}  // namespace unweave
