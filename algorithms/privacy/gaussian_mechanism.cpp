// algorithms/privacy/gaussian_mechanism.cpp - the privacy curve through Mills' ratio, so that
// nothing overflows or cancels.
//
// With x = b - a, y = b + a and M(t) = Phi(-t) / phi(t): e^epsilon = phi(x) / phi(y), as (y^2 -
// x^2)/2 = 2ab = epsilon, hence delta = Phi(-x) - phi(x) M(y) = phi(x) (M(x) - M(y)).
//
// What is returned is no less than the exact value. delta rises with shift / sigma and falls with
// epsilon, so that a is rounded up and b, from that a, down. Let u = 2^-53, and let exp and log err
// by 2 ulp and erfc by 16 at most. For these a and b the sum of -x^2/2 - ln sqrt(2 pi) and the
// logarithms that follow it errs by less than 2.5 u x^2 + 3u + 5u of the logarithms, and D = M(x) -
// M(y) by less than 4096u (1 + |x|) of itself, hence the charge of log_delta_of:
// - M(t) errs by 135u for -1 <= t < 5 (40u from the argument of exp, 54u from that of erfc), and by
//   260u for t >= 5, where 120 terms of a fraction of positive numbers leave out less than 10^-20
//   of it.
// - a > 1/4, x >= -1: the difference of two such values and of the rounding of x, 524u M(x). With E
//   the mean of s under the density ~ exp(-ts - s^2/2), -(ln M)' = E = 1/M - t >= (4/pi) / (2t +
//   1.6) for t >= 0 (Abramowitz and Stegun, 7.1.13), so that M(x) is at most 3.2 |x| + 5.2 times D.
// - a <= 1/4: 1 - t M(t) errs by 3600u (near t = 5, where it is 0.037), the sum of ten by 12u more.
//   Gauss-Legendre leaves out (2a)^21 (10!)^4 / (21 (20!)^3) |M^(21)|, less than 10^-25 of D, since
//   M^(21) / M' is at most 1.3e10 for t >= -1/4.
// - a > 1/4, x < -1: delta is at least 0.68, the tail and what is lost from it err by 100u
//   together.
#include "algorithms/privacy/gaussian_mechanism.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "storage/io/error.h"

namespace unweave {
namespace {

const double kLogSqrtTwoPi = 0.5 * std::log(2 * std::numbers::pi);

/// t >= 5: 2/(t + 3/(t + 4/(t + ...))), the tail of Laplace's continued fraction M(t) = 1/(t + 1/(t
/// + tail)).
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

/// A sum of logarithms, and what they sum to without signs.
struct Logarithms {
  double sum;
  double size;
};

/// ln(M(middle - half) - M(middle + half)): by ten-point Gauss-Legendre of -M' where the two are
/// close. The half-width is given apart, because in the two ends a small one is rounded away.
Logarithms log_mills_difference(double middle, double half) {
  if (half > 0.25) {
    const double value = std::log(mills(middle - half) - mills(middle + half));
    return {value, std::abs(value)};
  }
  constexpr std::array<double, 5> kNode{0.1488743389816312, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845,
                                        0.9739065285171717};
  constexpr std::array<double, 5> kWeight{0.2955242247147529, 0.2692667193099963, 0.2190863625159820,
                                          0.1494513491505806, 0.0666713443086881};
  double sum = 0;
  for (std::size_t i = 0; i < kNode.size(); ++i)
    sum += kWeight[i] * (mills_descent(middle - half * kNode[i]) + mills_descent(middle + half * kNode[i]));
  const double width = std::log(half), height = std::log(sum);  // apart: their product may underflow
  return {width + height, std::abs(width) + std::abs(height)};
}

void check(double shift, double sigma, double epsilon) {
  if (!(shift >= 0) || !std::isfinite(shift)) throw UsageError("a shift must be finite and at least 0");
  if (!(sigma > 0) || !std::isfinite(sigma))
    throw UsageError("float64 holds no noise level for these; raise " + option("lambda") + ", " + option("epsilon") +
                     " or " + option("tau"));
  if (!(epsilon >= 0) || !std::isfinite(epsilon)) throw UsageError("epsilon must be finite and at least 0");
}

/// No more than the logarithm of a number below 1.
double log_below(double value) {
  return std::log(value) * (1 + 0x1p-50);
}

}  // namespace

double log_delta_of(double shift, double sigma, double epsilon) {
  check(shift, sigma, epsilon);
  if (shift == 0) return -std::numeric_limits<double>::infinity();
  constexpr double kLeast = 2 * std::numeric_limits<double>::min();  // below, roundings are no longer relative
  const double a = std::max(shift / sigma / 2 * (1 + 0x1p-50), kLeast);
  double b = epsilon / (2 * a) * (1 - 0x1p-50);
  if (!(b > 1e-300)) b = 0;
  const double x = b - a, y = b + a;
  if (x > 1e6) {  // Phi(-x) < exp(-x^2 / 2)
    const double far = std::min(x, 1e150);
    return -far * far / 2 * (1 - 0x1p-50);
  }
  const double charge = 0x1p-41 * (1 + std::abs(x)) + 0x1p-50 * x * x;
  if (x < -1 && y - x > 0.5) {  // Phi(-x) carries the value
    const double lost = std::exp(-x * x / 2 - kLogSqrtTwoPi) * mills(y);
    return std::min(0.0, std::log(upper_tail(x) - lost) + charge);
  }
  const Logarithms difference = log_mills_difference(b, a);
  return std::min(0.0, -x * x / 2 - kLogSqrtTwoPi + difference.sum + (charge + 0x1p-50 * difference.size));
}

double delta_of(double shift, double sigma, double epsilon) {
  return std::min(1.0, std::exp(log_delta_of(shift, sigma, epsilon)) * (1 + 0x1p-50));
}

double epsilon_of(double shift, double sigma, double delta) {
  if (!(delta > 0) || !(delta < 1)) throw UsageError("delta must lie strictly between 0 and 1");
  const double goal = log_below(delta);
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
  const double goal = log_below(delta);
  double low = 1, high = 1;  // in units of the shift; the curve falls in sigma
  while (log_delta_of(1, high, epsilon) > goal) high *= 2;
  while (log_delta_of(1, low, epsilon) <= goal && low > 1e-150) low /= 2;
  for (int i = 0; i < 200 && high / low > 1 + 1e-13; ++i) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    (log_delta_of(1, middle, epsilon) > goal ? low : high) = middle;
  }
  const double sigma = high * shift * (1 + 0x1p-51);
  if (!std::isfinite(sigma) || sigma <= 0) throw UsageError("no noise level fits this shift, epsilon and delta");
  return sigma;
}

}  // namespace unweave
