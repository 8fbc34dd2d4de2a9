// algorithms/privacy/accounting/renyi.cpp - closed forms without cancellation.
#include "algorithms/privacy/accounting/renyi.h"

#include <cmath>
#include <numbers>

#include "algorithms/privacy/accounting/require.h"

namespace unweave {
namespace {

void check(double mu, double delta) {
  if (!(mu >= 0)) throw UsageError("mu must be at least 0");
  require_delta(delta);
}

}  // namespace

double gaussian_epsilon(double mu, double delta) {
  check(mu, delta);
  return mu * (mu / 2 + std::sqrt(-2 * std::log(delta)));
}

double gaussian_mu(double epsilon, double delta) {
  require_positive(epsilon, "epsilon");
  require_delta(delta);
  const double log_inverse = -std::log(delta);
  return std::numbers::sqrt2 * (epsilon / (std::sqrt(log_inverse + epsilon) + std::sqrt(log_inverse)));
}

double weak_triangle_epsilon(double mu, double delta) {
  check(mu, delta);
  const double root = mu / std::numbers::sqrt2;
  return root * (3 * root + 2 * std::numbers::sqrt2 * std::hypot(root, std::sqrt(-std::log(delta))));
}

double weak_triangle_mu(double epsilon, double delta) {
  require_positive(epsilon, "epsilon");
  require_delta(delta);
  // A = epsilon^2 / (p + sqrt(p^2 - epsilon^2)), p = 3 epsilon + 4 ln(1/delta); q = p / epsilon.
  const double q = 3 - 4 * std::log(delta) / epsilon;
  return std::numbers::sqrt2 * std::sqrt(epsilon) / std::sqrt(q + std::sqrt(q - 1) * std::sqrt(q + 1));
}

}  // namespace unweave
