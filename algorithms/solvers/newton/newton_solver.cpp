// algorithms/solvers/newton/newton_solver.cpp - minimise to tau, add discrete Gaussian noise,
// forget the iterate.
#include "algorithms/solvers/newton/newton_solver.h"

#include <string>
#include <utility>

#include "algorithms/learning/newton.h"
#include "algorithms/learning/spectral_norm.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/unlearning/checks/finished_checks.h"
#include "algorithms/unlearning/noiseless_solver.h"
#include "algorithms/unlearning/release.h"
#include "storage/io/message.h"

namespace unweave {
namespace {

class OutputPerturbation final : public Solver {
 public:
  OutputPerturbation(std::string_view name, bool warm, const SolverOptions& options, const SolverResources& resources)
      : name_(name), warm_(warm), options_(options), memory_(resources.memory) {}

  std::string_view name() const noexcept override { return name_; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    fit.model = blank_model(name_, options_, rows);
    fit.report = finish(fit.model, zero_weights(rows), rows, lazy);
    fit.report.retrained = !fit.report.flush_needed;
    if (fit.report.flush_needed) fit.model = Model{};
    return fit;
  }

  Fit fit_from(const GivenWeights& start, const TrainingSet& rows) const override {
    if (!warm_) return Solver::fit_from(start, rows);
    Fit fit;
    fit.model = blank_model(name_, options_, rows);
    if (start.gradient_bound <= options_.tau / 2)
      fit.report = release_given(fit.model, start, rows);
    else
      fit.report = finish(fit.model, start.weights, rows, {});
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, name_, after, change);
    return catch_up(model, after, lazy);
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name_, rows);
    StepReport report = finish(model, warm_ ? model.published : zero_weights(rows), rows, lazy);
    report.retrained = !warm_ && !report.flush_needed;
    return report;
  }

  bool reads_moved_rows() const noexcept override { return false; }

 private:
  static Matrix zero_weights(const TrainingSet& rows) {
    return Matrix::Zero(index_of(rows.features()), index_of(rows.classes()));
  }

  static StepReport refuse(StepReport report) {
    report.terms.add("approximation", report.residual_bound);
    report.flush_needed = true;
    return report;
  }

  [[nodiscard]] StepReport begin() const {
    StepReport report = begin_report(options_, kOutputNoise, options_.tau);
    report.reference = minimiser_with_noise(options_);
    report.scope = Scope::all_later;
    return report;
  }

  /// Weights that stand near enough as they are: nobody moves them.
  StepReport release_given(Model& model, const GivenWeights& given, const TrainingSet& rows) const {
    StepReport report = begin();
    report.residual_bound = given.gradient_bound;
    report.terms.add({{"residual", given.gradient_bound}, {"float_error", 0}, {"approximation", 0}});
    Matrix weights = given.weights;
    release_finished(model, weights, rows, report);
    return report;
  }

  void release_finished(Model& model, Matrix& weights, const TrainingSet& rows, StepReport& report) const {
    const double mu = strong_convexity(options_.lambda, rows.size());
    const OutputNoise noise =
        plan_output_noise(options_.tau / mu, size_of(weights.size()), options_.epsilon, options_.delta);
    publish_output_noise(report.terms, mu, noise);
    RandomSource random = noise_source(options_, model.releases);
    release_with_noise(model, weights, noise, random, rows);
    if (!options_.standardized) certify(report, "T1", least_delta(noise, options_.epsilon));
  }

  /// Half of tau is the reference's, since what `retrain` publishes stands as near to the
  /// minimiser; with a lazy embedding it pays for the stale rows instead.
  StepReport finish(Model& model, Matrix start, const TrainingSet& rows, const ApproximationError& lazy) const {
    StepReport report = begin();
    const double mu = strong_convexity(options_.lambda, rows.size());
    const Objective objective{rows.rows(), rows.classes(), options_.head, mu, nullptr};
    const double frobenius = frobenius_norm(objective.rows);
    if (!lazy.exact()) {  // one pass tells whether the minimisation could be worth its cost
      const Gradient at_start = gradient_with_error(objective, start);
      report.passes = 1;
      report.residual_bound = gradient_gap(options_.head, lazy, frobenius, at_start.slope_norm, start.norm());
      if (report.residual_bound > options_.tau) return refuse(std::move(report));
    }
    NewtonOptions newton;
    newton.tolerance = options_.tau / 2;
    newton.memory = memory_;
    NewtonResult done = minimise(objective, std::move(start), newton);
    report.passes += done.passes;
    report.steps = done.steps;
    const double gap = gradient_gap(options_.head, lazy, frobenius, done.gradient.slope_norm, done.weights.norm());
    report.residual_bound = done.residual + gap;
    report.terms.add({{"residual", done.gradient.norm}, {"float_error", done.gradient.error}, {"approximation", gap}});
    if (report.residual_bound > options_.tau) {
      wipe(done.weights.data(), size_of(done.weights.size()) * sizeof(double));
      return refuse(std::move(report));
    }
    release_finished(model, done.weights, rows, report);
    return report;
  }

  std::string name_;
  bool warm_;
  SolverOptions options_;
  std::size_t memory_;
};

const ParametersOf<SgdPlan>& retrain_parameters() {
  static const auto kTable = [] {
    ParametersOf<SgdPlan> table;
    table.for_networks();
    return add_sgd(table);
  }();
  return kTable;
}

std::unique_ptr<Solver> make_newton(const SolverOptions& options, const SolverResources& resources) {
  return std::make_unique<OutputPerturbation>(kNewton.name, true, options, resources);
}

std::unique_ptr<Solver> make_retrain(const SolverOptions& options, const SolverResources& resources) {
  if (options.hidden.empty()) return std::make_unique<OutputPerturbation>(kRetrain.name, false, options, resources);
  return std::make_unique<NoiselessSolver>(kRetrain.name, options, retrain_parameters().read(options.parameters),
                                           resources);
}

constexpr SolverKind kFinished{.trained = true,
                               .claims = true,
                               .over_ranks = true,
                               .check_certificate = check_finished_certificate,
                               .check_release = check_finished_release};

}  // namespace

constinit const SolverEntry kNewton{
    .name = "newton",
    .meaning =
        [] {
          return "Trains by Newton's method until the gradient is as small as " + option("tau") +
                 " says, adds noise, and after a removal goes on from where it was. Certified (theorem T1) for every "
                 "kind of request, also for requests chosen after looking at earlier models. The one to begin with.";
        },
    .theorem = "T1",
    .linear = kFinished,
    .tau = true,
    .any_start = true,
    .any_unit = true,
    .make = make_newton,
    .reserve = reserve_minimisation,
    .check_line = check_finished_line,
};

constinit const SolverEntry kRetrain{
    .name = "retrain",
    .meaning =
        [] {
          return std::string(
              "Trains again from nothing after every batch, with the noise of newton. Certified (T1). What the others are compared with.");
        },
    .theorem = "T1",
    .linear = kFinished,
    .networks = {.trained = true},
    .tau = true,
    .any_unit = true,
    .retrains = true,
    .parameters = []() -> const ParameterTable& { return retrain_parameters(); },
    .make = make_retrain,
    .reserve = reserve_minimisation,
    .check_line = check_finished_line,
};

}  // namespace unweave
