// algorithms/solvers/descent/descent_solver.cpp - steps to tau, or as many as published, and the
// release.
#include "algorithms/solvers/descent/descent_solver.h"

#include <algorithm>
#include <cmath>

#include "algorithms/learning/no_model_error.h"
#include "algorithms/learning/objective.h"
#include "algorithms/learning/spectral_norm.h"
#include "algorithms/privacy/accounting/descent_to_delete.h"
#include "algorithms/privacy/accounting/require.h"
#include "algorithms/privacy/accounting/search.h"
#include "algorithms/unlearning/checks/finished_checks.h"
#include "algorithms/unlearning/planned_task.h"
#include "algorithms/unlearning/release.h"
#include "algorithms/unlearning/slot_constants.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 40;

DescentToDelete accountant_of(std::size_t rows, const LossConstants& loss, const SolverOptions& options) {
  return {std::max<std::size_t>(1, rows), options.lambda, loss.smoothness, loss.data_gradient};
}

class DescentSolver final : public Solver {
 public:
  explicit DescentSolver(const SolverOptions& options)
      : options_(options),
        public_state_(descent_parameters().read(options.parameters).public_state),
        paper_(options.bound == BoundRule::kPaper) {}

  std::string_view name() const noexcept override { return kDescentToDelete.name; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    fit.model = blank_model(name(), options_, rows);
    if (paper_) {
      const PublishedDescent published = published_descent(rows.size(), rows.features(), rows.classes(), options_);
      fit.model.state.numbers = {{"request_steps", static_cast<double>(published.request_steps)},
                                 {"learning_steps", static_cast<double>(published.learning_steps)},
                                 {"sigma", published.sigma},
                                 {"requests", 0}};
    }
    const Matrix zero = Matrix::Zero(index_of(rows.features()), index_of(rows.classes()));
    if (paper_) {
      RandomSource random = noise_source(options_, fit.model.releases);
      fit.report = publish_as_printed(fit.model, zero, learning_steps(fit.model), rows, random);
    } else {
      fit.report = finish(fit.model, zero, rows, lazy);
    }
    fit.report.retrained = !fit.report.flush_needed;
    if (fit.report.flush_needed) fit.model = Model{};
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, name(), after, change);
    if (!paper_) return finish(model, start_of(model), after, lazy);
    const std::size_t updates = std::max<std::size_t>(1, change.removed.size());
    // Each is one update in the paper, with noise of its own; the last one alone is seen, and it is
    // one release.
    const std::uint64_t releases = model.releases;
    RandomSource random = noise_source(options_, releases);
    StepReport report;
    for (std::size_t i = 0; i < updates; ++i)
      report = publish_as_printed(model, start_of(model), request_steps(model), after, random);
    model.releases = releases + 1;
    return report;
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name(), rows);
    if (!paper_) return finish(model, start_of(model), rows, lazy);
    const Matrix zero = Matrix::Zero(model.published.rows(), model.published.cols());
    RandomSource random = noise_source(options_, model.releases);
    StepReport report = publish_as_printed(model, zero, learning_steps(model), rows, random);
    report.retrained = true;
    return report;
  }

  bool reads_moved_rows() const noexcept override { return false; }

  void require_state(const Model& model) const override { static_cast<void>(start_of(model)); }

 private:
  [[nodiscard]] Matrix start_of(const Model& model) const {
    if (public_state_) return model.published;
    const std::vector<double>& kept = model.state.array("iterate");
    if (kept.size() != size_of(model.published.size())) throw UsageError("the model holds no iterate; train it again");
    return Eigen::Map<const Matrix>(kept.data(), model.published.rows(), model.published.cols());
  }

  void keep(Model& model, const Matrix& weights) const {
    if (!public_state_) model.state.arrays["iterate"] = {weights.data(), weights.data() + weights.size()};
  }

  static std::uint64_t learning_steps(const Model& model) { return model.state.count("learning_steps"); }
  /// Steps of the next request. Theorem 28 adds steps that grow with the number of requests so far.
  [[nodiscard]] std::uint64_t request_steps(Model& model) const {
    const std::uint64_t steps = model.state.count("request_steps"), requests = model.state.count("requests") + 1;
    model.state.numbers["requests"] = static_cast<double>(requests);
    if (!public_state_) return steps;
    const LossConstants loss = loss_constants(options_, 0, size_of(model.published.cols()));
    return accountant_of(model.trained_rows, loss, options_)
        .private_request_steps(steps, size_of(model.published.size()), requests, options_.delta);
  }

  struct Descent {
    Objective objective;
    double step;
    double radius;
  };
  [[nodiscard]] Descent descent_on(const TrainingSet& rows) const {
    const double mu = strong_convexity(options_.lambda, rows.size());
    const double most = smoothness(options_.head).curvature * static_cast<double>(rows.size()) *
                        rows.form().norm_bound() * rows.form().norm_bound();
    return {Objective{rows.rows(), rows.classes(), options_.head, mu, nullptr}, 2 / (most + 2 * mu),
            minimiser_radius(options_, rows.classes())};
  }
  static void take_step(const Descent& descent, const Matrix& gradient, Matrix& weights) {
    weights -= descent.step * gradient;
    const double norm = weights.norm();
    if (norm > descent.radius) weights *= descent.radius / norm;
  }

  /// T1: half of tau pays for a lazy embedding, if there is one.
  StepReport finish(Model& model, Matrix weights, const TrainingSet& rows, const ApproximationError& lazy) const {
    if (rows.form().clip > 1) throw UsageError("descent-to-delete needs rows clipped to norm 1");
    const Descent descent = descent_on(rows);
    const double frobenius = frobenius_norm(descent.objective.rows);
    const double tolerance = lazy.exact() ? options_.tau : options_.tau / 2;
    StepReport report = begin_report(options_, kOutputNoise, options_.tau);
    report.reference = minimiser_with_noise(options_);
    if (public_state_) report.scope = Scope::all_later;
    Gradient gradient = gradient_with_error(descent.objective, weights);
    double gap = 0;
    const auto residual_of = [&] {
      gap = gradient_gap(options_.head, lazy, frobenius, gradient.slope_norm, weights.norm());
      return gradient.norm + gradient.error;
    };
    double residual = residual_of(), least = residual;
    if (gap > options_.tau - tolerance) {
      report.residual_bound = residual + gap;
      report.terms.add("approximation", gap);
      report.flush_needed = true;
      return report;
    }
    // The distance to the minimiser falls by 1 - rate a step: where several times 1 / rate steps
    // bring no smaller gradient, only rounding is left.
    const double rate = descent.step * descent.objective.mu;
    const std::uint64_t patience = 10 + static_cast<std::uint64_t>(4 / rate);
    require_reachable(rate, residual, tolerance);
    const WatchedStep watched("descent", 0, "steps");
    for (std::uint64_t stalled = 0; residual > tolerance; ++report.passes) {
      if (++stalled > patience)
        throw NoModelError("full gradients do not reach " + option("tau", shown(tolerance)) + " in float64, only " +
                           shown(least) + "; use a larger " + option("tau") + " or " + option("lambda"));
      take_step(descent, gradient.value, weights);
      gradient = gradient_with_error(descent.objective, weights);
      residual = residual_of();
      if (watched.watched()) watched.note("gradient " + shown(residual) + ", to come to " + shown(tolerance));
      watched.advance(1);
      if (residual < least) {
        least = residual;
        stalled = 0;
      }
    }
    report.steps = report.passes;
    ++report.passes;
    report.residual_bound = residual + gap;
    if (report.residual_bound > options_.tau) {
      report.terms.add("approximation", gap);
      report.flush_needed = true;
      return report;
    }
    const double mu = descent.objective.mu;
    const OutputNoise noise =
        plan_output_noise(options_.tau / mu, size_of(weights.size()), options_.epsilon, options_.delta);
    keep(model, weights);
    report.terms.add({{"residual", gradient.norm},
                      {"float_error", gradient.error},
                      {"approximation", gap},
                      {"public_state", public_state_ ? 1 : 0}});
    publish_output_noise(report.terms, mu, noise);
    RandomSource random = noise_source(options_, model.releases);
    release_with_noise(model, weights, noise, random, rows);
    if (!options_.standardized) certify(report, "T1", least_delta(noise, options_.epsilon));
    return report;
  }

  StepReport publish_as_printed(Model& model, Matrix weights, std::uint64_t steps, const TrainingSet& rows,
                                RandomSource& random) const {
    const Descent descent = descent_on(rows);
    const WatchedStep watched("descent", steps, "steps");
    for (std::uint64_t i = 0; i < steps; ++i) {
      take_step(descent, gradient_with_error(descent.objective, weights).value, weights);
      watched.advance(1);
    }
    keep(model, weights);
    const OutputNoise noise =
        noise_of_sigma(model.state.number("sigma"), size_of(weights.size()), options_.epsilon, options_.delta);
    release_with_noise(model, weights, noise, random, rows);

    StepReport report = begin_report(options_, kOutputNoise, noise.distance);
    report.reference =
        present_objective(options_) +
        "learning_steps of W <- P_R(W - 2 / (L + mu) grad F(W)) from W = 0; published: the last W rounded "
        "to the grid, plus fresh discrete Gaussian noise of variance sigma^2 on every coordinate";
    report.residual_bound = noise.distance;  // by the paper's account, whatever moved
    report.passes = report.steps = static_cast<int>(std::min<std::uint64_t>(steps, 0x7fffffff));
    report.terms.add({{"steps", static_cast<double>(steps)},
                      {"request_steps", model.state.number("request_steps")},
                      {"learning_steps", model.state.number("learning_steps")},
                      {"public_state", public_state_ ? 1 : 0}});
    publish_output_noise(report.terms, descent.objective.mu, noise);
    report.claim = public_state_
                       ? "as published: Neel, Roth and Sharifi-Malvajerdi, Theorem 28; rows that moved are not in it"
                       : "as published: Neel, Roth and Sharifi-Malvajerdi, Theorem 9; rows that moved are not in it";
    return report;
  }

  SolverOptions options_;
  bool public_state_;
  bool paper_;
};

