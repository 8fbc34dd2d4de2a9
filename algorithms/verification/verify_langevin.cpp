// algorithms/verification/verify_langevin.cpp - the last release of `langevin` against its certificate.
//
// How far noise can carry the weights. Let V be a run of A without noise on the present rows and X one with noise, both
// from W = 0, e_k = X_k - V_k. A step maps e to something of norm at most |a + s xi|, where a = G(X) - G(V) does not
// depend on xi and |a| <= c |e|, since the projection does not stretch. So E |e_k|^2 <= c^2 E |e_{k-1}|^2 + s^2 N with N
// the coordinates, and E |e|^2 <= s^2 N / (1 - c^2) =: r^2 N. As a function of all xi, |e| has the Lipschitz constant r
// (xi_j counts s c^{k-j}), hence by Gaussian concentration |e| > r (sqrt N + t) has probability at most exp(-t^2/2). A
// release that was unlearnt stands within Z c^{KN} + 2R c^{(T-K)N + KN} of a coupled X (THEOREMS.md, T2). This finds
// weights that stand too far away. Too little noise it cannot see: the law of W has no closed form.
#include <algorithm>
#include <cmath>

#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/solvers/langevin/langevin_constants.h"
#include "algorithms/verification/verify_statements.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kDeviations = 6.6;  // of a false alarm: probability below 1e-9

NoisySgd sgd_of(const ModelRecord& record) {
  return noisy_sgd_of(record.model.langevin->constants, record.options, size_of(record.model.published.cols()));
}

void check_terms(const LangevinConstants& constants, const NoisySgd& sgd, const Json& terms, Statements& say) {
  const NoisySgdConstants& of = sgd.constants();
  const std::pair<const char*, double> numbers[] = {{"learning_epochs", static_cast<double>(constants.epochs)},
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
  for (const auto& [name, value] : numbers) say.near(name, terms.at(name).get<double>(), value);
}

}  // namespace

void check_noisy_steps(const ModelRecord& record, const Json& certificate, Statements& say) {
  const Model& model = record.model;
  const SolverOptions& options = record.options;
  if (!model.langevin) return say.wrong("the model file holds no slots");
  const LangevinState& state = *model.langevin;
  const LangevinConstants& constants = state.constants;
  const LangevinConstants chosen =
      choose_constants(model.solver == "langevin-full", constants.slots, size_of(model.published.cols()), options);
  if (constants != chosen) say.wrong("the constants of the run are not those that its options and slots give");
  const NoisySgd sgd = sgd_of(record);
  const Json& terms = certificate.at("terms");
  check_terms(constants, sgd, terms, say);
  say.near("distance", terms.at("distance").get<double>(), state.distance, 0);

  const bool learnt = state.last_epochs == 0;
  const std::uint64_t epochs = learnt ? constants.epochs : state.last_epochs;
  say.near("epochs", terms.at("epochs").get<double>(), static_cast<double>(epochs), 0);
  say.same("retrained", certificate.at("retrained"), learnt);
  say.same("budget", certificate.at("budget"), options.epsilon);
  if (epochs > constants.epochs) say.wrong("a request ran more epochs than a training");
  const double reached =
      learnt ? 0 : accountant_of(constants, sgd, options).epsilon(state.distance, epochs, constants.sigma);
  say.near("the epsilon reached", certificate.at("residual_bound").get<double>(), reached);
  if (certificate.at("certified").get<bool>()) {
    say.at_most("the epsilon reached", reached, "the target", options.epsilon);
    say.same("the delta reached", certificate.at("delta").at("reached"), options.delta);
    say.same("claim", certificate.at("claim"), "T2");
    if (state.adaptive_requests) say.wrong("it is certified, after requests that may have been adaptive");
    if (state.lazy_rows) say.wrong("it is certified, after rows that were not exact");
    if (options.bound == BoundRule::kPaper) say.wrong("it is certified, by bounds as printed");
  }
  say.at_most("the norm of the weights", model.published.norm(), "the radius", constants.radius * (1 + 1e-12));
}

void check_noise_of_steps(const ModelRecord& record, const TrainingSet& rows, const Json& certificate,
                          MemoryBudget& budget, Statements& say) {
  const LangevinState& state = *record.model.langevin;
  const LangevinConstants& constants = state.constants;
  const auto filled = static_cast<std::size_t>(
      std::count_if(state.slots.begin(), state.slots.end(), [](NodeId node) { return node != kNoNode; }));
  if (filled != rows.size())
    return say.wrong(std::to_string(filled) + " slots are filled, there are " + std::to_string(rows.size()) + " rows");
  if (!certificate.at("certified").get<bool>()) return;
  const NoisySgd sgd = sgd_of(record);
  Matrix still = Matrix::Zero(record.model.published.rows(), record.model.published.cols());
  RandomSource unused = RandomSource::from_seed(0, 0);
  const Reservation memory = budget.reserve(slot_bytes(state.slots.size()), "slots and batches of a model");
  const WatchedStep watched("training again", constants.epochs * sgd.batches(), "steps");
  try {
    run_epochs({sgd, rows, Batches(constants, state.slots, rows), record.options.head, 0}, constants.epochs, unused,
               still);
  } catch (const UsageError& error) {  // a row without a slot
    return say.wrong(error.what());
  }

  const double spread = std::sqrt(2 * constants.step_size / sgd.one_minus_power(2)) * constants.sigma;
  double most = spread * (std::sqrt(static_cast<double>(still.size())) + kDeviations) + 1e-9 * constants.radius;
  if (state.last_epochs > 0)
    most += sgd.power(sgd.iterations(state.last_epochs)) * state.distance +
            sgd.power(sgd.iterations(constants.epochs)) * sgd.diameter();
  const double distance = (record.model.published - still).norm();
  if (distance <= most) return;
  say.wrong("the published weights stand " + Json(distance).dump() +
            " from a run without noise on the present rows; noise of sigma " + Json(constants.sigma).dump() + " on " +
            std::to_string(still.size()) + " weights carries them to " + Json(most).dump() + " at most");
}

}  // namespace unweave
