// algorithms/privacy/accounting/descend.cpp - distances of Descent-to-Delete, with shifted and with
// independent batches.
#include "algorithms/privacy/accounting/descend.h"

#include <algorithm>
#include <cmath>

#include "algorithms/privacy/accounting/require.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

void check_plan(const UnprojectedPlan& plan) {
  require_not_negative(plan.initial_loss, "the loss at the start");
  if (plan.removed >= plan.rows) throw UsageError("at least one row must remain");
  if (!(plan.relative > 0) || !std::isfinite(plan.relative) || !(plan.constant > 0) || !std::isfinite(plan.constant))
    throw UsageError("Theorem 4 needs finite B and C above 0");
  if (plan.step.size() > 1 / (plan.step.smoothness() * plan.relative))
    throw UsageError("the step size must be at most 1 / (L B)");
  if (!(static_cast<double>(plan.removed) * (6 * plan.relative + 1) < static_cast<double>(plan.rows)))
    throw UsageError("too many rows are removed: m (6 B + 1) must be below n");
}

/// How many learning steps more than unlearning steps Theorem 4 needs at least, log_kept = ln(1 -
/// eta mu / 2).
double steps_ahead(const UnprojectedPlan& plan, double log_kept) {
  if (plan.initial_loss == 0) return 0;
  const double excess = std::log(plan.initial_loss) - std::log(1.25) - std::log(plan.constant) +
                        std::log(plan.relative) + std::log(plan.step.strong_convexity());
  return std::max(0.0, excess / -log_kept);
}

}  // namespace

double largest_regularised_travel(double data_gradient, double lambda, double step_size, std::uint64_t steps) {
  if (!(data_gradient >= 0) || !std::isfinite(data_gradient) || !(lambda > 0) || !(step_size > 0))
    throw UsageError("the gradient bound must be finite and at least 0, lambda and step size above 0");
  const double drop = step_size * lambda;
  if (!(drop <= 1)) throw UsageError("the step size must be at most 1 / lambda");
  if (steps == 0) return 0;
  const double lost = drop == 1 ? 1 : -std::expm1(static_cast<double>(steps) * std::log1p(-drop));
  return data_gradient * (lost / lambda);
}

double descend_second_moment(const UnprojectedPlan& plan, std::uint64_t unlearning_steps) {
  check_plan(plan);
  if (unlearning_steps > plan.steps) throw UsageError("there cannot be more unlearning steps than learning steps");
  const double mu = plan.step.strong_convexity(), eta = plan.step.size();
  const double log_kept = std::log1p(-eta * mu / 2), steps = static_cast<double>(unlearning_steps);
  if (static_cast<double>(plan.steps) < steps + steps_ahead(plan, log_kept))
    throw UsageError("Theorem 4 needs more learning steps for so many unlearning steps");
  const double left = std::exp(steps * log_kept);
  const double square = 5 * plan.constant / (mu * mu * plan.relative) * (left * left + 2 * left) +
                        4 * plan.step.smoothness() * eta * plan.constant / (mu * mu);
  if (!std::isfinite(square)) throw UsageError("the bound is vacuous: beyond the range of a double");
  return square;
}

}  // namespace unweave
