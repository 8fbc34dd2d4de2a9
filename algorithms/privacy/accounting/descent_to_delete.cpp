// algorithms/privacy/accounting/descent_to_delete.cpp - the published constants, in forms that do
// not cancel.
#include "algorithms/privacy/accounting/descent_to_delete.h"

#include <algorithm>
#include <cmath>

#include "algorithms/privacy/accounting/renyi.h"
#include "algorithms/privacy/accounting/require.h"
#include "algorithms/privacy/accounting/search.h"

namespace unweave {

DescentToDelete::DescentToDelete(std::uint64_t rows, double strong_convexity, double smoothness,
                                 double gradient_bound) {
  require_count(rows, "the number of rows");
  require_positive(strong_convexity, "the strong convexity m");
  require_positive(smoothness, "the smoothness L");
  require_positive(gradient_bound, "the gradient bound M");
  if (strong_convexity > smoothness) throw UsageError("the strong convexity m must be at most the smoothness L");
  minimiser_distance_ = 2 * gradient_bound / strong_convexity / static_cast<double>(rows);
  one_minus_rate_ = 2 * (strong_convexity / (smoothness + strong_convexity));
  log_rate_ = std::log1p(-one_minus_rate_);
}

std::uint64_t DescentToDelete::steps_for(double log_ratio) const {
  const double steps = std::ceil(log_ratio / -log_rate_);
  if (!(steps <= static_cast<double>(kMostCount))) throw UsageError("more than 2^53 steps are needed");
  return steps > 0 ? static_cast<std::uint64_t>(steps) : 0;
}

double DescentToDelete::sensitivity(std::uint64_t steps) const {
  require_count(steps, "the number of steps");
  const double exponent = static_cast<double>(steps) * log_rate_;
  return 4 * minimiser_distance_ * (std::exp(exponent) / -std::expm1(exponent));
}

std::uint64_t DescentToDelete::learning_steps(std::uint64_t steps, double radius) const {
  require_count(steps, "the number of steps");
  require_positive(radius, "the radius R");
  return steps + steps_for(std::log(2 * radius / minimiser_distance_));
}

double DescentToDelete::state_sigma(std::uint64_t steps, double epsilon, double delta) const {
  return representable_sigma(sensitivity(steps) / gaussian_mu(epsilon, delta));
}

std::uint64_t DescentToDelete::private_steps(std::uint64_t dimension, double epsilon, double delta) const {
  require_count(dimension, "the number of parameters");
  require_positive(epsilon, "epsilon");
  require_delta(delta);
  const double l = 2 * (std::log(2) - std::log(delta));
  const double inverse_gap = (std::sqrt(l + epsilon) + std::sqrt(l)) / epsilon;
  const double ratio = std::sqrt(2 * static_cast<double>(dimension)) / one_minus_rate_ * inverse_gap;
  return std::max<std::uint64_t>(1, steps_for(std::log(ratio)));
}

std::uint64_t DescentToDelete::private_request_steps(std::uint64_t steps, std::uint64_t dimension,
                                                     std::uint64_t request, double delta) const {
  require_count(steps, "the number of steps");
  require_count(dimension, "the number of parameters");
  require_count(request, "a request's number");
  require_delta(delta);
  const double log_union =
      std::log(4 * static_cast<double>(dimension) * static_cast<double>(request)) - std::log(delta);
  return steps + steps_for(std::log(log_union));
}

double DescentToDelete::private_sigma(std::uint64_t steps, double epsilon, double delta) const {
  require_positive(epsilon, "epsilon");
  require_delta(delta);
  const double l = 2 * (std::log(2) - std::log(delta));
  const double inverse_gap = (std::sqrt(l + 3 * epsilon) + std::sqrt(l + 2 * epsilon)) / epsilon;
  return representable_sigma(sensitivity(steps) * inverse_gap);
}

}  // namespace unweave
