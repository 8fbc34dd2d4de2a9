// algorithms/unlearning/checks/finished_checks.cpp - public numbers of T1 computed again, and the
// objective minimised again.
#include "algorithms/unlearning/checks/finished_checks.h"

#include <algorithm>
#include <cmath>

#include "algorithms/learning/newton.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/unlearning/checks/noise_checks.h"
#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

double mu_of(const CheckedModel& model) {
  return strong_convexity(model.options.lambda, model.model.trained_rows);
}

/// What a release kept of rows that left lies in the directions of rows, those that are there as a
/// rule: where features outnumber them, noise hides less of it there than in all directions.
void check_in_span(const Matrix& apart, const TrainingSet& rows, const OutputNoise& noise, double shift,
                   Statements& say) {
  const std::size_t directions = most_directions(rows);
  if (directions == 0 || directions == rows.features()) return;
  const double all = apart.norm(), outside = std::min(all, norm_outside_span(rows, apart));
  const double inside = std::sqrt(std::max(0.0, all * all - outside * outside));
  const auto coordinates = static_cast<double>(directions * rows.classes());
  const double most = noise.sigma * std::sqrt(coordinates * noise_factors(coordinates).high) + shift +
                      noise.grid * std::sqrt(coordinates) / 2 + kSpanError * all;
  if (inside > most)
    say.wrong("in the directions of the present rows the published weights stand " + text_of_json(Json(inside)) +
              " from the minimiser; noise of sigma " + text_of_json(Json(noise.sigma)) + " carries them to " +
              text_of_json(Json(most)) + " at most");
}

/// The two tests that know where to look. A model that was not unlearnt leans towards the minimiser
/// of the rows before; noise that was used twice lies in the same direction twice. Given the
/// direction, the noise in it is one number of deviation sigma.
void check_against_earlier(const CheckedModel& model, const NewtonResult& best, const OutputNoise& noise, double shift,
                           std::size_t memory, Statements& say) {
  const Model& earlier = model.before->model;
  const TrainingSet& rows = model.before->rows;
  if (earlier.published.rows() != model.model.published.rows() ||
      earlier.published.cols() != model.model.published.cols())
    return say.remark("the copy holds a model of another shape: not compared");
  NewtonOptions newton;
  newton.tolerance = model.options.tau;
  newton.best_effort = true;
  newton.memory = memory;
  const NewtonResult then = minimise(
      {rows.rows(), rows.classes(), model.options.head, strong_convexity(model.options.lambda, rows.size()), nullptr},
      best.weights, newton);
  const Matrix apart = model.model.published - best.weights;
  const double slack =
      kSureDeviations * noise.sigma + shift + noise.grid * std::sqrt(static_cast<double>(apart.size())) / 2;
  const auto component = [&](const Matrix& direction) {
    const double length = direction.norm();
    return length > 0 ? apart.cwiseProduct(direction).sum() / length : 0;
  };
  if (const double lean = component(then.weights - best.weights); std::abs(lean) > slack)
    say.wrong("the published weights lean " + text_of_json(Json(lean / noise.sigma)) +
              " standard deviations of their noise towards the minimiser of the rows before: they were not unlearnt");
  if (earlier.published == model.model.published)
    return say.remark("the copy holds the same weights: whether noise was used twice is not checked");
  if (const double again = component(earlier.published - then.weights); std::abs(again) > slack)
    say.wrong("the noise of the published weights lies " + text_of_json(Json(again / noise.sigma)) +
              " standard deviations in the direction of the noise of the copy's: it was used twice");
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
    say.remark("minimised again only to a gradient norm of " + text_of_json(Json(done.residual)) +
               ", which blunts the comparison");

  const OutputNoise noise = finished_noise(model);
  const double shift = (residual_bound + done.residual) / mu;
  check_spread(published, done.weights, "the minimiser", noise, shift, say);
  check_in_span(published - done.weights, rows, noise, shift, say);
  if (model.before != nullptr) check_against_earlier(model, done, noise, shift, newton.memory, say);
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
