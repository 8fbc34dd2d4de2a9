// algorithms/privacy/accounting/descend.cpp - distances of Descent-to-Delete, with shifted and with independent batches.
#include "algorithms/privacy/accounting/descend.h"

#include <algorithm>
#include <cmath>

#include "algorithms/privacy/accounting/require.h"
#include "algorithms/privacy/accounting/search.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// gamma^T travel.
double travel_left(const DescentPlan& plan, double travel) {
  require_not_negative(travel, "the travel");
  if (plan.step.excess() >= 0) throw UsageError("Descent-to-Delete needs strongly convex losses");
  if (travel == 0) return 0;
  const double forgotten = plan.steps == 0 ? 0 : static_cast<double>(plan.steps) * plan.step.log_factor();
  return bound_from_log(forgotten + std::log(travel));
}

double sigma_or_infinity(const DescentPlan& plan, double travel, std::uint64_t unlearning_steps,
                         const PrivacyTarget& total, DistanceRule distance) {
  const double rounding = rounding_shift(plan, 2 * plan.steps);  // for every K
  return shifted_sigma(plan, unlearning_steps, travel_left(plan, travel) + rounding, total, distance);
}

/// Least K in 0 .. last that `suffices`, which holds from some K on if at all.
template <class Suffices>
std::optional<std::uint64_t> least_steps(std::uint64_t last, const Suffices& suffices) {
  if (!suffices(last)) return std::nullopt;
  return least_count(0, last, suffices);
}

void check_strongly_convex(const UnprojectedPlan& plan) {
  check_unprojected(plan);
  if (plan.step.strong_convexity() == 0) throw UsageError("Descent-to-Delete needs strongly convex losses");
}

/// 1 - (1 - drop)^steps.
double lost(double drop, std::uint64_t steps) {
  if (steps == 0) return 0;
  return drop >= 1 ? 1 : -std::expm1(static_cast<double>(steps) * std::log1p(-drop));
}

double decayed(double drop, std::uint64_t steps) {
  if (steps == 0) return 1;
  return drop >= 1 ? 0 : std::exp(static_cast<double>(steps) * std::log1p(-drop));
}

/// How the learning run approaches the minimiser of D': per step by 1 - drop, down to `floor` in the loss.
struct BiasedRun {
  double drop;
  double floor;
};

BiasedRun biased_run(const UnprojectedPlan& plan, SecondMomentRule rule) {
  const double mu = plan.step.strong_convexity(), eta = plan.step.size(), relative = plan.relative;
  const double noise = plan.step.smoothness() * eta * plan.constant;
  const double m = static_cast<double>(plan.removed), n = static_cast<double>(plan.rows);
  if (rule == SecondMomentRule::kRemovalAware) {
    const double left = n - m - 2 * relative * m;
    if (!(left > 2 * relative * m)) throw UsageError("too many rows are removed: m (4 B + 1) must be below n");
    const double share = 2 * relative * m / left, bias = plan.constant * m / left;
    return {eta * mu * (1 - share), (bias + noise) / (2 * mu * (1 - share))};
  }
  if (!(relative > 0)) throw UsageError("Theorem 4 needs B above 0");
  if (!(m * (6 * relative + 1) < n)) throw UsageError("too many rows are removed: m (6 B + 1) must be below n");
  return {eta * mu / 2, (plan.constant / (4 * relative) + noise) / mu};
}

}  // namespace

double largest_travel(double diameter, double step_size, double gradient, std::uint64_t steps) {
  if (!(diameter >= 0) || !(step_size > 0) || !(gradient >= 0))
    throw UsageError("diameter and gradient bound must be at least 0, the step size above 0");
  if (!std::isfinite(step_size) || (std::isinf(diameter) && std::isinf(gradient)))
    throw UsageError("without a diameter the gradient bound must be finite");
  return steps == 0 ? 0 : std::min(diameter, step_size * gradient * static_cast<double>(steps));
}

