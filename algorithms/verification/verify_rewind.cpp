// algorithms/verification/verify_rewind.cpp - the last release of `rewind` or `descend` against its certificate.
//
// With batches in turn the law A(D') is a point plus noise: verify trains once more without noise, and the published
// weights must scatter around that point as in verify_release.cpp, the certificate's distance being granted. With drawn
// batches every training ends elsewhere, so there the account alone is computed again.
#include <algorithm>
#include <cmath>

#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/solvers/rewind/rewind_state.h"
#include "algorithms/verification/verify_statements.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

RewindAccount account_of(const ModelRecord& record, const RewindConstants& constants) {
  const Matrix& published = record.model.published;
  return {record.model.solver == "descend", constants, size_of(published.rows()), size_of(published.cols()),
          record.options};
}

void check_terms(const RewindState& state, const RewindAccount& account, const Json& terms, Statements& say) {
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
  for (const auto& [name, value] : numbers) say.near(name, terms.at(name).get<double>(), value);
}

}  // namespace

void check_run_noise(const ModelRecord& record, const Json& certificate, Statements& say) {
  const RewindState state = state_of(record.model);
  const SolverOptions& options = record.options;
  const Matrix& published = record.model.published;
  const bool descend = record.model.solver == "descend";
  if (state.constants != choose_rewind_constants(descend, state.constants.slots, size_of(published.rows()),
                                                 size_of(published.cols()), options))
    say.wrong("the constants of the run are not those that its options and slots give");
  const RewindAccount account = account_of(record, state.constants);
  const Json& terms = certificate.at("terms");
  check_terms(state, account, terms, say);

  const bool learnt = state.last_epochs == 0;
  const std::uint64_t epochs = learnt ? state.constants.epochs : state.last_epochs;
  say.near("epochs", terms.at("epochs").get<double>(), static_cast<double>(epochs), 0);
  say.same("retrained", certificate.at("retrained"), learnt);
  say.near("budget", certificate.at("budget").get<double>(), account.noise().distance);
  if (epochs > state.constants.epochs) return say.wrong("a request ran more epochs than a training");
  const double reached = learnt ? 0 : account.residual(account.change_of(state.changes()), epochs);
  say.near("residual_bound", certificate.at("residual_bound").get<double>(), reached);
  if (certificate.at("certified").get<bool>()) {
    say.at_most("the residual bound", reached, "the budget", account.noise().distance);
    say.same("claim", certificate.at("claim"), "T4");
    if (options.bound == BoundRule::kPaper) say.wrong("it is certified, by bounds as printed");
    if (state.adaptive_requests && state.constants.sampling != Sampling::kInTurn)
      say.wrong("it is certified, after requests that may have been adaptive to drawn batches");
    if (state.lazy_rows) say.wrong("it is certified, after rows that were not exact");
    const OutputNoise& noise = account.noise();
    const double smoothed = std::sqrt(noise.sigma * noise.sigma - 9 * noise.grid * noise.grid);
    const double delta = state.constants.sampling == Sampling::kInTurn
                             ? delta_of(noise.sensitivity, smoothed, options.epsilon)
                             : options.delta;
    const double said = certificate.at("delta").at("reached").get<double>();
    say.near("the delta reached", said, delta, 1e-8);
    say.at_most("the delta reached", said, "the target", options.delta);
  }
  check_grid(published, account.noise(), say);
}

void check_iterates(const ModelRecord& record, const std::filesystem::path& store, VerifyReport& report) {
  const RewindState state = state_of(record.model);
  for (const std::uint64_t epochs : state.kept) {
    try {
      static_cast<void>(read_iterate(folder_of(store, name_of(record)), state, epochs, record.model.published));
    } catch (const DataError& error) {
      report.findings.push_back({true, error.what()});
    }
  }
}

void check_run(const ModelRecord& record, const TrainingSet& rows, const Json& certificate, MemoryBudget& budget,
               Statements& say) {
  const RewindState state = state_of(record.model);
  const auto filled = static_cast<std::size_t>(
      std::count_if(state.slots.begin(), state.slots.end(), [](NodeId node) { return node != kNoNode; }));
  if (filled != rows.size())
    return say.wrong(std::to_string(filled) + " slots are filled, there are " + std::to_string(rows.size()) + " rows");
  if (!certificate.at("certified").get<bool>() || state.constants.sampling != Sampling::kInTurn) return;
  const RewindAccount account = account_of(record, state.constants);
  Matrix retrained = Matrix::Zero(record.model.published.rows(), record.model.published.cols());
  RandomSource unused = RandomSource::from_seed(0, 0);
  const Reservation memory = budget.reserve(slot_bytes(state.slots.size()), "slots and batches of a model");
  const WatchedStep watched("training again", state.constants.epochs * account.sgd().batches(), "steps");
  try {
    run_epochs({account.sgd(), rows, Batches(state.constants, state.slots, rows), record.options.head, 0},
               state.constants.epochs, unused, retrained);
  } catch (const UsageError& error) {  // a row without a slot
    return say.wrong(error.what());
  }
  check_spread(record.model.published, retrained, "a training without noise", account.noise(),
               certificate.at("residual_bound").get<double>() + account.rounding(), say);
}

}  // namespace unweave
