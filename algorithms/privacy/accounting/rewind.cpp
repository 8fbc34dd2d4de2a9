// algorithms/privacy/accounting/rewind.cpp - distances of Rewind-to-Delete in logarithms, and the
// noise for them.
#include "algorithms/privacy/accounting/rewind.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/privacy/accounting/chernoff.h"
#include "algorithms/privacy/accounting/require.h"
#include "algorithms/privacy/accounting/search.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// What turns the sound prefactor 1 / (1 - gamma) into the printed 1 / mu, as a logarithm.
double log_misprint(const GradientStep& step) {
  if (!step.by_lemma15()) throw UsageError("the printed bound needs the step of Lemma 15");
  return std::log(-step.excess()) - std::log(step.strong_convexity());
}

/// ln of the largest weight of one batch's slots in the distance, 2 eta G / b gamma^j over j = K ..
/// T - 1.
double log_largest_weight(const DescentPlan& plan, std::uint64_t unlearning_steps) {
  const double unit = std::log(2.0) + std::log(plan.change.gradient()) + std::log(plan.step.size());
  const double power = static_cast<double>(unlearning_steps);
  return unit - std::log(static_cast<double>(plan.batch)) +
         (unlearning_steps == 0 ? 0 : power * plan.step.log_factor());
}

}  // namespace

DataChange::DataChange(std::uint64_t rows, double gradient, double total)
    : rows_(rows), gradient_(gradient), total_(total) {
  if (rows == 0) throw UsageError("at least one row must remain");
  require_positive(gradient, "the gradient bound");
  if (!(total >= 0) || !(total / 2 / gradient <= static_cast<double>(rows) * (1 + 1e-12)))
    throw UsageError("the change of a row lies between 0 and 2 G");
}

DataChange DataChange::removal(std::uint64_t rows, std::uint64_t removed, double gradient) {
  if (removed >= rows) throw UsageError("at least one row must remain");
  return {rows, gradient, 2 * gradient * static_cast<double>(removed)};
}

DataChange DataChange::weighted(std::uint64_t rows, double gradient, double total) {
  return {rows, gradient, total};
}

double DataChange::fraction() const noexcept {
  if (total_ == 0) return 0;
  const double exact = total_ / 2 / gradient_ / static_cast<double>(rows_);
  return std::clamp(exact, std::numeric_limits<double>::min(), 1.0);
}

double rewind_distance(const DescentPlan& plan, std::uint64_t unlearning_steps, BoundRule rule) {
  const double sum = log_power_sum(plan.step, unlearning_steps, plan.steps);
  const double misprint = rule == BoundRule::kPaper ? log_misprint(plan.step) : 0;
  if (plan.change.total() == 0) return 0;
  return bound_from_log(std::log(plan.step.size()) + std::log(plan.change.total()) -
                        std::log(static_cast<double>(plan.change.rows())) + sum + misprint);
}

double rewind_tail(const DescentPlan& plan, std::uint64_t unlearning_steps, double failure) {
  if (unlearning_steps > plan.steps) throw UsageError("there cannot be more unlearning steps than learning steps");
  const double rate = plan.step.log_factor();
  const bool forgets_at_once = !std::isfinite(rate);  // gamma = 0: the step before the last weighs nothing
  WeightedSum sum{plan.steps - unlearning_steps, -rate, plan.batch, plan.change.fraction()};
  if (forgets_at_once) sum = {unlearning_steps == 0 && plan.steps > 0 ? 1U : 0U, 0, sum.draws, sum.mean};
  const double tail = tail_bound(sum, failure);
  return tail == 0 ? 0 : bound_from_log(log_largest_weight(plan, unlearning_steps) + std::log(tail));
}

double shifted_sigma(const DescentPlan& plan, std::uint64_t unlearning_steps, double shift, const PrivacyTarget& total,
                     DistanceRule distance) {
  check_target(total);
  if (plan.steps > kMostCount) throw UsageError("there can be 2^53 learning steps at most");
  // Every mechanism is linear in the distance: taken at a distance near 1, none overflows before
  // the last product.
  if (distance == DistanceRule::kTail) {
    const double scale = shift + rewind_tail(plan, unlearning_steps, total.delta / 2);
    if (scale == 0 || !std::isfinite(scale)) return scale;
    const auto tail = [&](double failure) { return (shift + rewind_tail(plan, unlearning_steps, failure)) / scale; };
    return std::max(tail_sigma(tail, total) * scale, std::numeric_limits<double>::min());
  }
  const double mean = shift + rewind_distance(plan, unlearning_steps);
  if (mean == 0) return 0;
  return std::max(mean_sigma(1, total) * mean, std::numeric_limits<double>::min());
}

}  // namespace unweave
