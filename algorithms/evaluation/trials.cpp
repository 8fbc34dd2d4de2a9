// algorithms/evaluation/trials.cpp - one trial: train, unlearn, and draw the reference that the
// claim names.
#include "algorithms/evaluation/trials.h"

#include "algorithms/evaluation/stated_run.h"
#include "algorithms/learning/newton.h"
#include "algorithms/privacy/output_noise.h"
#include "storage/io/entry.h"

namespace unweave {
namespace {

Objective objective_on(const TrainingSet& rows, const SolverOptions& options) {
  return {rows.rows(), rows.classes(), options.head, strong_convexity(options.lambda, rows.size()), nullptr};
}

Knowledge know(const SolverOptions& options, const Canary& canary, std::size_t memory) {
  if (!options.hidden.empty()) {
    const Matrix zero = Matrix::Zero(index_of(Network(shape_of(options, canary.after)).size()), 1);
    return {zero, zero, zero};
  }
  NewtonOptions newton;
  newton.tolerance = options.tau / 100;  // small beside the tau that M may leave
  newton.best_effort = true;
  newton.memory = memory;
  const Matrix zero = Matrix::Zero(index_of(canary.after.features()), index_of(canary.after.classes()));
  Knowledge known;
  known.best_before = minimise(objective_on(canary.before, options), zero, newton).weights;
  known.best_after = minimise(objective_on(canary.after, options), known.best_before, newton).weights;
  known.gradient = gradient_with_error(objective_on(canary.after, options), known.best_before).value;
  return known;
}

}  // namespace

StepReport unlearn_canary(const Solver& solver, Model& model, const Canary& canary, const ApproximationError& lazy) {
  if (!canary.change.begins_anew) return solver.absorb(model, canary.after, canary.change, lazy);
  if (solver.has_place_for(model, canary.after)) return solver.catch_up(model, canary.after, lazy);
  Fit fit = solver.fit(canary.after, lazy);
  model = std::move(fit.model);
  return std::move(fit.report);
}

Trials::Trials(const SolverFactory& make, const SolverOptions& options, const Canary& canary, const AuditOptions& how)
    : make_(make), options_(options), canary_(canary), how_(how), known_(know(options, canary, how.working_memory)) {
  result_.certified = true;
  result_.epsilon = options.epsilon;
  result_.delta = options.delta;
}

Releases Trials::run() {
  Releases out;
  out.unlearned = unlearn(out.first);
  out.retrained = result_.certified && finishes_      ? stated_release()
                  : result_.certified && follows_run_ ? follow_stated_run()
                                                      : train_anew();
  how_.advance();
  return out;
}

SolverOptions Trials::next_options() {
  SolverOptions own = options_;
  if (own.seed) *own.seed += seeds_used_++;
  return own;
}

/// Calls body(solver, fitted model) on the rows before, in a folder of their own.
template <class Body>
void Trials::with_model(const Body& body) {
  const SolverResources resources{how_.working_memory, how_.folder / "trial"};
  const std::unique_ptr<Solver> solver = make_(next_options(), resources);
  Fit fit = solver->fit(canary_.before, exact_);
  solver->tidy(fit.model);
  body(*solver, fit.model);
  remove_tree(resources.folder);
}

Matrix Trials::unlearn(Matrix& first) {
  Matrix out;
  with_model([&](const Solver& solver, Model& model) {
    first = model.published;
    const StepReport report = unlearn_canary(solver, model, canary_, exact_);
    result_.certified = result_.certified && report.certified;
    result_.claim = report.claim;
    curve_ = report.certified && report.gaussian_curve;
    later_ = report.certified && report.scope == Scope::all_later;
    finishes_ = report.mechanism == kOutputNoise;
    follows_run_ = states_run(report);
    if (follows_run_) stated_ = report;
    out = std::move(model.published);
  });
  return out;
}

Matrix Trials::train_anew() {
  Matrix out;
  with_model([&](const Solver& solver, Model& model) {
    if (!solver.catch_up(model, canary_.after, exact_).retrained)
      model = make_(next_options(), {})->fit(canary_.after, exact_).model;
    out = std::move(model.published);
  });
  return out;
}

Matrix Trials::stated_release() {
  const double mu = strong_convexity(options_.lambda, canary_.after.size());
  Matrix weights = known_.best_after;
  const OutputNoise noise =
      plan_output_noise(options_.tau / mu, size_of(weights.size()), options_.epsilon, options_.delta);
  RandomSource random = noise_source(next_options(), 0);
  return publish(weights, noise, random);
}

Matrix Trials::follow_stated_run() {
  RandomSource random = noise_source(next_options(), 0);
  return stated_run(stated_, options_, canary_.before, canary_.after, random);
}

}  // namespace unweave
