// algorithms/unlearning/checks/finished_checks.cpp - public numbers of T1 computed again, and the objective minimised again.
#include "algorithms/unlearning/checks/finished_checks.h"

#include <algorithm>
#include <cmath>

#include "algorithms/learning/newton.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/unlearning/checks/noise_checks.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

double mu_of(const CheckedModel& model) {
  return strong_convexity(model.options.lambda, model.model.trained_rows);
}

}  // namespace

OutputNoise finished_noise(const CheckedModel& model) {
  return plan_output_noise(model.options.tau / mu_of(model), size_of(model.model.published.size()),
                           model.options.epsilon, model.options.delta);
}

void check_finished_certificate(const CheckedModel& model, Statements& say) {
  const SolverOptions& options = model.options;
  const OutputNoise noise = finished_noise(model);
  say.near("mu", model.term("mu"), mu_of(model));
  say.near("distance", model.term("distance"), noise.distance);
  say.near("sensitivity", model.term("sensitivity"), noise.sensitivity);
  say.near("sigma", model.term("sigma"), noise.sigma);
  say.near("grid", model.term("grid"), noise.grid, 0);
  say.same("budget", model.certificate.at("budget"), options.tau);
  say.near("the residual bound", model.number("residual_bound"),
           model.term("residual") + model.term("float_error") + model.term("approximation"));
  for (const char* part : {"residual", "float_error", "approximation"}) say.at_most("0", 0, part, model.term(part));
  if (model.certified()) {
    say.at_most("the residual bound", model.number("residual_bound"), "the budget", options.tau);
    model.check_delta(least_delta(noise, options.epsilon), say);
  }
  check_grid(model.model.published, noise, say);
}

bool check_finished_release(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget, Statements& say) {
  const Matrix& published = model.model.published;
  const double mu = mu_of(model), residual_bound = model.number("residual_bound");
  NewtonOptions newton;
  newton.tolerance = model.options.tau;
  newton.best_effort = true;
  const Reservation memory = reserve_working_memory(rows.rows(), rows.classes(), budget);
  newton.memory = static_cast<std::size_t>(memory.bytes());
  NewtonResult done = minimise({rows.rows(), rows.classes(), model.options.head, mu, nullptr}, published, newton);
  if (done.residual > newton.tolerance)
    say.remark("minimised again only to a gradient norm of " + Json(done.residual).dump() +
               ", which blunts the comparison");

  check_spread(published, done.weights, "the minimiser", finished_noise(model), (residual_bound + done.residual) / mu,
               say);
  wipe(done.weights.data(), size_of(done.weights.size()) * sizeof(double));
  return true;
}

void check_finished_line(const PublicLine& line) {
  line.require_grid();
  PublicLine::require_near("mu", line.term("mu"),
                           line.options().lambda * std::max(1.0, line.constant("training_rows")));
  PublicLine::require_near("distance", line.term("distance"), line.constant("tau") / line.term("mu"));
  if (line.json().at("budget") != Json(line.constant("tau"))) throw CheckError("the budget is not tau");
  line.require_noise(
      plan_output_noise(line.term("distance"), line.weights(), line.options().epsilon, line.options().delta));
  line.require_delta_of_noise();
}

}  // namespace unweave
