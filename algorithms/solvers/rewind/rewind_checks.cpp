// algorithms/solvers/rewind/rewind_checks.cpp - the last release of `rewind` or `descend` against
// its certificate.
//
// With batches in turn the law A(D') is a point plus noise: verify trains once more without noise,
// and the published weights must scatter around that point as in noise_checks.cpp, the
// certificate's distance being granted. With drawn batches every training ends elsewhere, so there
// the account alone is computed again.
#include <algorithm>
#include <cmath>

#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/solvers/rewind/rewind_solver.h"
#include "algorithms/solvers/rewind/rewind_state.h"
#include "algorithms/unlearning/checks/checked_model.h"
#include "algorithms/unlearning/checks/noise_checks.h"
#include "algorithms/unlearning/checks/public_line.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

bool descends(const CheckedModel& model) {
  return model.model.solver == kDescend.name;
}

RewindAccount account_of(const CheckedModel& model, const RewindConstants& constants) {
  return {descends(model), constants, model.features(), model.classes(), model.options};
}

void check_numbers(const CheckedModel& model, const RewindState& state, const RewindAccount& account, Statements& say) {
  const RewindConstants& constants = state.constants;
  const NoisySgdConstants& run = account.sgd().constants();
  const OutputNoise& noise = account.noise();
  const std::pair<const char*, double> numbers[] = {{"learning_epochs", static_cast<double>(constants.epochs)},
                                                    {"distance", noise.distance},
                                                    {"sensitivity", noise.sensitivity},
                                                    {"sigma", noise.sigma},
                                                    {"grid", noise.grid},
                                                    {"rounding", account.rounding()},
                                                    {"step_size", run.step_size},
                                                    {"radius", run.radius},
                                                    {"gradient_bound", run.gradient_bound},
                                                    {"smoothness", run.smoothness},
                                                    {"strong_convexity", run.strong_convexity},
                                                    {"slots", static_cast<double>(constants.slots)},
                                                    {"batch_rows", static_cast<double>(run.batch_rows)},
                                                    {"batches", static_cast<double>(account.sgd().batches())},
                                                    {"order_key", static_cast<double>(constants.order_key)},
                                                    {"sampling", static_cast<double>(constants.sampling)},
                                                    {"capacity", constants.capacity},
                                                    {"retention", constants.retention},
                                                    {"iterates", static_cast<double>(state.kept.size())}};
  model.check_terms(numbers, say);
}

void check_iterates(const CheckedModel& model, const RewindState& state, Statements& say) {
  for (const std::uint64_t epochs : state.kept) {
    try {
      static_cast<void>(read_iterate(model.folder, state, epochs, model.model.published));
    } catch (const DataError& error) {
      say.unreadable(error.message());
    }
  }
}

}  // namespace

void check_run_noise(const CheckedModel& model, Statements& say) {
  const RewindState state = rewind_state(model.model);
  const SolverOptions& options = model.options;
  if (state.constants !=
      choose_rewind_constants(descends(model), state.constants.slots, model.features(), model.classes(), options))
    say.wrong("the constants of the run are not those that its options and slots give");
  const RewindAccount account = account_of(model, state.constants);
  check_numbers(model, state, account, say);
  check_iterates(model, state, say);

  const bool learnt = state.last_epochs == 0;
  const std::uint64_t epochs = learnt ? state.constants.epochs : state.last_epochs;
  say.near("epochs", model.term("epochs"), static_cast<double>(epochs), 0);
  say.same("retrained", model.certificate.at("retrained"), learnt);
  say.near("budget", model.number("budget"), account.noise().distance);
  if (epochs > state.constants.epochs) return say.wrong("a request ran more epochs than a training");
  const double reached = learnt ? 0 : account.residual(account.change_of(state.changes()), epochs);
  say.near("residual_bound", model.number("residual_bound"), reached);
  if (model.certified()) {
    say.at_most("the residual bound", reached, "the budget", account.noise().distance);
    say.same("claim", model.certificate.at("claim"), "T4");
    if (options.bound == BoundRule::kPaper) say.wrong("it is certified, by bounds as printed");
    if (state.adaptive_requests && state.constants.sampling != Sampling::kInTurn)
      say.wrong("it is certified, after requests that may have been adaptive to drawn batches");
    if (state.lazy_rows) say.wrong("it is certified, after rows that were not exact");
    model.check_delta(
        state.constants.sampling == Sampling::kInTurn ? least_delta(account.noise(), options.epsilon) : options.delta,
        say);
  }
  check_grid(model.model.published, account.noise(), say);
}

bool check_run(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget, Statements& say) {
  const RewindState state = rewind_state(model.model);
  if (!check_filled(state.slots, rows.size(), say)) return true;
  if (!model.certified() || state.constants.sampling != Sampling::kInTurn) return true;
  const RewindAccount account = account_of(model, state.constants);
  Matrix retrained = Matrix::Zero(model.model.published.rows(), model.model.published.cols());
  RandomSource unused = RandomSource::from_seed(0, 0);
  const Reservation memory = budget.reserve(slot_bytes(state.slots.size()), "slots and batches of a model");
  const WatchedStep watched("training again", state.constants.epochs * account.sgd().batches(), "steps");
  try {
    run_epochs({account.sgd(), rows, Batches(state.constants, state.slots, rows), model.options.head, 0},
               state.constants.epochs, unused, retrained);
  } catch (const UsageError& error) {  // a row without a slot
    say.wrong(error.message());
    return true;
  }
  check_spread(model.model.published, retrained, "a training without noise", account.noise(),
               model.number("residual_bound") + account.rounding(), say);
  return true;
}

void check_run_line(bool descend, const PublicLine& line) {
  line.require_grid();
  RewindConstants run;
  static_cast<SlotRun&>(run) = line.slot_run();
  const std::uint64_t sampling = line.whole("sampling");
  if (sampling > 2) throw CheckError("its sampling is none");
  const SolverOptions options = line.run_options();
  run.sampling = static_cast<Sampling>(sampling);
  run.sigma =
      line.term("distance") * sigma_of(1, options.epsilon, options.delta);  // as chosen, before it was rounded up
  run.capacity = line.term("capacity");
  run.retention = line.term("retention");
  if (!(run.capacity >= 0 && run.capacity <= 1 && run.retention >= 1))
    throw CheckError("its capacity or its retention is none");
  static_cast<void>(line.weights());
  const RewindAccount account(descend, run, static_cast<std::size_t>(line.constant("features")),
                              static_cast<std::size_t>(line.constant("classes")), options);
  PublicLine::require_near("distance", line.term("distance"), account.noise().distance);
  PublicLine::require_near("the budget", line.json().at("budget"), account.noise().distance);
  PublicLine::require_near("rounding", line.term("rounding"), account.rounding());
  line.require_noise(account.noise());
  if (sampling != 0)
    line.require_target_delta();
  else
    line.require_delta_of_noise();
}

}  // namespace unweave
