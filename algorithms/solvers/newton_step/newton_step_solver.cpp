// algorithms/solvers/newton_step/newton_step_solver.cpp - a step, the gradient that it leaves, a release.
#include "algorithms/solvers/newton_step/newton_step_solver.h"

#include <cmath>

#include "algorithms/learning/newton.h"
#include "algorithms/learning/removal_step.h"
#include "algorithms/privacy/output_noise.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

class NewtonStep final : public Solver {
 public:
  NewtonStep(std::string_view name, std::string_view paper, bool hessian_before, const SolverOptions& options)
      : name_(name),
        paper_(paper),
        hessian_before_(hessian_before),
        options_(options),
        damping_(parameter(options, kNewtonStepParameters[0]).value_or(0)) {
    if (damping_ < 0) throw UsageError("--set damping must be at least 0");
    if (options.parameters.size() > options.parameters.count("damping"))
      throw UsageError(name_ + " minimises a linear model to tau; but for damping, --set is for its --head mlp");
  }

  std::string_view name() const noexcept override { return name_; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    fit.model.solver = name_;
    fit.model.head = options_.head;
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
        1e-2 * options_.tau / std::sqrt(static_cast<double>(after.classes())), working_memory());
    clean += step.step;
    const Gradient gradient = gradient_with_error(now, clean);
    StepReport report = release(model, clean, gradient, after);
    report.passes = step.passes + 1;
    report.steps = 1;
    report.terms["step_norm"] = step.step.norm();
    report.terms["solver_error"] = step.missing.norm();
    return report;
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name_, rows);
    return lazy.exact() ? train(model, rows) : refuse();
  }

  bool reads_moved_rows() const noexcept override { return true; }

 private:
  [[nodiscard]] Objective objective_on(const TrainingSet& rows) const {
    return {rows.rows(), rows.classes(), options_.head, strong_convexity(options_.lambda, rows.size()), nullptr};
  }

  static Matrix clean_weights(const Model& model) {
    const auto at = model.state.arrays.find("clean");
    if (at == model.state.arrays.end() || at->second.size() != size_of(model.published.size()))
      throw UsageError("the model holds no weights without noise; train it again");
    return Eigen::Map<const Matrix>(at->second.data(), model.published.rows(), model.published.cols());
  }

  [[nodiscard]] StepReport blank_report() const {
    StepReport report;
    report.epsilon = options_.epsilon;
    report.delta = options_.delta;
    report.budget = options_.tau;
    report.for_tests = options_.seed.has_value();
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
    newton.memory = working_memory();
    const NewtonResult done =
        minimise(objective_on(rows), Matrix::Zero(index_of(rows.features()), index_of(rows.classes())), newton);
    StepReport report = release(model, done.weights, done.gradient, rows);
    report.retrained = true;
    report.passes = done.passes;
    report.steps = done.steps;
    return report;
  }

  /// Keeps the weights, and publishes them with noise for a gradient norm of tau, whatever it is.
  StepReport release(Model& model, const Matrix& clean, const Gradient& gradient, const TrainingSet& rows) const {
    StepReport report = blank_report();
    const double mu = strong_convexity(options_.lambda, rows.size());
    const OutputNoise noise =
        plan_output_noise(options_.tau / mu, size_of(clean.size()), options_.epsilon, options_.delta);
    report.residual_bound = gradient.norm + gradient.error;
    report.certified =
        !options_.standardized && options_.bound == BoundRule::kCorrected && report.residual_bound <= options_.tau;
    report.private_claim = true;
    report.claim = report.certified ? "T1" : "as published: " + std::string(paper_);
    report.terms = {{"residual", gradient.norm},
                    {"float_error", gradient.error},
                    {"approximation", 0},
                    {"damping", damping_},
                    {"mu", mu},
                    {"distance", noise.distance},
                    {"sensitivity", noise.sensitivity},
                    {"sigma", noise.sigma},
                    {"grid", noise.grid}};
    model.state.arrays["clean"].assign(clean.data(), clean.data() + clean.size());
    Matrix weights = clean;
    RandomSource random = noise_source(options_, model.releases);
    model.published = publish(weights, noise, random);
    model.trained_rows = rows.size();
    ++model.releases;
    return report;
  }

  std::string name_;
  std::string_view paper_;
  bool hessian_before_;
  SolverOptions options_;
  double damping_;
};

}  // namespace

std::unique_ptr<Solver> make_newton_step_solver(const SolverOptions& options) {
  if (!options.hidden.empty()) return make_network_step_solver("newton-step", false, options);
  return std::make_unique<NewtonStep>("newton-step", "Sekhari et al., one Newton step", false, options);
}

std::unique_ptr<Solver> make_jackknife_solver(const SolverOptions& options) {
  if (!options.hidden.empty()) return make_network_step_solver("jackknife", true, options);
  return std::make_unique<NewtonStep>("jackknife", "Suriyakumar and Wilson, infinitesimal jackknife", true, options);
}

}  // namespace unweave
