// algorithms/solvers/langevin/langevin_checks.cpp - the last release of `langevin` against its
// certificate.
//
// How far noise can carry the weights. Let V be a run of A without noise on the present rows and X
// one with noise, both from W = 0, e_k = X_k - V_k. A step maps e to something of norm at most |a +
// s xi|, where a = G(X) - G(V) does not depend on xi and |a| <= c |e|, since the projection does
// not stretch. So E |e_k|^2 <= c^2 E |e_{k-1}|^2 + s^2 N with N the coordinates, and E |e|^2 <= s^2
// N / (1 - c^2) =: r^2 N. As a function of all xi, |e| has the Lipschitz constant r (xi_j counts s
// c^{k-j}), hence by Gaussian concentration |e| > r (sqrt N + t) has probability at most
// exp(-t^2/2). A release that was unlearnt stands within Z c^{KN} + 2R c^{(T-K)N + KN} of a coupled
// X (THEOREMS.md, T2). This finds weights that stand too far away.
//
// How little noise can leave them. (a) Given all before the last step, W = v + s xi inside the
// ball, so for every point V P[|W - V| <= r] <= P[s |xi| <= r] (Anderson 1955): V is the run
// without noise. (b) Directions in which no present row points see no data: there a step is W <- c
// W + s xi, and K epochs leave a Gaussian of variance s^2 (1 - c^{2KN}) / (1 - c^2) around c^{KN}
// W_0, which by Anderson again is no nearer to any point than around it. With m the number of such
// directions, at least F less the rank of the rows, the squared norm of that part of W is above the
// lower quantile of that variance times a chi-square with m C degrees of freedom. (a) needs that
// the last step was not projected, |W| < R,
// (b) that none was, of which |W| <= R / 2 is a sign and no proof.
#include <algorithm>
#include <cmath>

#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/solvers/langevin/langevin_constants.h"
#include "algorithms/solvers/langevin/langevin_solver.h"
#include "algorithms/unlearning/checks/checked_model.h"
#include "algorithms/unlearning/checks/noise_checks.h"
#include "algorithms/unlearning/checks/public_line.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

NoisySgd sgd_of(const LangevinState& state, const CheckedModel& model) {
  return noisy_sgd_of(state.constants, model.options, model.classes());
}

/// See above.
void check_least_noise(const CheckedModel& model, const TrainingSet& rows, const LangevinConstants& constants,
                       const NoisySgd& sgd, const LangevinState& state, double distance, Statements& say) {
  if (model.model.published.norm() > constants.radius * (1 - 1e-9)) return;
  const double step = std::sqrt(2 * constants.step_size) * constants.sigma;
  const auto weights = static_cast<double>(model.model.published.size());
  const auto too_little = [&](const std::string& what, double found, double deviation, double count) {
    const double least = deviation * std::sqrt(count * noise_factors(count).low);
    if (!(found < least)) return;
    say.wrong(what + " is " + text_of_json(Json(found)) + "; noise of sigma " + text_of_json(Json(constants.sigma)) +
              " leaves no less than " + text_of_json(Json(least)));
  };
  too_little("the distance of the published weights from a run without noise", distance, step, weights);
  const double epochs = sgd.iterations(state.last_epochs > 0 ? state.last_epochs : constants.epochs);
  const double deviation = step * std::sqrt(sgd.one_minus_power(2 * epochs) / sgd.one_minus_power(2));
  const auto unseen = static_cast<double>((rows.features() - most_directions(rows)) * model.classes());
  if (unseen > 0 && model.model.published.norm() <= constants.radius / 2)
    too_little("the part of the published weights that no row sees",
               norm_outside_span(rows, model.model.published) + kSpanError * model.model.published.norm(), deviation,
               unseen);
}

}  // namespace

