// algorithms/unlearning/noiseless_solver.cpp - learns without noise, and says of every release that
// nothing is claimed.
#include "algorithms/unlearning/noiseless_solver.h"

namespace unweave {

Fit NoiselessSolver::fit(const TrainingSet& rows, const ApproximationError&) const {
  Fit fit;
  fit.model = blank_model(name_, options_, rows);
  fit.report = learn(fit.model, rows);
  return fit;
}

StepReport NoiselessSolver::absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                                   const ApproximationError&) const {
  check_model(model, name_, after, change);
  return unlearn(model, after, change);
}

StepReport NoiselessSolver::catch_up(Model& model, const TrainingSet& rows, const ApproximationError&) const {
  check_shape(model, name_, rows);
  return learn(model, rows);
}

StepReport NoiselessSolver::unlearn(Model& model, const TrainingSet& after, const BatchChange&) const {
  return learn(model, after);
}

Vector NoiselessSolver::linear_term(std::uint64_t, const TrainingSet&) const {
  return {};
}

StepReport NoiselessSolver::publish(Model& model, const Vector& weights, const TrainingSet& rows) const {
  release(model, as_published(shape_of(options_, rows), weights), rows);
  StepReport report = uncertified(options_);
  report.terms.add("batch_rows", static_cast<double>(plan_.batch_rows));
  add_settings(report);
  if (options_.hidden.empty()) return report;
  report.terms.add(
      {{"epochs", static_cast<double>(plan_.epochs)}, {"step_size", plan_.step_size}, {"decay", plan_.decay}});
  return report;
}

StepReport NoiselessSolver::learn(Model& model, const TrainingSet& rows) const {
  const Vector linear = linear_term(model.releases, rows);
  const Learnt learnt = learn_weights(options_, plan_, rows, memory_, linear.size() > 0 ? &linear : nullptr);
  StepReport report = publish(model, learnt.weights, rows);
  report.retrained = true;
  report.passes = learnt.passes;
  report.steps = learnt.steps;
  return report;
}

}  // namespace unweave
