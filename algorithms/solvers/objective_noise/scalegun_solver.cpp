// algorithms/solvers/objective_noise/scalegun_solver.cpp - objective perturbation with one Newton
// step a batch and an accumulated bound.
#include "algorithms/solvers/objective_noise/scalegun_solver.h"

#include <cmath>
#include <span>

#include "algorithms/learning/newton.h"
#include "algorithms/learning/removal_step.h"
#include "algorithms/learning/spectral_norm.h"
#include "algorithms/solvers/objective_noise/network_scalegun.h"
#include "algorithms/unlearning/release.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// How the three differ.
struct Policy {
  std::string_view name;
  std::string_view claim;
  bool lazy = false;            ///< takes approximate embeddings
  bool edges_only = false;      ///< other requests retrain
  bool hessian_before = false;  ///< on the data before the batch
};

constexpr Mechanism kObjectiveNoise{"Gaussian noise in the objective", Adjacency::any_change, {}};

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
  ObjectivePerturbation(const Policy& policy, const SolverOptions& options, const SolverResources& resources)
      : policy_(policy), options_(options), memory_(resources.memory) {}

  std::string_view name() const noexcept override { return policy_.name; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    fit.report = blank_report();
    const Matrix zero = Matrix::Zero(index_of(rows.features()), index_of(rows.classes()));
    if (needs_flush(zero, 0, rows, lazy, fit.report)) return fit;
    fit.model = blank_model(policy_.name, options_, rows);
    train(fit.model, rows, lazy, fit.report);
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, policy_.name, after, change);
    StepReport report = blank_report();
    ObjectiveNoiseState state = objective_noise_state(model);
    if (needs_flush(model.published, state.spectral_bound, after, lazy, report)) return report;
    if (policy_.edges_only && !change.only_edges) {
      train(model, after, lazy, report);
      return report;
    }
    update_spectral_bound(state, after, change);
    Step step = newton_step(model, state, after, change);
    report.passes += step.passes;
    report.steps = 1;
    report.terms.add({{"step_norm", step.norm},
                      {"solver_error", step.solver_error},
                      {"step_corrected", step.charged.corrected.norm()},
                      {"step_printed", step.charged.printed.mean()}});
    state.accumulated += step.charged.corrected;
    state.accumulated_printed += step.charged.printed;
    if (!judge(step.weights, state, after, lazy, report)) {  // one release either way: their number is public
      train(model, after, lazy, report);
      return report;
    }
    release(model, std::move(step.weights), after);
    keep_state(state, model);
    return report;
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, policy_.name, rows);
    StepReport report = blank_report();
    const Matrix zero = Matrix::Zero(index_of(rows.features()), index_of(rows.classes()));
    if (needs_flush(zero, 0, rows, lazy, report)) return report;
    train(model, rows, lazy, report);
    return report;
  }

  bool reads_moved_rows() const noexcept override { return true; }

  void require_state(const Model& model) const override { static_cast<void>(objective_noise_state(model)); }

 private:
  StepReport blank_report() const {
    StepReport report = begin_report(options_, kObjectiveNoise,
                                     objective_noise_budget(options_.alpha, options_.epsilon, options_.delta));
    report.reference = present_objective(options_) +
                       "W_b the minimiser of F(W) + <B, W>, B normal with variance alpha^2; published: W_b";
    report.claim = policy_.claim;
    return report;
  }

  Objective objective_on(const TrainingSet& rows, const Matrix* noise) const {
    return {rows.rows(), rows.classes(), options_.head, strong_convexity(options_.lambda, rows.size()), noise};
  }

  /// First term of each bound at the weights, per class.
  ClassBounds approximation(const Matrix& weights, double spectral_bound, const TrainingSet& rows,
                            const ApproximationError& lazy) const {
    const Eigen::Index classes = index_of(rows.classes());
    ClassBounds bounds{Vector::Zero(classes), Vector::Zero(classes)};
    if (lazy.exact()) return bounds;
    Vector slope_norm = Vector::Zero(classes);
    if (!has_bounded_slope(options_.head))
      slope_norm = gradient_with_error(objective_on(rows, nullptr), weights).class_slope_norm;
    bounds.printed.setConstant(!has_bounded_slope(options_.head) ? 2 * slope_norm.maxCoeff() * lazy.residue_sum.norm()
                                                                 : printed_approximation_term(options_.head, lazy));
    for (Eigen::Index c = 0; c < classes; ++c)
      bounds.corrected[c] = corrected_approximation_term(options_.head, lazy, rows.size(), spectral_bound,
                                                         weights.col(c).norm(), slope_norm[c]);
    return bounds;
  }

  double combine(const Vector& corrected, const Vector& printed) const {
    return options_.bound == BoundRule::kPaper ? printed.mean() : corrected.norm();
  }

  /// True when the embedding alone spends the budget, or the method has no place for an approximate
  /// one. Before the first training this is the part of the bound that no weights can lower: zero
  /// weights, and no spectral norm.
  bool needs_flush(const Matrix& weights, double spectral_bound, const TrainingSet& rows,
                   const ApproximationError& lazy, StepReport& report) const {
    if (lazy.exact()) return false;
    const ClassBounds first = approximation(weights, spectral_bound, rows, lazy);
    report.residual_bound = combine(first.corrected, first.printed);
    report.terms.add("approximation", report.residual_bound);
    report.flush_needed = !policy_.lazy || report.residual_bound > report.budget;
    return report.flush_needed;
  }

  /// Fills the report's bound; true when it is within the budget.
  bool judge(const Matrix& weights, const ObjectiveNoiseState& state, const TrainingSet& rows,
             const ApproximationError& lazy, StepReport& report) const {
    const ClassBounds first = approximation(weights, state.spectral_bound, rows, lazy);
    report.terms.add({{"approximation", combine(first.corrected, first.printed)},
                      {"accumulated", combine(state.accumulated, state.accumulated_printed)},
                      {"corrected_bound", (first.corrected + state.accumulated).norm()},
                      {"printed_bound", (first.printed + state.accumulated_printed).mean()},
                      {"spectral_norm", state.spectral_bound}});
    report.residual_bound = combine(first.corrected + state.accumulated, first.printed + state.accumulated_printed);
    return report.residual_bound <= report.budget;
  }

  /// From zero weights with a fresh B; the residual of the minimisation opens the corrected
  /// account.
  void train(Model& model, const TrainingSet& rows, const ApproximationError& lazy, StepReport& report) const {
    RandomSource random = noise_source(options_, model.releases);
    ObjectiveNoiseState state;
    state.noise.resize(index_of(rows.features()), index_of(rows.classes()));
    for (Eigen::Index i = 0; i < state.noise.size(); ++i) state.noise.data()[i] = options_.alpha * random.gaussian();
    if (rows.ranks() != nullptr)  // all minimise with the noise of rank 0
      rows.ranks()->broadcast(std::as_writable_bytes(std::span(state.noise.data(), size_of(state.noise.size()))));
    NewtonOptions newton;
    newton.tolerance = options_.tau;
    newton.best_effort = true;
    newton.memory = memory_;
    NewtonResult done =
        minimise(objective_on(rows, &state.noise), Matrix::Zero(state.noise.rows(), state.noise.cols()), newton);
    state.accumulated = (done.gradient.class_norm.array() + done.gradient.error).matrix();
    state.accumulated_printed = Vector::Zero(index_of(rows.classes()));
    state.spectral_bound = state.spectral_fresh = spectral_norm_above(rows.rows());
    report.passes += done.passes;
    report.steps += done.steps;
    report.retrained = true;
    judge(done.weights, state, rows, lazy, report);
    release(model, std::move(done.weights), rows);
    keep_state(state, model);
  }

  /// |Z'| <= |Z| + |moved rows|_F, and removals only lower it; computed anew once that has cost a
  /// tenth.
  static void update_spectral_bound(ObjectiveNoiseState& state, const TrainingSet& after, const BatchChange& change) {
    state.spectral_bound = std::min(state.spectral_bound + moved_distance(change), frobenius_norm(after.rows()));
    if (state.spectral_bound > 1.1 * state.spectral_fresh)
      state.spectral_bound = state.spectral_fresh = spectral_norm_above(after.rows());
  }

  Step newton_step(const Model& model, const ObjectiveNoiseState& state, const TrainingSet& after,
                   const BatchChange& change) const {
    const Matrix& weights = model.published;
    const Objective now = objective_on(after, nullptr);
    const double allowed = objective_noise_budget(options_.alpha, options_.epsilon, options_.delta);
    const RemovalStep done = solve_removal(
        {now, weights, strong_convexity(options_.lambda, model.trained_rows), change, policy_.hessian_before}, 1e-6,
        1e-4 * allowed / std::sqrt(static_cast<double>(after.classes())), memory_);
    Step step;
    step.passes = done.passes;
    const CurvatureAction& action = done.undamped;
    const Matrix charged_error = done.right - action.product;  // against the Hessian after the batch, whatever solved
    const Eigen::Index classes = weights.cols();
    step.charged = {Vector(classes), Vector(classes)};
    for (Eigen::Index c = 0; c < classes; ++c) {
      step.charged.corrected[c] = corrected_step_term(options_.head, state.spectral_bound, action.squared_image_norm[c],
                                                      charged_error.col(c).norm());
      step.charged.printed[c] =
          printed_step_term(options_.head, state.spectral_bound, done.step.col(c).norm(), action.image_norm[c]);
    }
    step.norm = done.step.norm();
    step.solver_error = done.missing.norm();
    step.weights = weights + done.step;
    return step;
  }

  Policy policy_;
  SolverOptions options_;
  std::size_t memory_;
};

