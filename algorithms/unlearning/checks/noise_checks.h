// algorithms/unlearning/checks/noise_checks.h - where discrete Gaussian noise puts published
// weights.
#pragma once

#include <string>

#include "algorithms/learning/training_set.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/unlearning/checks/statements.h"

namespace unweave {

/// Factors x on N sigma^2 between which the squared norm of N normal numbers of deviation sigma,
/// discrete or not, lies but for a probability of e^-21.5 on each side.
struct NoiseFactors {
  double low;
  double high;
};
[[nodiscard]] NoiseFactors noise_factors(double coordinates);

/// Published weights must be whole multiples of the grid.
void check_grid(const Matrix& published, const OutputNoise& noise, Statements& say);
/// Published weights against a point within `shift` of what the noise was added to, `centre_name`
/// in words.
void check_spread(const Matrix& published, const Matrix& centre, const std::string& centre_name,
                  const OutputNoise& noise, double shift, Statements& say);

/// A normal number, discrete or not, lies beyond so many standard deviations with a probability
/// below 1e-10.
inline constexpr double kSureDeviations = 6.6;

/// The norm of `weights` without what the rows span, or more: conjugate gradients on the normal
/// equations, cut off. Rows are float32, and so are the products: a relative error below
/// kSpanError.
[[nodiscard]] double norm_outside_span(const TrainingSet& rows, Matrix weights);
inline constexpr double kSpanError = 1e-5;
/// At most so many directions do the rows span: their number, or that of the features that are not
/// 0 in all of them.
[[nodiscard]] std::size_t most_directions(const TrainingSet& rows);

}  // namespace unweave
