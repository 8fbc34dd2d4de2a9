// algorithms/privacy/accounting/gradient_step.cpp - step factors and their geometric sums, in
// logarithms.
#include "algorithms/privacy/accounting/gradient_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "algorithms/privacy/accounting/require.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

void check_curvature(double smoothness, double strong_convexity) {
  require_positive(smoothness, "the smoothness");
  require_positive(strong_convexity, "the strong convexity");
  if (strong_convexity > smoothness) throw UsageError("the strong convexity cannot exceed the smoothness");
}

void check_size(double size, double largest, const char* condition) {
  require_positive(size, "the step size");
  if (size > largest) throw UsageError(std::string("the step size must be at most ") + condition);
}

}  // namespace

GradientStep::GradientStep(double size, double smoothness, double strong_convexity, double excess) noexcept
    : size_(size), smoothness_(smoothness), strong_convexity_(strong_convexity), excess_(std::max(excess, -1.0)) {}

GradientStep GradientStep::strongly_convex(double size, double smoothness, double strong_convexity) {
  check_curvature(smoothness, strong_convexity);
  check_size(size, 2 / (smoothness + strong_convexity), "2 / (L + mu) for strongly convex losses");
  return {size, smoothness, strong_convexity, -size * strong_convexity};
}

GradientStep GradientStep::strongly_convex_lemma15(double size, double smoothness, double strong_convexity) {
  check_curvature(smoothness, strong_convexity);
  check_size(size, strong_convexity / smoothness / smoothness, "mu / L^2 for Lemma 15");
  const double drop = std::min(size * strong_convexity, 1.0);
  GradientStep step(size, smoothness, strong_convexity, -drop / (1 + std::sqrt(1 - drop)));
  step.by_lemma15_ = true;
  return step;
}

double GradientStep::log_factor() const noexcept {
  return excess_ == -1 ? -std::numeric_limits<double>::infinity() : std::log1p(excess_);
}

double log_power_sum(const GradientStep& step, std::uint64_t first, std::uint64_t last) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  if (first > last) throw UsageError("there cannot be more unlearning steps than learning steps");
  if (first == last) return kNone;
  const double terms = static_cast<double>(last - first), excess = step.excess(), rate = step.log_factor();
  if (rate == 0) return std::log(terms);
  if (!std::isfinite(rate)) return first == 0 ? 0 : kNone;
  // gamma^first (1 - gamma^terms) / (1 - gamma)
  return static_cast<double>(first) * rate + std::log(-std::expm1(terms * rate)) - std::log(-excess);
}

double bound_from_log(double logarithm) noexcept {
  if (logarithm == -std::numeric_limits<double>::infinity()) return 0;
  return std::max(std::exp(logarithm), kLeastBound);
}

}  // namespace unweave