std::unique_ptr<Solver> make_scalegun(const SolverOptions& options, const SolverResources& resources) {
  if (!options.hidden.empty()) return make_network_scalegun(kScalegun.name, options, resources);
  return std::make_unique<ObjectivePerturbation>(
      Policy{.name = kScalegun.name, .claim = "as published: Yi and Wei, Theorem 4.5", .lazy = true}, options,
      resources);
}

std::unique_ptr<Solver> make_cgu(const SolverOptions& options, const SolverResources& resources) {
  return std::make_unique<ObjectivePerturbation>(
      Policy{.name = kCgu.name, .claim = "as published: Chien, Pan and Milenkovic (certified graph unlearning)"},
      options, resources);
}

std::unique_ptr<Solver> make_ceu(const SolverOptions& options, const SolverResources& resources) {
  return std::make_unique<ObjectivePerturbation>(Policy{.name = kCeu.name,
                                                        .claim = "as published: Wu et al. (certified edge unlearning)",
                                                        .edges_only = true,
                                                        .hessian_before = true},
                                                 options, resources);
}

Reservation reserve_scalegun(const SolverOptions& options, const Model& model, const TrainingSet& rows,
                             MemoryBudget& budget) {
  return options.hidden.empty() ? reserve_minimisation(options, model, rows, budget)
                                : reserve_network_scalegun(options, rows, budget);
}

