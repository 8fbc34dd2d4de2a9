// algorithms/solvers/registry/unlearning_plan.cpp - the accountants of the solvers behind one face.
#include "algorithms/solvers/registry/unlearning_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/privacy/accounting/descent_to_delete.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/solvers/descent/descent_solver.h"
#include "algorithms/solvers/rewind/rewind_account.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double real(std::uint64_t count) {
  return static_cast<double>(count);
}

std::vector<std::pair<std::string, double>> constants_of(const SlotRun& run, const NoisySgd& sgd) {
  return {{"slots", real(run.slots)},
          {"batch_rows", real(run.batch_rows)},
          {"batches", real(sgd.batches())},
          {"step_size", run.step_size},
          {"radius", run.radius},
          {"gradient_bound", sgd.constants().gradient_bound},
          {"smoothness", sgd.constants().smoothness}};
}

UnlearningPlan plan_langevin(bool full, std::size_t rows, std::size_t classes, const SolverOptions& options) {
  const LangevinConstants constants = choose_constants(full, rows, classes, options);
  const NoisySgd sgd = noisy_sgd_of(constants, options, classes);
  const LangevinAccountant accountant = accountant_of(constants, sgd, options);
  const double weight = removed_row_weight(sgd, options);
  const auto distance = [sgd, rows, weight](std::uint64_t removed) {
    const std::uint64_t most = std::min<std::uint64_t>(removed, rows);
    return stationary_distance(sgd, packed_shift(sgd, most, weight));
  };
  UnlearningPlan plan;
  plan.unit = "epochs";
  plan.learning = constants.epochs;
  plan.constants = constants_of(constants, sgd);
  plan.constants.emplace_back("sigma", constants.sigma);
  plan.rules = {"sigma"};
  plan.fewest = [=](std::uint64_t removed, double epsilon) {
    return request_epochs(constants, accountant, distance(removed), epsilon);
  };
  plan.noise = [=](std::uint64_t removed, std::uint64_t epochs) {
    return std::vector<double>{accountant.smallest_sigma(distance(removed), epochs, options.epsilon)};
  };
  plan.sequence = [=](std::span<const std::uint64_t> batches) {
    std::vector<std::uint64_t> counts;
    double before = 0;
    std::uint64_t last = 0;
    for (const std::uint64_t removed : batches) {
      const double own = distance(removed);
      const double apart = last == 0 ? own : following_distance(sgd, before, last, own);
      const std::optional<std::uint64_t> epochs = request_epochs(constants, accountant, apart, options.epsilon);
      before = epochs ? apart : 0;
      last = epochs.value_or(0);
      counts.push_back(epochs.value_or(constants.epochs));
    }
    return counts;
  };
  return plan;
}

