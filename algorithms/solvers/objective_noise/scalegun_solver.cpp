// algorithms/solvers/objective_noise/scalegun_solver.cpp - objective perturbation with one Newton step a batch and an accumulated bound.
#include "algorithms/solvers/objective_noise/scalegun_solver.h"

#include <cmath>

#include "algorithms/learning/newton.h"
#include "algorithms/learning/removal_step.h"
#include "algorithms/learning/spectral_norm.h"
#include "algorithms/solvers/references/sgd_solvers.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

struct Policy {
  std::string_view name;
  std::string_view claim;
  bool lazy;            // takes approximate embeddings
  bool edges_only;      // other requests retrain
  bool hessian_before;  // on the data before the batch
};

constexpr Policy kScalegun{"scalegun", "as published: Yi and Wei, Theorem 4.5", true, false, false};
constexpr Policy kCgu{"cgu", "as published: Chien, Pan and Milenkovic (certified graph unlearning)", false, false,
                      false};
constexpr Policy kCeu{"ceu", "as published: Wu et al. (certified edge unlearning)", false, true, true};

/// Per class, one number of each bound.
struct ClassBounds {
  Vector corrected;
  Vector printed;
};

struct Step {
  Matrix weights;       // after the step
  ClassBounds charged;  // second term of each bound
  double norm = 0;
  double solver_error = 0;
  int passes = 0;
};

double moved_distance(const BatchChange& change) {
  double sum = 0;
  for (std::size_t i = 0; i < change.moved_to.size(); ++i)
    for (std::size_t f = 0; f < change.moved_to.features(); ++f) {
      const double d =
          static_cast<double>(change.moved_to.row(i)[f]) - static_cast<double>(change.moved_from.row(i)[f]);
      sum += d * d;
    }
  return std::sqrt(sum) * (1 + 1e-6);
}

class ObjectivePerturbation final : public Solver {
 public:
  ObjectivePerturbation(const Policy& policy, const SolverOptions& options) : policy_(policy), options_(options) {
    if (couples_classes(options.head))
      throw UsageError(std::string(policy.name) +
                       " bounds its steps for one-vs-rest heads alone; use --head logistic, "
                       "or --solver newton or retrain with --head " +
                       std::string(name_of(options.head)));
  }

