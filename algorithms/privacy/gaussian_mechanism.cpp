// algorithms/privacy/gaussian_mechanism.cpp - the privacy curve through Mills' ratio, so that nothing overflows or cancels.
//
// With x = b - a, y = b + a and M(t) = Phi(-t) / phi(t): e^epsilon = phi(x) / phi(y), as (y^2 - x^2)/2 = 2ab = epsilon,
// hence delta = Phi(-x) - phi(x) M(y) = phi(x) (M(x) - M(y)).
#include "algorithms/privacy/gaussian_mechanism.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "storage/io/error.h"

namespace unweave {
namespace {

const double kLogSqrtTwoPi = 0.5 * std::log(2 * std::numbers::pi);

/// t >= 5: 2/(t + 3/(t + 4/(t + ...))), the tail of Laplace's continued fraction M(t) = 1/(t + 1/(t + tail)).
double fraction_tail(double t) {
  double value = t;
  for (int k = 120; k >= 3; --k) value = t + k / value;
  return 2 / value;
}

/// Phi(-t), good in the tail.
double upper_tail(double t) {
  return 0.5 * std::erfc(t / std::numbers::sqrt2);
}

/// Mills' ratio for t > -30.
double mills(double t) {
  if (t >= 5) return 1 / (t + 1 / (t + fraction_tail(t)));
  return std::exp(t * t / 2 + kLogSqrtTwoPi) * upper_tail(t);
}

/// -M'(t) = 1 - t M(t), without cancellation in the tail.
double mills_descent(double t) {
  if (t < 5) return 1 - t * mills(t);
  const double inner = 1 / (t + fraction_tail(t));
  return inner / (t + inner);
}

/// M(middle - half) - M(middle + half): by ten-point Gauss-Legendre of -M' where the two are close. The half-width is
/// given apart, because in the two ends a small one is rounded away.
double mills_difference(double middle, double half) {
  if (half > 0.25) return mills(middle - half) - mills(middle + half);
  constexpr std::array<double, 5> kNode{0.1488743389816312, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845,
                                        0.9739065285171717};
  constexpr std::array<double, 5> kWeight{0.2955242247147529, 0.2692667193099963, 0.2190863625159820,
                                          0.1494513491505806, 0.0666713443086881};
  double sum = 0;
  for (std::size_t i = 0; i < kNode.size(); ++i)
    sum += kWeight[i] * (mills_descent(middle - half * kNode[i]) + mills_descent(middle + half * kNode[i]));
  return sum * half;
}

void check(double shift, double sigma, double epsilon) {
  if (!(shift >= 0) || !std::isfinite(shift)) throw UsageError("a shift must be finite and at least 0");
  if (!(sigma > 0) || !std::isfinite(sigma))
    throw UsageError("float64 holds no noise level for these; raise " + option("lambda") + ", " + option("epsilon") +
                     " or " + option("tau"));
  if (!(epsilon >= 0) || !std::isfinite(epsilon)) throw UsageError("epsilon must be finite and at least 0");
}

}  // namespace

double log_delta_of(double shift, double sigma, double epsilon) {
  check(shift, sigma, epsilon);
  if (shift == 0) return -std::numeric_limits<double>::infinity();
  const double a = shift / sigma / 2, b = epsilon * (sigma / shift);
  const double x = b - a, y = b + a;
  if (x > 1e150) return -std::numeric_limits<double>::infinity();
  if (x < -1 && y - x > 0.5) {  // Phi(-x) carries the value
    const double lost = std::exp(-x * x / 2 - kLogSqrtTwoPi) * mills(y);
    return std::log(upper_tail(x) - lost);
  }
  return -x * x / 2 - kLogSqrtTwoPi + std::log(mills_difference(b, a));
}

double delta_of(double shift, double sigma, double epsilon) {
  return std::exp(log_delta_of(shift, sigma, epsilon));
}

double epsilon_of(double shift, double sigma, double delta) {
  if (!(delta > 0) || !(delta < 1)) throw UsageError("delta must lie strictly between 0 and 1");
  const double goal = std::log(delta);
  if (log_delta_of(shift, sigma, 0) <= goal) return 0;
  double low = 0, high = 1e-3;
  while (std::isfinite(high) && log_delta_of(shift, sigma, high) > goal) {
    low = high;
    high *= 2;
  }
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double middle = low + (high - low) / 2;
    (log_delta_of(shift, sigma, middle) > goal ? low : high) = middle;
  }
  return high;
}

double sigma_of(double shift, double epsilon, double delta) {
  check(shift, 1, epsilon);
  if (!(delta > 0) || !(delta < 1)) throw UsageError("delta must lie strictly between 0 and 1");
  if (shift == 0) return 0;
  const double goal = std::log(delta);
  double low = 1, high = 1;  // in units of the shift; the curve falls in sigma
  while (log_delta_of(1, high, epsilon) > goal) high *= 2;
  while (log_delta_of(1, low, epsilon) <= goal && low > 1e-150) low /= 2;
  for (int i = 0; i < 200 && high / low > 1 + 1e-13; ++i) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    (log_delta_of(1, middle, epsilon) > goal ? low : high) = middle;
  }
  const double sigma = high * shift;
  if (!std::isfinite(sigma) || sigma <= 0) throw UsageError("no noise level fits this shift, epsilon and delta");
  return sigma;
}

}  // namespace unweave