double largest_regularised_travel(double data_gradient, double lambda, double step_size, std::uint64_t steps) {
  if (!(data_gradient >= 0) || !std::isfinite(data_gradient) || !(lambda > 0) || !(step_size > 0))
    throw UsageError("the gradient bound must be finite and at least 0, lambda and step size above 0");
  if (!(step_size * lambda <= 1)) throw UsageError("the step size must be at most 1 / lambda");
  return data_gradient * (lost(step_size * lambda, steps) / lambda);
}

double descend_distance(const DescentPlan& plan, double travel, std::uint64_t unlearning_steps) {
  return travel_left(plan, travel) + rewind_distance(plan, unlearning_steps);
}

double descend_tail(const DescentPlan& plan, double travel, std::uint64_t unlearning_steps, double failure) {
  return travel_left(plan, travel) + rewind_tail(plan, unlearning_steps, failure);
}

double descend_sigma(const DescentPlan& plan, double travel, std::uint64_t unlearning_steps, const PrivacyTarget& total,
                     DistanceRule distance) {
  const double sigma = sigma_or_infinity(plan, travel, unlearning_steps, total, distance);
  if (!std::isfinite(sigma)) throw UsageError("the bound is vacuous: no finite noise covers it");
  return sigma;
}

std::optional<std::uint64_t> least_descend_steps(const DescentPlan& plan, double travel, double sigma,
                                                 const PrivacyTarget& total, DistanceRule distance) {
  if (!(sigma >= 0)) throw UsageError("sigma must be at least 0");
  return least_steps(plan.steps, [&](std::uint64_t steps) {
    return sigma_or_infinity(plan, travel, steps, total, distance) <= sigma;
  });
}

double descend_second_moment(const UnprojectedPlan& plan, std::uint64_t unlearning_steps, SecondMomentRule rule) {
  check_strongly_convex(plan);
  if (unlearning_steps > plan.steps) throw UsageError("there cannot be more unlearning steps than learning steps");
  const double mu = plan.step.strong_convexity(), eta = plan.step.size();
  const double noise = plan.step.smoothness() * eta * plan.constant;
  const BiasedRun run = biased_run(plan, rule);
  double square = 0;
  if (rule == SecondMomentRule::kTheorem4) {
    if (static_cast<double>(plan.steps) < theorem4_learning_steps(plan, unlearning_steps))
      throw UsageError("Theorem 4 needs more learning steps for so many unlearning steps");
    const double left = decayed(run.drop, unlearning_steps);
    square = 5 * plan.constant / (mu * mu * plan.relative) * (left * left + 2 * left) + 4 * noise / (mu * mu);
  } else {
    const double unlearnt =
        decayed(eta * mu, unlearning_steps) * (decayed(run.drop, plan.steps) * plan.initial_loss + run.floor);
    const double retrained = decayed(eta * mu, plan.steps) * plan.initial_loss;
    square = 4 / mu * (unlearnt + retrained + noise / mu);
  }
  if (!std::isfinite(square)) throw UsageError("the bound is vacuous: beyond the range of a double");
  return square;
}

double theorem4_learning_steps(const UnprojectedPlan& plan, std::uint64_t unlearning_steps) {
  check_strongly_convex(plan);
  if (!(plan.relative > 0) || !(plan.constant > 0)) throw UsageError("Theorem 4 needs B and C above 0");
  const double mu = plan.step.strong_convexity(), start = static_cast<double>(unlearning_steps);
  if (plan.initial_loss == 0) return start;
  const double excess =
      std::log(plan.initial_loss) - std::log(1.25) - std::log(plan.constant) + std::log(plan.relative) + std::log(mu);
  return start + std::max(0.0, excess / -std::log1p(-plan.step.size() * mu / 2));
}

std::optional<std::uint64_t> least_descend_steps(const UnprojectedPlan& plan, double square, SecondMomentRule rule) {
  if (rule == SecondMomentRule::kTheorem4) throw UsageError("Theorem 4 fixes the learning steps: take another rule");
  if (!(square >= 0)) throw UsageError("a second moment must be at least 0");
  return least_steps(plan.steps,
                     [&](std::uint64_t steps) { return descend_second_moment(plan, steps, rule) <= square; });
}

}  // namespace unweave
