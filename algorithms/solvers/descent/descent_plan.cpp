// algorithms/solvers/descent/descent_plan.cpp - steps of published and of finished descents as
// answers to `plan`.
#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/privacy/accounting/descent_to_delete.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/solvers/descent/descent_solver.h"
#include "algorithms/unlearning/planned_task.h"
#include "algorithms/unlearning/slot_constants.h"

namespace unweave {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double real(std::uint64_t count) {
  return static_cast<double>(count);
}

/// By T1: steps until the gradient is at most tau, from a distance of at most `start` to the
/// minimiser. Throws UsageError where the solver may refuse so many.
std::uint64_t steps_to(double start, double smoothness, double strong_convexity, double tau) {
  const double rate = 2 * strong_convexity / (smoothness + strong_convexity), log_rate = std::log1p(-rate);
  require_reachable(rate, smoothness * start, tau);
  return static_cast<std::uint64_t>(std::max(0.0, std::ceil(std::log(smoothness * start / tau) / -log_rate)));
}

/// What both forms of Descent-to-Delete share.
struct DescentTask {
  std::size_t rows;  ///< at least 1
  std::size_t features;
  std::size_t classes;
  SolverOptions options;
  double radius;
  LossConstants loss;
  bool public_state;
  std::size_t coordinates;
};

DescentTask descent_task(std::size_t rows, std::size_t features, std::size_t classes, const SolverOptions& options) {
  const double radius = minimiser_radius(options, classes);
  return {std::max<std::size_t>(1, rows),
          features,
          classes,
          options,
          radius,
          loss_constants(options, radius, classes),
          descent_parameters().read(options.parameters).public_state,
          std::max<std::size_t>(1, features * classes)};
}

UnlearningPlan plan_printed_descent(UnlearningPlan plan, const DescentTask& task) {
  const SolverOptions& options = task.options;
  const PublishedDescent published = published_descent(task.rows, task.features, task.classes, options);
  const DescentToDelete accountant(task.rows, options.lambda, task.loss.smoothness, task.loss.data_gradient);
  plan.learning = published.learning_steps;
  plan.constants.emplace_back("sigma",
                              noise_of_sigma(published.sigma, task.coordinates, options.epsilon, options.delta).sigma);
  plan.constants.emplace_back("request_steps", real(published.request_steps));
  plan.rules = {"as printed"};
  // Steps of `count` updates after the first `before`. There is one update for each row, and one
  // where no row left.
  const auto steps_of = [=](std::uint64_t steps, std::uint64_t before, std::uint64_t count) {
    if (!task.public_state) return count * steps;
    std::uint64_t sum = 0;
    for (std::uint64_t i = before + 1; i <= before + count; ++i)
      sum += accountant.private_request_steps(steps, task.coordinates, i, task.options.delta);
    return sum;
  };
  plan.fewest = [=](std::uint64_t removed, double epsilon) -> std::optional<std::uint64_t> {
    SolverOptions other = task.options;
    other.epsilon = epsilon;
    if (epsilon != task.options.epsilon) {
      other.parameters.erase("request-steps");
      other.parameters["sigma"] = published.sigma;
    }
    const PublishedDescent same_noise = published_descent(task.rows, task.features, task.classes, other);
    return steps_of(same_noise.request_steps, 0, std::max<std::uint64_t>(1, removed));
  };
  plan.noise = [=](std::uint64_t, std::uint64_t steps) {
    const double epsilon = task.options.epsilon, delta = task.options.delta;
    if (!task.public_state) return std::vector<double>{accountant.state_sigma(steps, epsilon, delta)};
    const bool enough = steps >= accountant.private_steps(task.coordinates, epsilon, delta);
    return std::vector<double>{enough ? accountant.private_sigma(steps, epsilon, delta) : kInfinity};
  };
  plan.sequence = [=](std::span<const std::uint64_t> batches) {
    std::vector<std::uint64_t> counts;
    std::uint64_t before = 0;
    for (const std::uint64_t removed : batches) {
      const std::uint64_t updates = std::max<std::uint64_t>(1, removed);
      counts.push_back(steps_of(published.request_steps, before, updates));
      before += updates;
    }
    return counts;
  };
  return plan;
}

/// At most these, rounding left out: a removed row takes its gradient and its share of the
/// regulariser out of F.
UnlearningPlan plan_finished_descent(UnlearningPlan plan, const DescentTask& task) {
  const double tau = task.options.tau, lambda = task.options.lambda, smoothness = task.loss.smoothness;
  const double mu = lambda * real(task.rows);
  const auto left = [=](std::uint64_t removed) { return std::max(1.0, real(task.rows) - real(removed)); };
  const auto start = [=](std::uint64_t removed) {
    return real(removed) * (task.loss.data_gradient + lambda * task.radius) / (lambda * left(removed));
  };
  const auto noise_of = [=](double epsilon) { return sigma_of(1, epsilon, task.options.delta) / mu; };  // over tau
  const double noisy = task.public_state ? std::sqrt(real(task.coordinates)) + 7 : 0;
  plan.learning = steps_to(task.radius, smoothness * real(task.rows), mu, tau);
  plan.constants.emplace_back(
      "sigma", plan_output_noise(tau / mu, task.coordinates, task.options.epsilon, task.options.delta).sigma);
  plan.rules = {"finished to tau"};
  plan.fewest = [=](std::uint64_t removed, double epsilon) -> std::optional<std::uint64_t> {
    const double distance = start(removed) + tau / mu + noisy * noise_of(epsilon) * tau;
    return steps_to(std::min(2 * task.radius, distance), smoothness * left(removed), lambda * left(removed), tau);
  };
  plan.noise = [=](std::uint64_t removed, std::uint64_t steps) {
    const double smooth = smoothness * left(removed), own_mu = lambda * left(removed);
    const double rate = std::exp(real(steps) * std::log1p(-2 * own_mu / (smooth + own_mu)));
    const double sigma = noise_of(task.options.epsilon) * mu / own_mu;  // over tau
    // tau = smooth rate (start + tau / mu + noise), solved for tau.
    const double own = 1 - smooth * rate * (1 / mu + noisy * noise_of(task.options.epsilon));
    return std::vector<double>{own > 0 ? sigma * smooth * rate * start(removed) / own : kInfinity};
  };
  plan.sequence = [fewest = plan.fewest, epsilon = task.options.epsilon](std::span<const std::uint64_t> batches) {
    std::vector<std::uint64_t> counts;
    for (const std::uint64_t removed : batches) counts.push_back(*fewest(removed, epsilon));
    return counts;
  };
  return plan;
}

}  // namespace

UnlearningPlan plan_descent(const PlannedTask& planned) {
  const SolverOptions& options = planned.options;
  const DescentTask task = descent_task(planned.rows, planned.shape.features, planned.shape.classes, options);
  UnlearningPlan plan;
  plan.unit = "steps";
  plan.constants = {{"slots", real(task.rows)},
                    {"radius", task.radius},
                    {"gradient_bound", task.loss.data_gradient},
                    {"smoothness", task.loss.smoothness}};
  return options.bound == BoundRule::kPaper ? plan_printed_descent(std::move(plan), task)
                                            : plan_finished_descent(std::move(plan), task);
}

}  // namespace unweave