  std::string_view name() const noexcept override { return policy_.name; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    fit.report = blank_report();
    if (needs_flush(Model{}, rows, lazy, fit.report)) return fit;
    fit.model.solver = policy_.name;
    fit.model.head = options_.head;
    train(fit.model, rows, fit.report);
    judge(fit.model, rows, lazy, fit.report);
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, policy_.name, after, change);
    StepReport report = blank_report();
    if (needs_flush(model, after, lazy, report)) return report;
    if (policy_.edges_only && !change.only_edges) {
      train(model, after, report);
      judge(model, after, lazy, report);
      return report;
    }
    update_spectral_bound(model, after, change);
    Step step = newton_step(model, after, change);
    report.passes += step.passes;
    report.steps = 1;
    report.terms["step_norm"] = step.norm;
    report.terms["solver_error"] = step.solver_error;
    report.terms["step_corrected"] = step.charged.corrected.norm();
    report.terms["step_printed"] = step.charged.printed.mean();
    model.published = std::move(step.weights);
    model.accumulated += step.charged.corrected;
    model.accumulated_printed += step.charged.printed;
    model.trained_rows = after.size();
    if (judge(model, after, lazy, report)) {
      ++model.releases;
    } else {  // one release either way: their number is public
      train(model, after, report);
      judge(model, after, lazy, report);
    }
    return report;
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, policy_.name, rows);
    StepReport report = blank_report();
    if (needs_flush(Model{}, rows, lazy, report)) return report;
    train(model, rows, report);
    judge(model, rows, lazy, report);
    return report;
  }

  bool reads_moved_rows() const noexcept override { return true; }

 private:
  StepReport blank_report() const {
    StepReport report;
    report.claim = std::string(policy_.claim);
    report.for_tests = options_.seed.has_value();
    report.epsilon = options_.epsilon;
    report.delta = options_.delta;
    report.budget = objective_noise_budget(options_.alpha, options_.epsilon, options_.delta);
    return report;
  }

  Objective objective_on(const TrainingSet& rows, const Matrix* noise) const {
    return {rows.rows(), rows.classes(), options_.head, strong_convexity(options_.lambda, rows.size()), noise};
  }

  /// First term of each bound at the model's weights, per class.
  ClassBounds approximation(const Model& model, const TrainingSet& rows, const ApproximationError& lazy) const {
    const Eigen::Index classes = index_of(rows.classes());
    ClassBounds bounds{Vector::Zero(classes), Vector::Zero(classes)};
    if (lazy.exact()) return bounds;
    Vector slope_norm = Vector::Zero(classes);
    if (options_.head == Head::kLeastSquares)
      slope_norm = gradient_with_error(objective_on(rows, nullptr), model.published).class_slope_norm;
    bounds.printed.setConstant(options_.head == Head::kLeastSquares
                                   ? 2 * slope_norm.maxCoeff() * lazy.residue_sum.norm()
                                   : printed_approximation_term(options_.head, lazy));
    for (Eigen::Index c = 0; c < classes; ++c)
      bounds.corrected[c] = corrected_approximation_term(options_.head, lazy, rows.size(), model.spectral_bound,
                                                         model.published.col(c).norm(), slope_norm[c]);
    return bounds;
  }

  double combine(const Vector& corrected, const Vector& printed) const {
    return options_.bound == BoundRule::kPaper ? printed.mean() : corrected.norm();
  }

  /// True when the embedding alone spends the budget, or the method has no place for an approximate one.
  bool needs_flush(const Model& model, const TrainingSet& rows, const ApproximationError& lazy,
                   StepReport& report) const {
    if (lazy.exact()) return false;
    Model probe;  // before the first training: the part of the bound that no weights can lower
    probe.published = model.published.size() > 0
                          ? model.published
                          : Matrix(Matrix::Zero(index_of(rows.features()), index_of(rows.classes())));
    probe.spectral_bound = model.published.size() > 0 ? model.spectral_bound : 0;
    const ClassBounds first = approximation(probe, rows, lazy);
    report.residual_bound = combine(first.corrected, first.printed);
    report.terms["approximation"] = report.residual_bound;
    report.flush_needed = !policy_.lazy || report.residual_bound > report.budget;
    return report.flush_needed;
  }

  /// Fills the report's bound; true when it is within the budget.
  bool judge(const Model& model, const TrainingSet& rows, const ApproximationError& lazy, StepReport& report) const {
    const ClassBounds first = approximation(model, rows, lazy);
    report.terms["approximation"] = combine(first.corrected, first.printed);
    report.terms["accumulated"] = combine(model.accumulated, model.accumulated_printed);
    report.terms["corrected_bound"] = (first.corrected + model.accumulated).norm();
    report.terms["printed_bound"] = (first.printed + model.accumulated_printed).mean();
    report.terms["spectral_norm"] = model.spectral_bound;
    report.residual_bound = combine(first.corrected + model.accumulated, first.printed + model.accumulated_printed);
    return report.residual_bound <= report.budget;
  }

  /// From zero weights with a fresh B; the residual of the minimisation opens the corrected account.
  void train(Model& model, const TrainingSet& rows, StepReport& report) const {
    RandomSource random = noise_source(options_, model.releases);
    model.objective_noise.resize(index_of(rows.features()), index_of(rows.classes()));
    for (Eigen::Index i = 0; i < model.objective_noise.size(); ++i)
      model.objective_noise.data()[i] = options_.alpha * random.gaussian();
    NewtonOptions newton;
    newton.tolerance = options_.tau;
    newton.best_effort = true;
    newton.memory = working_memory();
    NewtonResult done = minimise(objective_on(rows, &model.objective_noise),
                                 Matrix::Zero(model.objective_noise.rows(), model.objective_noise.cols()), newton);
    model.published = std::move(done.weights);
    model.accumulated = (done.gradient.class_norm.array() + done.gradient.error).matrix();
    model.accumulated_printed = Vector::Zero(index_of(rows.classes()));
    model.spectral_bound = model.spectral_fresh = spectral_norm_above(rows.rows());
    model.trained_rows = rows.size();
    ++model.releases;
    report.passes += done.passes;
    report.steps += done.steps;
    report.retrained = true;
  }

  /// |Z'| <= |Z| + |moved rows|_F, and removals only lower it; computed anew once that has cost a tenth.
  static void update_spectral_bound(Model& model, const TrainingSet& after, const BatchChange& change) {
    model.spectral_bound = std::min(model.spectral_bound + moved_distance(change), frobenius_norm(after.rows()));
    if (model.spectral_bound > 1.1 * model.spectral_fresh)
      model.spectral_bound = model.spectral_fresh = spectral_norm_above(after.rows());
  }

  Step newton_step(const Model& model, const TrainingSet& after, const BatchChange& change) const {
    const Matrix& weights = model.published;
    const Objective now = objective_on(after, nullptr);
    const double allowed = objective_noise_budget(options_.alpha, options_.epsilon, options_.delta);
    const RemovalStep done = solve_removal(
        {now, weights, strong_convexity(options_.lambda, model.trained_rows), change, policy_.hessian_before}, 1e-6,
        1e-4 * allowed / std::sqrt(static_cast<double>(after.classes())), working_memory());
    Step step;
    step.passes = done.passes;
    const CurvatureAction& action = done.undamped;
    const Matrix charged_error = done.right - action.product;  // against the Hessian after the batch, whatever solved
    const Eigen::Index classes = weights.cols();
    step.charged = {Vector(classes), Vector(classes)};
    for (Eigen::Index c = 0; c < classes; ++c) {
      step.charged.corrected[c] = corrected_step_term(options_.head, model.spectral_bound, action.squared_image_norm[c],
                                                      charged_error.col(c).norm());
      step.charged.printed[c] =
          printed_step_term(options_.head, model.spectral_bound, done.step.col(c).norm(), action.image_norm[c]);
    }
    step.norm = done.step.norm();
    step.solver_error = done.missing.norm();
    step.weights = weights + done.step;
    return step;
  }

  Policy policy_;
  SolverOptions options_;
};

}  // namespace

std::unique_ptr<Solver> make_scalegun_solver(const SolverOptions& options) {
  if (!options.hidden.empty()) return make_network_scalegun_solver(options);
  if (!options.parameters.empty())
    throw UsageError("scalegun minimises a linear model to tau; --set is for its --head mlp");
  return std::make_unique<ObjectivePerturbation>(kScalegun, options);
}

std::unique_ptr<Solver> make_cgu_solver(const SolverOptions& options) {
  return std::make_unique<ObjectivePerturbation>(kCgu, options);
}

std::unique_ptr<Solver> make_ceu_solver(const SolverOptions& options) {
  return std::make_unique<ObjectivePerturbation>(kCeu, options);
}

}  // namespace unweave
