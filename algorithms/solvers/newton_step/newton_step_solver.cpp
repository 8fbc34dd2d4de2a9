// algorithms/solvers/newton_step/newton_step_solver.cpp - a step, the gradient that it leaves, a
// release.
#include "algorithms/solvers/newton_step/newton_step_solver.h"

#include <cmath>

#include "algorithms/learning/newton.h"
#include "algorithms/learning/removal_step.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/unlearning/checks/finished_checks.h"
#include "algorithms/unlearning/release.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

class NewtonStep final : public Solver {
 public:
  NewtonStep(std::string_view name, std::string_view paper, bool hessian_before, const SolverOptions& options,
             double damping, const SolverResources& resources)
      : name_(name),
        paper_(paper),
        hessian_before_(hessian_before),
        options_(options),
        damping_(damping),
        memory_(resources.memory) {}

  std::string_view name() const noexcept override { return name_; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    fit.model = blank_model(name_, options_, rows);
    fit.report = lazy.exact() ? train(fit.model, rows) : refuse();
    if (fit.report.flush_needed) fit.model = Model{};
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, name_, after, change);
    if (!lazy.exact()) return refuse();
    Matrix clean = clean_weights(model);
    const Objective now = objective_on(after);
    const double damping =
        damping_ * static_cast<double>(std::max<std::size_t>(1, hessian_before_ ? model.trained_rows : after.size()));
    const RemovalStep step = solve_removal(
        {now, clean, strong_convexity(options_.lambda, model.trained_rows), change, hessian_before_, damping}, 0,
        1e-2 * options_.tau / std::sqrt(static_cast<double>(after.classes())), memory_);
    clean += step.step;
    const Gradient gradient = gradient_with_error(now, clean);
    StepReport report = publish(model, clean, gradient, after);
    report.passes = step.passes + 1;
    report.steps = 1;
    report.terms.add({{"step_norm", step.step.norm()}, {"solver_error", step.missing.norm()}});
    return report;
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name_, rows);
    return lazy.exact() ? train(model, rows) : refuse();
  }

  bool reads_moved_rows() const noexcept override { return true; }

  void require_state(const Model& model) const override { static_cast<void>(clean_weights(model)); }

 private:
  [[nodiscard]] Objective objective_on(const TrainingSet& rows) const {
    return {rows.rows(), rows.classes(), options_.head, strong_convexity(options_.lambda, rows.size()), nullptr};
  }

  static Matrix clean_weights(const Model& model) {
    const std::vector<double>& kept = model.state.array("clean");
    if (kept.size() != size_of(model.published.size()))
      throw UsageError("the model holds no weights without noise; train it again");
    return Eigen::Map<const Matrix>(kept.data(), model.published.rows(), model.published.cols());
  }

  [[nodiscard]] StepReport blank_report() const {
    StepReport report = begin_report(options_, kOutputNoise, options_.tau);
    report.reference = minimiser_with_noise(options_);
    return report;
  }

  [[nodiscard]] StepReport refuse() const {
    StepReport report = blank_report();
    report.flush_needed = true;
    return report;
  }

  StepReport train(Model& model, const TrainingSet& rows) const {
    NewtonOptions newton;
    newton.tolerance = options_.tau;
    newton.memory = memory_;
    const NewtonResult done =
        minimise(objective_on(rows), Matrix::Zero(index_of(rows.features()), index_of(rows.classes())), newton);
    StepReport report = publish(model, done.weights, done.gradient, rows);
    report.retrained = true;
    report.passes = done.passes;
    report.steps = done.steps;
    return report;
  }

  /// Keeps the weights, and publishes them with noise for a gradient norm of tau, whatever it is.
  StepReport publish(Model& model, const Matrix& clean, const Gradient& gradient, const TrainingSet& rows) const {
    StepReport report = blank_report();
    const double mu = strong_convexity(options_.lambda, rows.size());
    const OutputNoise noise =
        plan_output_noise(options_.tau / mu, size_of(clean.size()), options_.epsilon, options_.delta);
    report.residual_bound = gradient.norm + gradient.error;
    report.private_claim = true;
    report.claim = "as published: " + std::string(paper_);
    if (!options_.standardized && options_.bound == BoundRule::kCorrected && report.residual_bound <= options_.tau)
      certify(report, "T1", least_delta(noise, options_.epsilon));
    report.terms.add(
        {{"residual", gradient.norm}, {"float_error", gradient.error}, {"approximation", 0}, {"damping", damping_}});
    publish_output_noise(report.terms, mu, noise);
    model.state.arrays["clean"].assign(clean.data(), clean.data() + clean.size());
    Matrix weights = clean;
    RandomSource random = noise_source(options_, model.releases);
    release_with_noise(model, weights, noise, random, rows);
    return report;
  }

  std::string name_;
  std::string_view paper_;
  bool hessian_before_;
  SolverOptions options_;
  double damping_;
  std::size_t memory_;
};

