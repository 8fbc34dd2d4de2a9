// algorithms/solvers/descent/descent_checks.cpp - the last release of descent-to-delete against its
// certificate.
#include "algorithms/solvers/descent/descent_solver.h"
#include "algorithms/unlearning/checks/finished_checks.h"
#include "algorithms/unlearning/checks/noise_checks.h"
#include "storage/io/message.h"

namespace unweave {

void check_descent(const CheckedModel& model, Statements& say) {
  const SolverOptions& options = model.options;
  if (options.bound == BoundRule::kCorrected) return check_finished_certificate(model, say);
  if (model.certified()) say.wrong("it is certified, and no theorem covers published steps");
  const OutputNoise noise = noise_of_sigma(model.model.state.number("sigma"), size_of(model.model.published.size()),
                                           options.epsilon, options.delta);
  say.near("sigma", model.term("sigma"), noise.sigma);
  say.near("budget", model.number("budget"), noise.distance);
  check_grid(model.model.published, noise, say);
  say.remark("bounds as printed (" + option("bound", "paper") + ") are not checked");
}

bool check_descent_release(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget, Statements& say) {
  return model.options.bound == BoundRule::kCorrected && check_finished_release(model, rows, budget, say);
}

}  // namespace unweave