UnlearningPlan plan_rewind(bool descend, std::size_t rows, std::size_t features, std::size_t classes,
                           const SolverOptions& options) {
  const RewindConstants constants = choose_rewind_constants(descend, rows, features, classes, options);
  const RewindAccount account(descend, constants, features, classes, options);
  const auto change = [=](std::uint64_t removed) {
    return account.worst_change(std::min<std::uint64_t>(removed, constants.slots));
  };
  const std::vector<std::uint64_t> kept = account.kept_epochs();
  const auto fewest_of = [descend, kept](const RewindAccount& of, const RunChange& all) {
    const std::optional<std::uint64_t> least = of.fewest_epochs(all);
    if (descend || !least) return least;
    const auto from = std::lower_bound(kept.begin(), kept.end(), *least);
    return from == kept.end() ? std::nullopt : std::optional(*from);
  };
  UnlearningPlan plan;
  plan.unit = "epochs";
  plan.learning = constants.epochs;
  plan.constants = constants_of(constants, account.sgd());
  plan.constants.emplace_back("sigma", account.noise().sigma);
  plan.constants.emplace_back("distance", account.noise().distance);
  plan.constants.emplace_back("rounding", account.rounding());
  plan.constants.emplace_back("sampling", static_cast<double>(constants.sampling));
  if (!descend) plan.constants.emplace_back("iterates", real(kept.size()));
  plan.rules = {"batches in turn", "drawn, tail", "drawn, mean", "as printed"};
  plan.fewest = [=](std::uint64_t removed, double epsilon) {
    SolverOptions other = options;
    other.epsilon = epsilon;
    const OutputNoise noise = noise_of_sigma(constants.sigma, features * classes, epsilon, other.delta);
    if (!(account.rounding() < noise.distance)) return std::optional<std::uint64_t>();
    return fewest_of(RewindAccount(descend, constants, features, classes, other), change(removed));
  };
  plan.noise = [=](std::uint64_t removed, std::uint64_t epochs) {
    RewindConstants in_turn = constants;
    in_turn.sampling = Sampling::kInTurn;
    const RewindAccount sure(descend, in_turn, features, classes, options);
    const OutputNoise& noise = sure.noise();
    const RunChange all = change(removed);
    if (epochs == constants.epochs && !descend) return std::vector<double>(4, 0.0);
    return std::vector<double>{noise.sigma * sure.distance(all, epochs) / noise.distance,
                               account.drawn_sigma(all, epochs, DistanceRule::kTail),
                               account.drawn_sigma(all, epochs, DistanceRule::kMean),
                               account.printed_sigma(all, epochs)};
  };
  plan.sequence = [=](std::span<const std::uint64_t> batches) {
    std::vector<std::uint64_t> counts;
    std::uint64_t gone = 0;
    for (const std::uint64_t removed : batches) {
      gone += removed;
      const std::optional<std::uint64_t> epochs = fewest_of(account, change(gone));
      if (!epochs) gone = 0;
      counts.push_back(epochs.value_or(constants.epochs));
    }
    return counts;
  };
  return plan;
}

/// By T1: steps until the gradient is at most tau, from a distance of at most `start` to the minimiser. Throws UsageError
/// where the solver may refuse so many.
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
  const double radius = std::sqrt(2 * loss_constants(options, 0, classes).loss_at_zero / options.lambda);
  return {std::max<std::size_t>(1, rows),
          features,
          classes,
          options,
          radius,
          loss_constants(options, radius, classes),
          *parameter(options, kDescentParameters[0]) == 1,
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
  // Of `count` updates after the first `before`: one for each row, and one where none left.
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

/// At most these, rounding left out: a removed row takes its gradient and its share of the regulariser out of F.
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

UnlearningPlan plan_descent(std::size_t rows, std::size_t features, std::size_t classes, const SolverOptions& options) {
  const DescentTask task = descent_task(rows, features, classes, options);
  UnlearningPlan plan;
  plan.unit = "steps";
  plan.constants = {{"slots", real(task.rows)},
                    {"radius", task.radius},
                    {"gradient_bound", task.loss.data_gradient},
                    {"smoothness", task.loss.smoothness}};
  return options.bound == BoundRule::kPaper ? plan_printed_descent(std::move(plan), task)
                                            : plan_finished_descent(std::move(plan), task);
}

}  // namespace

UnlearningPlan plan_unlearning(std::string_view solver, std::size_t rows, std::size_t features, std::size_t classes,
                               const SolverOptions& options) {
  static_cast<void>(make_solver(solver, options));
  if (solver == "langevin" || solver == "langevin-full")
    return plan_langevin(solver == "langevin-full", rows, classes, options);
  if (solver == "rewind" || solver == "descend")
    return plan_rewind(solver == "descend", rows, features, classes, options);
  if (solver == "descent-to-delete") return plan_descent(rows, features, classes, options);
  throw UsageError("what " + std::string(solver) +
                   " costs depends on the data; plan knows langevin, langevin-full, descent-to-delete, rewind, descend "
                   "and hessian-free");
}

}  // namespace unweave
