// algorithms/solvers/newton/newton_solver.cpp - minimise to tau, add discrete Gaussian noise, forget the iterate.
#include "algorithms/solvers/newton/newton_solver.h"

#include "algorithms/learning/newton.h"
#include "algorithms/learning/spectral_norm.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/solvers/references/sgd_solvers.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

class OutputPerturbation final : public Solver {
 public:
  OutputPerturbation(std::string_view name, bool warm, const SolverOptions& options)
      : name_(name), warm_(warm), options_(options) {}

  std::string_view name() const noexcept override { return name_; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    fit.model.solver = name_;
    fit.model.head = options_.head;
    fit.report = release(fit.model, zero_weights(rows), rows, lazy);
    fit.report.retrained = !fit.report.flush_needed;
    if (fit.report.flush_needed) fit.model = Model{};
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, name_, after, change);
    return catch_up(model, after, lazy);
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name_, rows);
    StepReport report = release(model, warm_ ? model.published : zero_weights(rows), rows, lazy);
    report.retrained = !warm_ && !report.flush_needed;
    return report;
  }

  bool reads_moved_rows() const noexcept override { return false; }

 private:
  static Matrix zero_weights(const TrainingSet& rows) {
    return Matrix::Zero(index_of(rows.features()), index_of(rows.classes()));
  }

  static StepReport refuse(StepReport report) {
    report.terms["approximation"] = report.residual_bound;
    report.flush_needed = true;
    report.certified = false;
    report.claim.reset();
    return report;
  }

  /// Half of tau pays for a lazy embedding, if there is one.
  StepReport release(Model& model, Matrix start, const TrainingSet& rows, const ApproximationError& lazy) const {
    StepReport report;
    report.epsilon = options_.epsilon;
    report.delta = options_.delta;
    report.budget = options_.tau;
    report.for_tests = options_.seed.has_value();
    report.certified = !options_.standardized;
    if (report.certified) report.claim = "T1";

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
    newton.tolerance = lazy.exact() ? options_.tau : options_.tau / 2;
    newton.memory = working_memory();
    NewtonResult done = minimise(objective, std::move(start), newton);
    report.passes += done.passes;
    report.steps = done.steps;
    const double gap = gradient_gap(options_.head, lazy, frobenius, done.gradient.slope_norm, done.weights.norm());
    report.residual_bound = done.residual + gap;
    report.terms = {{"residual", done.gradient.norm}, {"float_error", done.gradient.error}, {"approximation", gap}};
    if (report.residual_bound > options_.tau) {
      wipe(done.weights.data(), size_of(done.weights.size()) * sizeof(double));
      return refuse(std::move(report));
    }
    const OutputNoise noise =
        plan_output_noise(options_.tau / mu, size_of(done.weights.size()), options_.epsilon, options_.delta);
    report.terms.insert({{"mu", mu},
                         {"distance", noise.distance},
                         {"sensitivity", noise.sensitivity},
                         {"sigma", noise.sigma},
                         {"grid", noise.grid}});
    RandomSource random = noise_source(options_, model.releases);
    model.published = publish(done.weights, noise, random);
    model.trained_rows = rows.size();
    ++model.releases;
    return report;
  }

  std::string name_;
  bool warm_;
  SolverOptions options_;
};

}  // namespace

std::unique_ptr<Solver> make_newton_solver(const SolverOptions& options) {
  return std::make_unique<OutputPerturbation>("newton", true, options);
}

std::unique_ptr<Solver> make_retrain_solver(const SolverOptions& options) {
  if (!options.hidden.empty()) return make_network_retrain_solver(options);
  if (!options.parameters.empty())
    throw UsageError("retrain minimises a linear model to tau; --set is for its --head mlp");
  return std::make_unique<OutputPerturbation>("retrain", false, options);
}

}  // namespace unweave