std::unique_ptr<Solver> make(const SolverOptions& options, const SolverResources&) {
  return std::make_unique<DescentSolver>(options);
}

}  // namespace

const ParametersOf<DescentParameters>& descent_parameters() {
  using P = DescentParameters;
  static const auto kTable =
      ParametersOf<P>()
          .add<&P::public_state>("public-state", Values::flag(),
                                 "0: the iterate is kept as a secret; 1: requests go on from the published weights")
          .add<&P::request_steps>("request-steps", Values::whole(1, static_cast<double>(kMostSteps)),
                                  "with " + option("bound", "paper") + ": steps of a request")
          .add<&P::sigma>(
              "sigma", Values::positive(),
              "with " + option("bound", "paper") + ", unless request-steps is given: noise on every published weight");
  return kTable;
}

void require_reachable(double rate, double residual, double tolerance) {
  if (residual <= tolerance) return;
  // The norm of the gradient is at most L/mu (1 - rate)^k times the one at the start.
  const double steps = std::log(2 / rate * (residual / tolerance)) / rate;
  if (!(steps <= static_cast<double>(kMostPasses)))
    throw UsageError("so weak a lambda may ask for " + shown(steps) + " full gradients; raise " + option("lambda") +
                     " or " + option("tau"));
}

PublishedDescent published_descent(std::size_t rows, std::size_t features, std::size_t classes,
                                   const SolverOptions& options) {
  const double radius = minimiser_radius(options, classes);
  const DescentToDelete accountant = accountant_of(rows, loss_constants(options, radius, classes), options);
  const DescentParameters given = descent_parameters().read(options.parameters);
  const bool public_state = given.public_state;
  const std::uint64_t dimension = std::max<std::size_t>(1, features * classes);
  const auto sigma_of_steps = [&](std::uint64_t steps) {
    return public_state ? accountant.private_sigma(steps, options.epsilon, options.delta)
                        : accountant.state_sigma(steps, options.epsilon, options.delta);
  };
  PublishedDescent published;
  const std::uint64_t least =
      public_state ? accountant.private_steps(dimension, options.epsilon, options.delta) : std::uint64_t{1};
  if (given.request_steps) {
    if (*given.request_steps < least)
      throw UsageError("Theorem 28 needs " + option("set", "request-steps") + " of at least " + std::to_string(least));
    published.request_steps = *given.request_steps;
  } else {
    const double sigma = given.sigma;
    published.request_steps = least;
    const auto found =
        fewest(kMostSteps, [&](std::uint64_t count) { return count >= least && sigma_of_steps(count) <= sigma; });
    if (!found) throw UsageError(option("set", "sigma") + " is too small: no number of steps comes down to it");
    published.request_steps = *found;
  }
  published.sigma = sigma_of_steps(published.request_steps);
  published.learning_steps = accountant.learning_steps(published.request_steps, radius);
  return published;
}

constinit const SolverEntry kDescentToDelete{
    .name = "descent-to-delete",
    .meaning =
        [] {
          return std::string(
              "Gradient descent with the gradient of all rows, and noise on what is published. Certified (T1), after many cheap steps.");
        },
    .theorem = "T1",
    .linear = {.trained = true,
               .claims = true,
               .over_ranks = true,
               .check_certificate = check_descent,
               .check_release = check_descent_release},
    .printed = true,
    .tau = true,
    .first_order = true,
    .parameters = []() -> const ParameterTable& { return descent_parameters(); },
    .make = make,
    .reserve = reserve_minimisation,
    .check_line = check_finished_line,
    .plan = plan_descent,
};

}  // namespace unweave
