// algorithms/privacy/accounting/renyi.h - from Renyi divergence to (epsilon, delta), by Mironov
// (CSF 2017, Proposition 3):
//   epsilon = min over alpha > 1 of  eps(alpha) + ln(1/delta) / (alpha - 1).
//
// Curves here are those of two Gaussians that stand mu standard deviations apart, eps(alpha) =
// alpha mu^2 / 2, for which the minimum over all orders has a closed form (Bun and Steinke, TCC
// 2016, Proposition 1.3, rho = mu^2 / 2). Evaluated in float64, to about 12 digits; an epsilon
// beyond its range is infinity. mu >= 0, else UsageError, as for an epsilon that is not finite and
// above 0 and a delta that does not lie strictly between 0 and 1.
#pragma once

namespace unweave {

/// mu^2/2 + mu sqrt(2 ln(1/delta)).
[[nodiscard]] double gaussian_epsilon(double mu, double delta);
/// Largest mu with gaussian_epsilon(mu, delta) <= epsilon, to rounding.
[[nodiscard]] double gaussian_mu(double epsilon, double delta);

/// For the curve (alpha - 1/2)/(alpha - 1) * 2 alpha * mu^2/2, which the weak triangle inequality
/// with both exponents 2 gives (Mironov, CSF 2017, Corollary 4): 3A + 2 sqrt(2A (A + ln(1/delta)))
/// with A = mu^2/2.
[[nodiscard]] double weak_triangle_epsilon(double mu, double delta);
/// Largest mu with weak_triangle_epsilon(mu, delta) <= epsilon, to rounding.
[[nodiscard]] double weak_triangle_mu(double epsilon, double delta);

}  // namespace unweave
