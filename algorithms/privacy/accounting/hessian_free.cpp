// algorithms/privacy/accounting/hessian_free.cpp - recursions and printed formulas.
#include "algorithms/privacy/accounting/hessian_free.h"

#include <algorithm>
#include <cmath>

#include "algorithms/numerics/matrix.h"
#include "algorithms/privacy/accounting/require.h"

namespace unweave {
namespace {

// Covers the roundings of one step of a recursion of nonnegative numbers, and a step size that is
// off by 1e-11 of itself.
constexpr double kUp = 1 + 0x1p-36;

/// (a^n - b^n) / (a - b), the sum of a^i b^(n - 1 - i), also where a = b.
double power_quotient(double a, double b, double n) {
  if (std::abs(a - b) <= 1e-12 * std::max(a, b)) return n * std::pow(a, n - 1);
  return (std::pow(a, n) - std::pow(b, n)) / (a - b);
}

}  // namespace

RunConstants run_constants(Head head, double lambda, double row_norm, std::uint64_t features, std::uint64_t classes,
                           std::uint64_t batch) {
  RunConstants constants;
  constants.lambda = lambda;
  constants.row_norm = row_norm;
  const HeadEntry& entry = entry_of(head);
  constants.curvature = entry.smoothness.curvature;
  constants.third = entry.joint_third * kUp;
  constants.slope = entry.slope_at_zero * (entry.couples_classes ? 1 : std::sqrt(static_cast<double>(classes)));
  // A vector made backward is a product of matrices of as many columns, each of which errs alike.
  constants.gamma = rounding_gamma(static_cast<double>(features + batch + classes + 64)) *
                    std::sqrt(static_cast<double>(features * classes));
  return constants;
}

StepBounds::StepBounds(const RunConstants& constants, double share, std::uint64_t rows, double gram) noexcept
    : constants_(constants), share_(share), rows_(static_cast<double>(rows)), gram_(gram) {}

double StepBounds::contraction(std::uint64_t removed) const noexcept {
  const double least = share_ * constants_.lambda * (rows_ - static_cast<double>(removed));
  const double most = share_ * (constants_.lambda * rows_ + constants_.curvature * gram_);
  return std::max(1 - least, most - 1) * kUp;
}

double StepBounds::rounding(double size) const noexcept {
  const double reach = rows_ * constants_.row_norm * share_;
  return 8 * constants_.gamma *
         ((1 + share_ * constants_.lambda * rows_ + reach * constants_.curvature * constants_.row_norm) * size +
          reach * constants_.slope);
}

void RemovalAccount::advance(double share, std::uint64_t rows, std::uint64_t removed, double injected) noexcept {
  const double norm = constants_.row_norm, kept = static_cast<double>(rows - removed);
  const StepBounds step(constants_, share, rows, norm * norm * static_cast<double>(rows));
  const double rho = step.contraction(removed);
  const double reach = norm * size_;
  const double missed = kept * norm * std::min(constants_.third / 2 * reach * reach, constants_.curvature * reach);
  const double own = static_cast<double>(removed) * (constants_.curvature * norm * norm + constants_.lambda) * size_;
  distance_ = (rho * distance_ + share * (missed + own) + step.rounding(constants_.weights + size_ + distance_)) * kUp;
  size_ = (rho * size_ + share * injected) * kUp;
}

double printed_distance(const PrintedRun& run, std::uint64_t removed) {
  require_positive(run.step_size, "the step");
  require_positive(run.gradient, "the gradient bound");
  if (!(run.decay > 0 && run.decay < 1))
    throw UsageError("the bound of Theorem 4 needs a decay strictly between 0 and 1");
  const double q = run.decay, rho = run.rho, steps = static_cast<double>(run.steps);
  const double epoch = static_cast<double>(run.epoch_steps), at = static_cast<double>(run.batch_number);
  const double drift = power_quotient(rho, q, steps) - power_quotient(rho, q * q, steps);
  // sum over the epochs of rho^(B e) q^(B (E - 1 - e)), as (rho^T - q^T) / (rho^B - q^B)
  const double visits = power_quotient(std::pow(rho, epoch), std::pow(q, epoch), steps / epoch);
  const double own = 2 * run.step_size * run.gradient / static_cast<double>(run.batch) * visits *
                     std::pow(rho, epoch - at - 1) * std::pow(q, at);
  return static_cast<double>(removed) * (2 * run.step_size * run.step_size * run.gradient / (1 - q) * drift + own);
}

StatisticsCost statistics_cost(std::uint64_t epochs, std::uint64_t rows, std::uint64_t records,
                               std::uint64_t parameters, std::uint64_t propagator_width) {
  const double per = 2 * static_cast<double>(epochs) * static_cast<double>(rows) * static_cast<double>(parameters);
  return {per * static_cast<double>(records), per * static_cast<double>(propagator_width)};
}

}  // namespace unweave
