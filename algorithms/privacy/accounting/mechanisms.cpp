// algorithms/privacy/accounting/mechanisms.cpp - c1 by bisection on the derivative of the Gaussian
// curve.
//
// With a(s) = s/2 - epsilon/s the curve is delta(s) = Phi(a) - e^epsilon Phi(a - s), and e^epsilon
// phi(a - s) = phi(a), so its derivative is h(s) = phi(a(s)). As a grows from -infinity to
// infinity, h rises until s = sqrt(2 epsilon), then falls. The sign of the derivative of delta/s is
// that of s h - delta, whose derivative is s h': positive, then negative. So there is one maximum,
// at the zero of s h - delta above sqrt(2 epsilon), and c1 = h there.
#include "algorithms/privacy/accounting/mechanisms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "algorithms/privacy/accounting/require.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kLargestEpsilon = 1e12;  // beyond, s/2 - epsilon/s loses too many digits
constexpr double kRounding = 1 + 1e-9;

/// sigma of a distance above 0 that a closed form gave.
double checked(double sigma) {
  if (!(sigma >= std::numeric_limits<double>::min()) || !std::isfinite(sigma))
    throw UsageError("no noise level fits this distance, epsilon and delta");
  return sigma;
}

double slope(double s, double epsilon) {
  const double a = s / 2 - epsilon / s;
  return std::exp(-a * a / 2) / std::sqrt(2 * std::numbers::pi);
}

/// Noise for a sure distance, as a step of the paper's lemmas.
double inner_sigma(double distance, const PrivacyTarget& total, BoundRule rule) {
  if (rule == BoundRule::kPaper || total.epsilon <= 1) return classic_sigma(distance, total, rule);
  return sigma_of(distance, total.epsilon, total.delta);
}

PrivacyTarget with_half_delta(const PrivacyTarget& total) {
  check_target(total);
  return {total.epsilon, total.delta / 2};
}

}  // namespace

void check_target(const PrivacyTarget& total) {
  require_positive(total.epsilon, "epsilon");
  if (!(total.delta > 0) || !(total.delta < 1)) throw UsageError("delta must lie strictly between 0 and 1");
}

double classic_sigma(double shift, const PrivacyTarget& total, BoundRule rule) {
  require_not_negative(shift, "a distance");
  check_target(total);
  if (rule == BoundRule::kCorrected && total.epsilon > 1)
    throw UsageError("the classic Gaussian mechanism is proved for epsilon up to 1 alone; take the analytic one");
  if (shift == 0) return 0;
  return checked(shift * std::sqrt(2 * (std::log(1.25) - std::log(total.delta))) / total.epsilon);
}

double second_moment_sigma(double root_mean_square, const PrivacyTarget& total, BoundRule rule) {
  require_not_negative(root_mean_square, "a distance");
  const PrivacyTarget half = with_half_delta(total);
  return inner_sigma(root_mean_square / std::sqrt(half.delta), half, rule);
}

double first_moment_sigma(double mean, const PrivacyTarget& total, BoundRule rule) {
  require_not_negative(mean, "a distance");
  const PrivacyTarget half = with_half_delta(total);
  return inner_sigma(mean / half.delta, half, rule);
}

double mean_constant(double epsilon) {
  require_positive(epsilon, "epsilon");
  epsilon = std::min(epsilon, kLargestEpsilon);
  const auto rising = [&](double s) { return s * slope(s, epsilon) > delta_of(s, 1, epsilon); };
  double low = std::sqrt(2 * epsilon), high = 2 * low;
  while (rising(high)) high *= 2;  // ends: the slope vanishes, delta tends to 1
  for (int i = 0; i < 200 && high / low > 1 + 1e-12; ++i) {
    const double middle = low + (high - low) / 2;
    (rising(middle) ? low : high) = middle;
  }
  return kRounding * delta_of(low, 1, epsilon) / low;
}

double mean_sigma(double mean, const PrivacyTarget& total) {
  require_not_negative(mean, "a distance");
  check_target(total);
  return mean == 0 ? 0 : checked(mean_constant(total.epsilon) * (mean / total.delta));
}

double tail_sigma(const std::function<double(double)>& tail, const PrivacyTarget& total) {
  check_target(total);
  double least = std::numeric_limits<double>::infinity();
  for (const double share : {0.05, 0.1, 0.2, 0.5}) {
    const double failure = share * total.delta;
    const double distance = tail(failure);
    require_not_negative(distance, "a distance");
    least = std::min(least, sigma_of(distance, total.epsilon, total.delta - failure));
  }
  return least;
}

}  // namespace unweave
