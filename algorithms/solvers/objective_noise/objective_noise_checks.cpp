// algorithms/solvers/objective_noise/objective_noise_checks.cpp - budget, noise and corrected bound
// of a release, and its gradient.
#include <cmath>

#include "algorithms/learning/objective.h"
#include "algorithms/privacy/residual_bounds.h"
#include "algorithms/solvers/objective_noise/scalegun_solver.h"
#include "algorithms/unlearning/checks/checked_model.h"
#include "storage/io/json_text.h"
#include "storage/io/message.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

void check_objective_noise(const CheckedModel& model, Statements& say) {
  const SolverOptions& options = model.options;
  if (model.certified()) say.wrong("it is certified, and no theorem covers this solver");
  say.near("budget", model.number("budget"), objective_noise_budget(options.alpha, options.epsilon, options.delta));
  if (!(objective_noise_state(model.model).noise.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e100))
    say.wrong("the noise of the objective is not finite numbers of a sensible size");
  if (options.bound == BoundRule::kPaper)
    say.remark("bounds as printed (" + option("bound", "paper") + ") are not checked, the corrected one is");
  else
    say.same("residual_bound", model.certificate.at("residual_bound"),
             model.certificate.at("terms").at("corrected_bound"));
}

/// A bound on the exact gradient is refuted by what the computed one is at least. Once more the
/// float error is granted: the account of the steps leaves out what rounding did to the gradients
/// that it compared.
bool check_gradient(const CheckedModel& model, const TrainingSet& rows, MemoryBudget&, Statements& say) {
  const double bound = model.term("corrected_bound");
  const ObjectiveNoiseState state = objective_noise_state(model.model);
  const Gradient gradient =
      gradient_with_error({rows.rows(), rows.classes(), model.options.head,
                           strong_convexity(model.options.lambda, model.model.trained_rows), &state.noise},
                          model.model.published);
  const double norm = gradient.value.norm();
  if (!(norm <= bound * (1 + 1e-9) + 2 * gradient.error))  // also where it is no number
    say.wrong("the gradient at the published weights has norm " + text_of_json(Json(norm)) +
              " with a float error of at most " + text_of_json(Json(gradient.error)) + ", the corrected bound is " +
              text_of_json(Json(bound)));
  return true;
}

}  // namespace unweave