const ParametersOf<NewtonStepParameters>& newton_step_parameters() {
  using P = NewtonStepParameters;
  static const auto kTable =
      ParametersOf<P>()
          .add<&P::damping>("damping", Values::at_least(0),
                            "added to the mean of the rows' Hessians; 0, of " + option("head", "mlp") +
                                " 0.01, four times as much where that does not curve upward")
          .for_networks()
          .add<&P::epochs>("epochs", Values::whole(1), "times that SGD takes all rows (" + option("head", "mlp") + ")")
          .add<&P::batch_rows>("batch-rows", Values::whole(1), "rows of a step (" + option("head", "mlp") + ")")
          .add<&P::step_size>("step-size", Values::positive(),
                              "of the first step of SGD (" + option("head", "mlp") + ")")
          .add<&P::decay>("decay", Values::fraction(),
                          "factor of the step size from step to step (" + option("head", "mlp") + ")");
  return kTable;
}

std::unique_ptr<Solver> make_step(std::string_view name, std::string_view paper, bool hessian_before,
                                  const SolverOptions& options, const SolverResources& resources) {
  const NewtonStepParameters parameters = newton_step_parameters().read(options.parameters);
  if (!options.hidden.empty()) return make_network_step(name, hessian_before, options, parameters);
  return std::make_unique<NewtonStep>(name, paper, hessian_before, options, parameters.damping.value_or(0), resources);
}

std::unique_ptr<Solver> make_newton_step(const SolverOptions& options, const SolverResources& resources) {
  return make_step(kNewtonStep.name, "Sekhari et al., one Newton step", false, options, resources);
}

std::unique_ptr<Solver> make_jackknife(const SolverOptions& options, const SolverResources& resources) {
  return make_step(kJackknife.name, "Suriyakumar and Wilson, infinitesimal jackknife", true, options, resources);
}

Reservation reserve_step(const SolverOptions& options, const Model& model, const TrainingSet& rows,
                         MemoryBudget& budget) {
  return options.hidden.empty() ? reserve_minimisation(options, model, rows, budget)
                                : reserve_network_step(options, rows, budget);
}

constexpr SolverKind kLinear{.trained = true,
                             .claims = true,
                             .over_ranks = true,
                             .check_certificate = check_finished_certificate,
                             .check_release = check_finished_release};

}  // namespace

constinit const SolverEntry kNewtonStep{
    .name = "newton-step",
    .meaning =
        [] {
          return "One Newton step towards the rows that are left. Certified (T1) only where it happens to end as near to the minimum as " +
                 option("tau") + " says.";
        },
    .linear = kLinear,
    .networks = {.trained = true, .follows_run = true},
    .printed = true,
    .tau = true,
    .parameters = []() -> const ParameterTable& { return newton_step_parameters(); },
    .make = make_newton_step,
    .reserve = reserve_step,
};

constinit const SolverEntry kJackknife{
    .name = "jackknife",
    .meaning =
        [] {
          return "The infinitesimal jackknife: one Newton step with the Hessian of the rows as they were. Certified "
                 "(T1) only where it happens to end as near to the minimum as " +
                 option("tau") + " says.";
        },
    .linear = kLinear,
    .networks = {.trained = true, .follows_run = true},
    .printed = true,
    .tau = true,
    .parameters = []() -> const ParameterTable& { return newton_step_parameters(); },
    .make = make_jackknife,
    .reserve = reserve_step,
};

}  // namespace unweave
