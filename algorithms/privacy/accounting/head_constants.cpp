// algorithms/privacy/accounting/head_constants.cpp - smoothness and gradient bounds of the heads.
#include "algorithms/privacy/accounting/head_constants.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "algorithms/privacy/accounting/require.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

void check(const PublicConstants& given, std::size_t least_classes) {
  require_positive(given.row_norm, "the bound of row norms");
  require_not_negative(given.radius, "the radius");
  require_not_negative(given.lambda, "lambda");
  if (given.classes < least_classes) throw UsageError("there are too few classes for this head");
}

LossConstants with_regulariser(const PublicConstants& given, LossConstants data) {
  data.smoothness += given.lambda;
  data.gradient = data.data_gradient + given.lambda * given.radius;
  return data;
}

}  // namespace

LossConstants loss_constants(Head head, const PublicConstants& given) {
  const HeadEntry& entry = entry_of(head);
  check(given, entry.least_classes);
  return with_regulariser(given, entry.constants(given));
}

ActivationBounds tanh_bounds() {
  return {.at_zero = 0, .curvature = 4 / (3 * std::numbers::sqrt3), .largest = 1};
}

ActivationBounds smelu_bounds(double beta) {
  require_positive(beta, "the half-width of SmeLU");
  return {.at_zero = beta / 4, .curvature = 1 / (2 * beta), .largest = std::numeric_limits<double>::infinity()};
}

LossConstants network_constants(const PublicConstants& given, std::span<const std::size_t> hidden,
                                const ActivationBounds& activation, bool filtered) {
  check(given, 2);
  if (hidden.empty()) throw UsageError("a network needs a hidden layer");
  const double radius = given.radius;
  // What a layer reads has this length, and these first and second derivatives.
  double length = filtered ? std::hypot(radius * given.row_norm, 1) : given.row_norm;
  double jacobian = filtered ? given.row_norm : 0, second = 0;
  const auto through_weights = [&] {
    const double bend = radius * second;
    second = (bend + std::hypot(bend, 2 * jacobian)) / 2;
    jacobian = std::hypot(length, radius * jacobian);
  };
  for (const std::size_t width : hidden) {
    if (width == 0) throw UsageError("a network needs a hidden unit");
    through_weights();
    const double root = std::sqrt(static_cast<double>(width));
    length = std::hypot(std::min(radius * length + activation.at_zero * root, activation.largest * root), 1);
    second += activation.curvature * jacobian * jacobian;
  }
  through_weights();
  return with_regulariser(given, {.smoothness = jacobian * jacobian / 2 + std::numbers::sqrt2 * second,
                                  .data_gradient = std::numbers::sqrt2 * jacobian,
                                  .loss_at_zero = std::log(static_cast<double>(given.classes))});
}

SecondMoment strongly_convex_second_moment(double smoothness, double strong_convexity, double loss) {
  if (!(strong_convexity > 0) || !(strong_convexity <= smoothness) || !std::isfinite(smoothness))
    throw UsageError("the strong convexity must be above 0 and at most the smoothness");
  require_not_negative(loss, "a bound of losses");
  return {smoothness / strong_convexity, 2 * smoothness * loss};
}

}  // namespace unweave
