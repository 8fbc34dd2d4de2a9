// algorithms/solvers/hessian_free/hessian_free_checks.cpp - a model of hessian-free against its
// certificate, its files and a run of its own.
//
// The published weights are the clean ones plus noise, which tells too much and too little of it;
// the clean ones stand within the distance reached of a run on the present rows, made again here.
// Where no distance is known nothing is compared with that run.
#include <cmath>

#include "algorithms/sgd/sgd_run.h"
#include "algorithms/solvers/hessian_free/hessian_free_solver.h"
#include "algorithms/solvers/hessian_free/hessian_free_state.h"
#include "algorithms/unlearning/checks/checked_model.h"
#include "algorithms/unlearning/checks/noise_checks.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

void check_files(const HessianFreeState& state, const std::filesystem::path& folder, Statements& say) {
  if (!state.statistics) return;
  const SgdSchedule schedule(state.constants.sgd);
  const RecordLayout layout = layout_of(state.constants);
  std::vector<bool> held(layout.records(), false), removed(layout.records(), false);
  for (std::uint64_t slot = 0; slot < state.slots.size(); ++slot)
    if (state.slots[slot] != kNoNode) held[layout.record_of(schedule, slot)] = true;
  for (const std::uint64_t record : state.removed) {
    if (record >= removed.size()) return say.wrong("a removed record is none of the run's");
    removed[record] = true;
  }
  const std::uint64_t rows = state.constants.sgd.partition_rows, size = size_of(state.clean.size());
  for (std::uint64_t first = 0; first < held.size(); first += rows) {
    const std::uint64_t file = first / rows;
    const StatisticsFile statistics(statistics_path(folder, state.run, file),
                                    statistics_shape(state.constants, state.run, size, file), false);
    for (std::uint64_t record = first; record < std::min<std::uint64_t>(held.size(), first + rows); ++record) {
      const bool there = statistics.read(record - first).has_value();
      if (held[record] && !there)
        return say.wrong("the vector of record " + std::to_string(record) + " is erased, and its rows are there");
      if (removed[record] && there)
        return say.wrong("the vector of record " + std::to_string(record) + " is there, and its rows were removed");
    }
  }
}

}  // namespace

void check_hessian_free(const CheckedModel& model, Statements& say) {
  const SolverOptions& options = model.options;
  const HessianFreeState state = hessian_free_state(model.model);
  const NetworkShape shape = shape_of(model.model);
  const HessianFreeConstants& constants = state.constants;
  if (constants != choose_constants(shape, constants.sgd.slots, options))
    return say.wrong("the constants of the run are not those that its options and slots give");  // and may be absurd
  const OutputNoise noise = release_noise(state, shape, options);
  const std::pair<const char*, double> numbers[] = {
      {"s_max", constants.largest_shift},
      {"sensitivity", noise.sensitivity},
      {"sigma", noise.sigma},
      {"grid", noise.grid},
      {"slots", static_cast<double>(constants.sgd.slots)},
      {"epochs", static_cast<double>(constants.sgd.epochs)},
      {"batch_rows", static_cast<double>(constants.sgd.batch_rows)},
      {"partition_rows", static_cast<double>(constants.sgd.partition_rows)},
      {"step_size", constants.sgd.step_size},
      {"decay", constants.sgd.decay},
      {"order_key", static_cast<double>(constants.sgd.order_key)},
      {"group_rows", static_cast<double>(constants.group_rows)},
      {"removed_records", static_cast<double>(state.removed.size())},
      {"encoding_error", state.error}};
  model.check_terms(numbers, say);
  say.near("budget", model.number("budget"), constants.largest_shift);
  const double reached = distance_of(state, shape, options.lambda, model.form.norm_bound());
  const Json& bound = model.certificate.at("residual_bound");
  if (bound.is_null() != !std::isfinite(reached))
    say.wrong("residual_bound is " + text_of_json(bound) + " in the certificate, computed again it is " +
              text_of_json(Json(reached)));
  else if (std::isfinite(reached))
    say.near("residual_bound", bound.get<double>(), reached);
  if (model.certified()) {
    if (!shape.hidden.empty() || options.bound == BoundRule::kPaper)
      say.wrong("it is certified, and no theorem covers hidden layers or printed bounds");
    say.at_most("the distance reached", reached, "the budget", constants.largest_shift);
    say.same("claim", model.certificate.at("claim"), "T3");
    model.check_delta(least_delta(noise, options.epsilon), say);
  }
  check_grid(model.model.published, noise, say);
  check_files(state, model.folder, say);
}

bool check_end_of_run(const CheckedModel& model, const TrainingSet& rows, MemoryBudget&, Statements& say) {
  const HessianFreeState state = hessian_free_state(model.model);
  const NetworkShape shape = shape_of(model.model);
  const OutputNoise noise = release_noise(state, shape, model.options);
  const Matrix& published = model.model.published;
  const Matrix clean = Eigen::Map<const Matrix>(state.clean.data(), published.rows(), published.cols());
  check_spread(published, clean, "the weights without noise", noise, 0, say);
  const double reached = distance_of(state, shape, model.options.lambda, model.form.norm_bound());
  if (!std::isfinite(reached)) return true;
  const Network network(shape);
  const SgdSchedule schedule(state.constants.sgd);
  const SgdEnd end = end_of_run(SgdRun(network, rows, schedule, state.slots, model.options.lambda));
  const double distance = (state.clean - end.weights).norm();
  say.at_most("the distance of the weights without noise from a run on the present rows", distance,
              "the distance reached", reached + kStatisticsGrid * std::sqrt(static_cast<double>(published.size())));
  return true;
}

}  // namespace unweave
