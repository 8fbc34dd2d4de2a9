// algorithms/privacy/accounting/rewind.cpp - distances of Rewind-to-Delete in logarithms, and their inversion by bisection.
#include "algorithms/privacy/accounting/rewind.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/privacy/accounting/chernoff.h"
#include "algorithms/privacy/accounting/require.h"
#include "algorithms/privacy/accounting/search.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void check_steps(std::uint64_t unlearning, std::uint64_t learning) {
  if (unlearning > learning) throw UsageError("there cannot be more unlearning steps than learning steps");
}

void check_rows(std::uint64_t rows, std::uint64_t removed) {
  if (removed >= rows) throw UsageError("at least one row must remain");
}

/// What turns a sound prefactor 1 / (1 - gamma) into the printed `replaced` / mu, as a logarithm; 0 where prints are sound.
double log_misprint(const GradientStep& step, double replaced) {
  if (step.strong_convexity() == 0) return 0;
  if (!step.by_lemma15()) throw UsageError("the printed bound for strongly convex losses needs the step of Lemma 15");
  return std::log(-step.excess()) + std::log(replaced) - std::log(step.strong_convexity());
}

void check_plan(const DescentPlan& plan, const PrivacyTarget& total, DistanceRule distance) {
  check_target(total);
  if (plan.steps > kMostCount) throw UsageError("there can be 2^53 learning steps at most");
  require_not_negative(plan.step_rounding, "the rounding of a step");
  if (distance == DistanceRule::kSure && plan.batch != kFullBatch)
    throw UsageError("the distance is bounded surely for full batches alone");
}

/// ln of the largest weight of one batch's slots in the distance, 2 eta G / b gamma^j over j = K .. T - 1.
double log_largest_weight(const DescentPlan& plan, std::uint64_t unlearning_steps) {
  const double rate = plan.step.log_factor();
  const double unit = std::log(2.0) + std::log(plan.change.gradient()) + std::log(plan.step.size());
  const std::uint64_t power = rate > 0 ? plan.steps - 1 : unlearning_steps;
  return unit - std::log(static_cast<double>(plan.batch)) + (power == 0 ? 0 : static_cast<double>(power) * rate);
}

double checked_sigma(double sigma) {
  if (!std::isfinite(sigma))
    throw UsageError(
        "the bound is vacuous: no finite noise covers it; fewer or smaller steps, or more unlearning steps");
  return sigma;
}

void check_sigma(double sigma) {
  if (!(sigma >= 0)) throw UsageError("sigma must be at least 0");
}

