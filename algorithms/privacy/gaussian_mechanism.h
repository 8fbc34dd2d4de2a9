// algorithms/privacy/gaussian_mechanism.h - the exact privacy curve of Gaussian noise (Balle and
// Wang, ICML 2018, Theorem 8).
//
// Every number here is rounded outwards, by proved bounds of its evaluation: never better than the
// exact one.
#pragma once

namespace unweave {

/// Smallest delta for which N(0, sigma^2 I) and N(v, sigma^2 I) with |v|_2 = shift are (epsilon,
/// delta)-close:
///   delta = Phi(a - b) - e^epsilon Phi(-a - b),  a = shift / 2 sigma,  b = epsilon sigma / shift.
/// From above, by a share of less than 2^-39 (1 + |b - a|) + 2^-46 (1 + a + b)^2 of delta. shift >=
/// 0, sigma > 0, epsilon >= 0, all finite; else UsageError.
[[nodiscard]] double delta_of(double shift, double sigma, double epsilon);

/// Natural logarithm of delta_of, also where delta underflows; -infinity for shift 0. Where b - a >
/// 10^6 merely a bound of it.
[[nodiscard]] double log_delta_of(double shift, double sigma, double epsilon);

/// Smallest epsilon >= 0 (to about 11 digits, from above) with delta_of(shift, sigma, epsilon) <=
/// delta. Arguments as there.
[[nodiscard]] double epsilon_of(double shift, double sigma, double delta);

/// Smallest sigma (to about 11 digits, from above) with delta_of(shift, sigma, epsilon) <= delta; 0
/// for shift 0. delta lies strictly between 0 and 1, else UsageError.
[[nodiscard]] double sigma_of(double shift, double epsilon, double delta);

}  // namespace unweave