constexpr SolverKind kLinear{.trained = true,
                             .claims = true,
                             .over_ranks = true,
                             .check_certificate = check_objective_noise,
                             .check_release = check_gradient};

}  // namespace

ObjectiveNoiseState objective_noise_state(const Model& model) {
  const SolverState& kept = model.state;
  const std::vector<double>&noise = kept.array("objective_noise"), &accumulated = kept.array("accumulated"),
        &printed = kept.array("accumulated_printed");
  const std::size_t classes = size_of(model.published.cols());
  if (noise.size() != size_of(model.published.size()) || accumulated.size() != classes || printed.size() != classes)
    throw UsageError("the model file holds no noise of the objective in the shape of the weights; train it again");
  ObjectiveNoiseState state;
  state.noise = Eigen::Map<const Matrix>(noise.data(), model.published.rows(), model.published.cols());
  state.accumulated = Eigen::Map<const Vector>(accumulated.data(), index_of(classes));
  state.accumulated_printed = Eigen::Map<const Vector>(printed.data(), index_of(classes));
  state.spectral_bound = kept.number("spectral_bound");
  state.spectral_fresh = kept.number("spectral_fresh");
  return state;
}

void keep_state(const ObjectiveNoiseState& state, Model& model) {
  const auto values_of = [](const auto& dense) {
    return std::vector<double>(dense.data(), dense.data() + dense.size());
  };
  model.state.numbers = {{"spectral_bound", state.spectral_bound}, {"spectral_fresh", state.spectral_fresh}};
  model.state.arrays = {{"objective_noise", values_of(state.noise)},
                        {"accumulated", values_of(state.accumulated)},
                        {"accumulated_printed", values_of(state.accumulated_printed)}};
}

constinit const SolverEntry kScalegun{
    .name = "scalegun",
    .meaning =
        [] {
          return std::string(
              "ScaleGUN as published: noise in the objective, one Newton step a batch, and training again when the "
              "bound on its error has used up the budget. Never certified: it is there to be compared with.");
        },
    .linear = kLinear,
    .networks = {.trained = true},
    .coupled_heads = false,
    .printed = true,
    .intercept = false,
    .tau = true,
    .alpha = true,
    .first_order = true,
    .parameters = []() -> const ParameterTable& { return network_scalegun_parameters(); },
    .make = make_scalegun,
    .reserve = reserve_scalegun,
};

constinit const SolverEntry kCgu{
    .name = "cgu",
    .meaning =
        [] {
          return std::string(
              "Certified graph unlearning as published: as scalegun, with that paper's bounds. Never certified here.");
        },
    .linear = kLinear,
    .coupled_heads = false,
    .printed = true,
    .intercept = false,
    .tau = true,
    .alpha = true,
    .first_order = true,
    .make = make_cgu,
    .reserve = reserve_minimisation,
};

constinit const SolverEntry kCeu{
    .name = "ceu",
    .meaning =
        [] {
          return std::string(
              "Certified edge unlearning as published: as scalegun, with that paper's step. Never certified here.");
        },
    .linear = kLinear,
    .coupled_heads = false,
    .printed = true,
    .intercept = false,
    .tau = true,
    .alpha = true,
    .first_order = true,
    .make = make_ceu,
    .reserve = reserve_minimisation,
};

}  // namespace unweave