double rewind_sigma_or_infinity(const DescentPlan& plan, std::uint64_t unlearning_steps, const PrivacyTarget& total,
                                DistanceRule distance) {
  const double shift = unlearning_steps == plan.steps ? 0 : rounding_shift(plan, plan.steps);
  return shifted_sigma(plan, unlearning_steps, shift, total, distance);
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
  check_rows(rows, removed);
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

double moved_row_change(double gradient, double row_lipschitz, double distance) {
  if (!(gradient >= 0) || !(row_lipschitz >= 0) || !(distance >= 0))
    throw UsageError("bounds and distances of a moved row must be at least 0");
  return distance == 0 ? 0 : std::min(2 * gradient, row_lipschitz * distance);
}

double log_rewind_distance(const DescentPlan& plan, std::uint64_t unlearning_steps, BoundRule rule) {
  const double sum = log_power_sum(plan.step, unlearning_steps, plan.steps);
  const double misprint = rule == BoundRule::kPaper ? log_misprint(plan.step, 1) : 0;
  if (plan.change.total() == 0) return -kInfinity;
  return std::log(plan.step.size()) + std::log(plan.change.total()) -
         std::log(static_cast<double>(plan.change.rows())) + sum + misprint;
}

double rewind_distance(const DescentPlan& plan, std::uint64_t unlearning_steps, BoundRule rule) {
  return bound_from_log(log_rewind_distance(plan, unlearning_steps, rule));
}

double rewind_tail(const DescentPlan& plan, std::uint64_t unlearning_steps, double failure) {
  if (plan.batch == kFullBatch) throw UsageError("full batches have a sure bound: no tail is needed");
  check_steps(unlearning_steps, plan.steps);
  const double rate = plan.step.log_factor();
  const bool forgets_at_once = !std::isfinite(rate);  // gamma = 0: the step before the last weighs nothing
  WeightedSum sum{plan.steps - unlearning_steps, std::abs(rate), plan.batch, plan.change.fraction()};
  if (forgets_at_once) sum = {unlearning_steps == 0 && plan.steps > 0 ? 1U : 0U, 0, sum.draws, sum.mean};
  const double tail = tail_bound(sum, failure);
  return tail == 0 ? 0 : bound_from_log(log_largest_weight(plan, unlearning_steps) + std::log(tail));
}

double rounding_shift(const DescentPlan& plan, std::uint64_t taken) {
  if (plan.step_rounding == 0) return 0;
  return plan.step_rounding * (power_sum(plan.step, 0, plan.steps) + power_sum(plan.step, 0, taken));
}

double shifted_sigma(const DescentPlan& plan, std::uint64_t unlearning_steps, double shift, const PrivacyTarget& total,
                     DistanceRule distance) {
  check_plan(plan, total, distance);
  // Every mechanism is linear in the distance: taken at a distance near 1, none overflows before the last product.
  if (distance == DistanceRule::kTail) {
    const double scale = shift + rewind_tail(plan, unlearning_steps, total.delta / 2);
    if (scale == 0 || !std::isfinite(scale)) return scale;
    const auto tail = [&](double failure) { return (shift + rewind_tail(plan, unlearning_steps, failure)) / scale; };
    return std::max(tail_sigma(tail, total) * scale, std::numeric_limits<double>::min());
  }
  const double mean = shift + rewind_distance(plan, unlearning_steps);
  if (mean == 0) return 0;
  const double unit = distance == DistanceRule::kSure          ? sigma_of(1, total.epsilon, total.delta)
                      : distance == DistanceRule::kFirstMoment ? first_moment_sigma(1, total)
                                                               : mean_sigma(1, total);
  return std::max(unit * mean, std::numeric_limits<double>::min());
}

double rewind_sigma(const DescentPlan& plan, std::uint64_t unlearning_steps, const PrivacyTarget& total,
                    DistanceRule distance) {
  return checked_sigma(rewind_sigma_or_infinity(plan, unlearning_steps, total, distance));
}

std::uint64_t least_rewind_steps(const DescentPlan& plan, double sigma, const PrivacyTarget& total,
                                 DistanceRule distance) {
  check_sigma(sigma);
  check_plan(plan, total, distance);
  return least_count(0, plan.steps, [&](std::uint64_t steps) {
    return rewind_sigma_or_infinity(plan, steps, total, distance) <= sigma;
  });
}

std::uint64_t most_removable_rows(const DescentPlan& plan, std::uint64_t unlearning_steps, double sigma,
                                  const PrivacyTarget& total, DistanceRule distance) {
  check_sigma(sigma);
  DescentPlan trial = plan;
  const std::uint64_t too_many = least_count(0, plan.change.rows(), [&](std::uint64_t removed) {
    trial.change = DataChange::removal(plan.change.rows(), removed, plan.change.gradient());
    return rewind_sigma_or_infinity(trial, unlearning_steps, total, distance) > sigma;
  });
  return too_many == 0 ? 0 : too_many - 1;
}

void check_unprojected(const UnprojectedPlan& plan, BoundRule rule) {
  require_not_negative(plan.relative, "B");
  require_not_negative(plan.constant, "C");
  require_not_negative(plan.initial_loss, "the loss at the start");
  check_rows(plan.rows, plan.removed);
  if (rule == BoundRule::kCorrected && plan.relative > 0 &&
      plan.step.size() > 1 / (plan.step.smoothness() * plan.relative))
    throw UsageError("the step size must be at most 1 / (L B)");
}

namespace {

/// ln of eta times the sum of powers times `bracket`.
double scaled_sum(const UnprojectedPlan& plan, std::uint64_t unlearning_steps, double bracket, double log_factor) {
  const double sum = log_power_sum(plan.step, unlearning_steps, plan.steps);
  if (bracket == 0 || sum == -kInfinity) return 0;
  return bound_from_log(std::log(plan.step.size()) + sum + std::log(bracket) + log_factor);
}

/// B (2 l_0 / eta + L eta C (T - K)) >= B sum over t < T - K of E|grad mean loss|^2.
double gradient_energy(const UnprojectedPlan& plan, std::uint64_t unlearning_steps) {
  check_steps(unlearning_steps, plan.steps);
  if (plan.relative == 0) return 0;
  const double size = plan.step.size(), apart = static_cast<double>(plan.steps - unlearning_steps);
  return plan.relative * (2 / size * plan.initial_loss + plan.step.smoothness() * size * plan.constant * apart);
}

}  // namespace

double unprojected_rewind_distance(const UnprojectedPlan& plan, std::uint64_t unlearning_steps, BoundRule rule) {
  check_unprojected(plan, rule);
  const double n = static_cast<double>(plan.rows), m = static_cast<double>(plan.removed), kept = n - m;
  const double square =
      3 * gradient_energy(plan, unlearning_steps) * ((3 * n - m) / kept) + 6 * plan.constant * ((4 * n - 3 * m) / kept);
  const double misprint = rule == BoundRule::kPaper ? log_misprint(plan.step, 1 / plan.step.size()) : 0;
  return scaled_sum(plan, unlearning_steps, std::sqrt(square), misprint);
}

double coupled_unprojected_distance(const UnprojectedPlan& plan, std::uint64_t unlearning_steps) {
  check_unprojected(plan);
  const double n = static_cast<double>(plan.rows), m = static_cast<double>(plan.removed);
  const double reached = std::sqrt(m / n) + m / n * std::sqrt(n / (n - m));
  const double gradients = std::sqrt(gradient_energy(plan, unlearning_steps)) + std::sqrt(plan.constant);
  return scaled_sum(plan, unlearning_steps, reached * gradients, 0);
}

}  // namespace unweave