void check_noisy_steps(const CheckedModel& model, Statements& say) {
  const SolverOptions& options = model.options;
  const LangevinState state = langevin_state(model.model);
  const LangevinConstants& constants = state.constants;
  const bool full_batches = model.model.solver == kLangevinFull.name;
  if (constants != choose_constants(full_batches, constants.slots, model.classes(), options))
    say.wrong("the constants of the run are not those that its options and slots give");
  const NoisySgd sgd = sgd_of(state, model);
  const NoisySgdConstants& of = sgd.constants();
  const std::pair<const char*, double> held[] = {{"learning_epochs", static_cast<double>(constants.epochs)},
                                                 {"sigma", constants.sigma},
                                                 {"step_size", of.step_size},
                                                 {"radius", of.radius},
                                                 {"gradient_bound", of.gradient_bound},
                                                 {"smoothness", of.smoothness},
                                                 {"strong_convexity", of.strong_convexity},
                                                 {"slots", static_cast<double>(constants.slots)},
                                                 {"batch_rows", static_cast<double>(of.batch_rows)},
                                                 {"batches", static_cast<double>(sgd.batches())},
                                                 {"order_key", static_cast<double>(constants.order_key)}};
  model.check_terms(held, say);
  say.near("distance", model.term("distance"), state.distance, 0);

  const bool learnt = state.last_epochs == 0;
  const std::uint64_t epochs = learnt ? constants.epochs : state.last_epochs;
  say.near("epochs", model.term("epochs"), static_cast<double>(epochs), 0);
  say.same("retrained", model.certificate.at("retrained"), learnt);
  say.same("budget", model.certificate.at("budget"), options.epsilon);
  if (epochs > constants.epochs) say.wrong("a request ran more epochs than a training");
  const bool anywhere = options.bound == BoundRule::kCorrected && state.from_anywhere();
  if (!learnt && anywhere) say.near("distance", state.distance, sgd.diameter(), 0);
  const LangevinAccountant accountant =
      anywhere ? accountant_from_anywhere(sgd, options) : accountant_of(constants, sgd, options);
  const double reached = learnt ? 0 : accountant.epsilon(state.distance, epochs, constants.sigma);
  say.near("the epsilon reached", model.number("residual_bound"), reached);
  if (model.certified()) {
    say.at_most("the epsilon reached", reached, "the target", options.epsilon);
    say.same("the delta reached", model.certificate.at("delta").at("reached"), options.delta);
    say.same("claim", model.certificate.at("claim"), "T2");
    if (!learnt && !anywhere && model.certificate.at("requests") != "non-adaptive")
      say.wrong("it is certified for adaptive requests, by an account that needs others");
    if (!learnt && !anywhere && model.certificate.at("releases") != "this")
      say.wrong("it is certified for later releases, by an account of its requests");
    if (options.bound == BoundRule::kPaper) say.wrong("it is certified, by bounds as printed");
  }
  say.at_most("the norm of the weights", model.model.published.norm(), "the radius", constants.radius * (1 + 1e-12));
}

bool check_noise_of_steps(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget, Statements& say) {
  const LangevinState state = langevin_state(model.model);
  const LangevinConstants& constants = state.constants;
  if (!check_filled(state.slots, rows.size(), say) || !model.certified()) return true;
  const NoisySgd sgd = sgd_of(state, model);
  Matrix still = Matrix::Zero(model.model.published.rows(), model.model.published.cols());
  RandomSource unused = RandomSource::from_seed(0, 0);
  const Reservation memory = budget.reserve(slot_bytes(state.slots.size()), "slots and batches of a model");
  const WatchedStep watched("training again", constants.epochs * sgd.batches(), "steps");
  try {
    run_epochs({sgd, rows, Batches(constants, state.slots, rows), model.options.head, 0}, constants.epochs, unused,
               still);
  } catch (const UsageError& error) {  // a row without a slot
    say.wrong(error.message());
    return true;
  }

  const double spread = std::sqrt(2 * constants.step_size / sgd.one_minus_power(2)) * constants.sigma;
  double most = spread * (std::sqrt(static_cast<double>(still.size())) + kSureDeviations) + 1e-9 * constants.radius;
  if (state.last_epochs > 0)
    most += sgd.power(sgd.iterations(state.last_epochs)) * state.distance +
            sgd.power(sgd.iterations(constants.epochs)) * sgd.diameter();
  const double distance = (model.model.published - still).norm();
  check_least_noise(model, rows, constants, sgd, state, distance, say);
  if (distance <= most) return true;
  say.wrong("the published weights stand " + text_of_json(Json(distance)) +
            " from a run without noise on the present rows; noise of sigma " + text_of_json(Json(constants.sigma)) +
            " on " + std::to_string(still.size()) + " weights carries them to " + text_of_json(Json(most)) +
            " at most");
  return true;
}

void check_noisy_line(const PublicLine& line) {
  static_cast<void>(line.slot_run());
  PublicLine::require_near("the budget", line.json().at("budget"), line.options().epsilon, 0);
  line.require_target_delta();
}

}  // namespace unweave
