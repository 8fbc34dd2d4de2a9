// algorithms/api/plan.cpp - forecasts: plans of the folders below, the room that there is, and the
// rates of the machine.
#include "unweave/plan.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/evaluation/regularisation.h"
#include "algorithms/evaluation/solver_trial.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/rank_plan.h"
#include "algorithms/live/rank_propagation.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge_plan.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/numerics/row_sweep.h"
#include "algorithms/propagation/plan.h"
#include "algorithms/propagation/propagation_forecast.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/planned_task.h"
#include "engine/ranks/planned_ranks.h"
#include "engine/resources/cost.h"
#include "engine/resources/machine_profile.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/watcher.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/message.h"

namespace unweave {
inline namespace v0 {
namespace {

constexpr double kExactSeconds = 1;  // that counting the rows may take unasked

std::uint64_t free_disk(const std::filesystem::path& store) {
  return free_disk_bytes(store).value_or(0);
}

std::uint64_t total(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// Whether the rows can be counted about as fast as one waits for an answer.
bool counts_fast(const PropagationWork& work, std::uint32_t levels, const std::optional<MachineProfile>& machine) {
  const double reads = machine ? machine->read_seconds(work.graph_bytes, work.graph_resident)
                               : work.graph_bytes * (1 - work.graph_resident) * cost::kUnknownByte;
  const double passes = levels - 1.0;
  return passes * work.terms * (work.decode_seconds + cost::kLookedUpArc) / work.threads + reads <= kExactSeconds;
}

/// What a training is of, as a store says it.
struct TrainingSizes {
  std::size_t rows = 0, width = 0, classes = 0;
  std::uint64_t declared = 0;  ///< nodes or graphs of which there may be rows
  RowProgram program;          ///< without weights before a propagation
};

/// Bytes of so many rows in the form in which a training holds them.
std::uint64_t bytes_of_rows(std::size_t rows, std::size_t features) {
  return std::uint64_t{rows} * features * sizeof(float);
}

std::size_t labelled_training_nodes(const Contents& contents) {
  const std::vector<NodeId>& train = contents.train();
  return static_cast<std::size_t>(
      std::count_if(train.begin(), train.end(), [&](NodeId node) { return contents.label(node) != kNoLabel; }));
}

TrainingSizes sizes_of(const LiveStore& store, const RowChoice& rows) {
  const Contents& contents = store.contents();
  const std::uint32_t columns = contents.features().columns(),
                      classes = rows.pair ? std::uint32_t{kPairClasses} : store.manifest().classes;
  if (columns > 0 && classes == 0 && store.manifest().pairs)
    throw DataError(store.path().string() + ": has no labels; give " + option("pair", "hadamard,by=16") +
                    ", which makes rows of pairs of nodes");
  if (columns == 0 || classes == 0)
    throw DataError(store.path().string() + ": has no features or no labels to learn from; import it with both");
  if (chooses_rows(rows))
    throw UsageError(option("rows-of", "auto") + " is for train: plan trains nothing; name what rows are made of, as " +
                     option("rows-of", "stack,labels"));
  TrainingSizes sizes{labelled_training_nodes(contents),
                      std::size_t{columns} * contents.order().copies(),
                      classes,
                      contents.order().users(),
                      {}};
  if (!store.propagated() && !is_given(rows)) return sizes;
  TrainOptions how;
  how.rows = rows;
  sizes.program = row_program(store, how);
  const std::unique_ptr<const RowUnits> units = row_units(store, sizes.program);
  units->require_training();
  sizes.rows = units->labelled(SplitName::train).size();
  sizes.width = units->width();
  sizes.declared = units->declared();
  return sizes;
}

void require_ranks(std::size_t ranks) {
  constexpr std::size_t kMostRanks = std::size_t{1} << 20;
  if (ranks == 0 || ranks > kMostRanks)
    throw UsageError(option("ranks") + " must be at least 1, and " + std::to_string(kMostRanks) + " at most");
}

}  // namespace

PropagationForecast forecast_propagation(const Reader& reader, const PropagationSpec& spec, RowCount count) {
  const LiveStore& store = Internals::store(reader);
  MemoryBudget& budget = Internals::resources(reader).memory();
  const Contents& contents = store.contents();
  if (contents.features().columns() == 0)
    throw DataError(store.path().string() + ": has no features to propagate; import it with " + option("features"));
  const std::optional<MachineProfile> machine = machine_profile(store.path(), budget, ProfileUse::kept_or_measured);
  PropagationWork work = survey_store(store.path(), store.manifest(), contents, spec);
  const bool exact =
      spec.all_rows || spec.levels < 2 || count == RowCount::exact || counts_fast(work, spec.levels, machine);
  const PropagationPlan plan =
      exact ? plan_propagation(contents, spec, budget) : estimate_propagation(contents, spec, budget);
  const StatePlan& state = plan.state;
  PropagationForecast forecast;
  forecast.rows = plan.rows;
  for (std::uint32_t l = 1; !spec.kept.has_sums() && l <= spec.levels; ++l)
    forecast.rows[l - 1] = keeps_rows(spec.kept, l, spec.levels) ? plan.rows.back() : 0;
  forecast.exact = exact;
  forecast.rows_error = exact ? std::vector<double>(plan.rows.size()) : plan.rows_error;
  forecast.arcs_error = std::accumulate(plan.arcs_error.begin(), plan.arcs_error.end(), 0.0);
  forecast.arcs = total(plan.arcs);
  forecast.tiles = state.tiles.tiles;
  forecast.tile_columns = state.tiles.width;
  forecast.memory_bytes = state.memory_bytes();
  forecast.tile_bytes = state.tiles.tile_bytes;
  forecast.worker_bytes = state.tiles.worker_bytes;
  forecast.write_buffer_bytes = state.buffer_bytes();
  forecast.memory_available_bytes = budget.available();
  forecast.state_bytes = state.state_bytes;
  forecast.feature_bytes = bytes_of(store.manifest().feature_files);
  forecast.cone_bytes = plan.cone_bytes;
  forecast.disk_bytes = state.disk_bytes + plan.cone_bytes;
  forecast.disk_free_bytes = free_disk(store.path());
  forecast.bytes_read = bytes_of(store.manifest().shards) + store.manifest().feature_pass_bytes() +
                        state.spooled_bytes + state.refill_bytes;
  forecast.bytes_written = state.state_bytes + state.spooled_bytes + plan.cone_bytes;
  if (plan.rows.empty() || !machine) return forecast;

  add_plan(plan, work);
  PropagationPace pace;
  pace.parts = predict_propagation(work, *machine);
  pace.seconds = pace.parts.total();
  pace.disk_bytes_per_second = machine->disk.write_bytes_per_second;
  if (pace.parts.sums > 0)
    pace.sweep_arc_features_per_second =
        static_cast<double>(forecast.arcs) * contents.features().columns() / pace.parts.sums;
  pace.waits_for_disk = pace.parts.waits_for_disk;
  pace.graph_resident = work.graph_resident;
  pace.features_resident = work.features_resident;
  forecast.pace = pace;
  return forecast;
}

RankPlan forecast_ranks(const Reader& reader, const PropagationSpec& spec, std::size_t ranks, bool by_rows) {
  require_ranks(ranks);
  RankPlan plan = plan_ranks(Internals::store(reader), spec, ranks, by_rows ? RankCut::rows : RankCut::columns,
                             Internals::resources(reader).memory());
  plan.disk_free_bytes = free_disk(reader.path());
  return plan;
}

RankCalls forecast_rank_batch(const Reader& reader, std::span<const Request> requests, std::size_t ranks) {
  require_ranks(ranks);
  return plan_batch(Internals::store(reader), requests, ranks);
}

RankTrainingForecast forecast_rank_training(const Reader& reader, std::string_view solver, const SolverOptions& options,
                                            std::size_t ranks, const RowChoice& rows) {
  require_ranks(ranks);
  require_over_ranks(solver, options);
  const TrainingSizes sizes = sizes_of(Internals::store(reader), rows);
  const std::size_t features = RowForm(1, options.intercept).features(sizes.width);
  RankTrainingForecast forecast;
  forecast.rows = sizes.rows;
  PlannedRanks job(ranks, 0);
  forecast.most_rows_of_a_rank = most_rows_of_a_rank({.count = sizes.rows, .ranks = &job});
  forecast.row_width = sizes.width;
  forecast.row_bytes = bytes_of_rows(forecast.most_rows_of_a_rank, features);
  forecast.passes = plan_passes(sizes.rows, features, sizes.classes, options.head, ranks);
  return forecast;
}

StreamForecast forecast_stream(Reader&& reader, std::span<const Request> first, std::uint64_t batches) {
  const Reader consumed = std::move(reader);
  StoreReader& store = Internals::store(consumed);
  StreamForecast forecast;
  if (auto machine = machine_profile(store.path(), store.budget(), ProfileUse::kept_or_measured))
    store.set_rates(*std::move(machine));
  forecast.first = store.resolve(first);
  forecast.disk_free_bytes = free_disk(store.path());
  forecast.memory_available_bytes = store.budget().available();
  forecast.stale_rows = store.propagated() ? store.embedding().stale_rows() : 0;
  forecast.plan = std::move(store).forecast(forecast.first, std::max<std::uint64_t>(1, batches));
  return forecast;
}

PurgeForecast forecast_purge(const Reader& reader, const PurgeOptions& options) {
  return {plan_purge(Internals::store(reader), options, Internals::resources(reader).memory()),
          free_disk(reader.path())};
}

namespace {

SolverTrial tried(const Reader& reader, std::string_view solver, const SolverOptions& options,
                  const RowProgram& program, std::size_t removed) {
  const LiveStore& store = Internals::store(reader);
  static_cast<void>(store.embedding());  // or it says what to run
  const WatchedBy watched(Internals::resources(reader).meter());
  return try_solver(store, Internals::resources(reader).memory(), solver, options, program, removed);
}

}  // namespace

UnlearningForecast forecast_unlearning(const Reader& reader, std::string_view solver, SolverOptions options,
                                       LambdaChoice lambda, std::size_t removed, const RowChoice& rows) {
  const LiveStore& store = Internals::store(reader);
  if (lambda == LambdaChoice::by_validation)
    throw UsageError(option("lambda", "auto") + " is for train: plan trains nothing; give a number");
  const TrainingSizes sizes = sizes_of(store, rows);
  UnlearningForecast forecast;
  forecast.rows = sizes.rows;
  forecast.row_width = sizes.width;
  forecast.has_edges = store.contents().graph().num_arcs() > 0;
  if (lambda == LambdaChoice::by_size)
    options.lambda = default_lambda({solver, sizes.declared, sizes.width, sizes.classes, options.head});
  const SolverEntry& entry = solver_entry(solver);
  options = taken_options(solver, std::move(options));
  require_options(solver, options);
  const std::size_t blocks = store.propagated() && sizes.program.only_levels() && entry.filters
                                 ? blocks_of(sizes.program.weights, store.embedding().levels())
                                 : 1;
  forecast.options = std::make_shared<const SolverOptions>(std::move(options));
  const SolverOptions& chosen = *forecast.options;
  const std::size_t features = RowForm(1, chosen.intercept).features(sizes.width);
  forecast.row_bytes = bytes_of_rows(sizes.rows, features);
  const PlannedTask task{forecast.rows,
                         NetworkShape{chosen.head, features, sizes.classes, chosen.hidden, chosen.activation,
                                      chosen.hidden.empty() ? 1 : blocks},
                         chosen, memory_shares::kSolver.of(Internals::resources(reader).memory())};
  forecast.disk_free_bytes = free_disk(store.path());
  if (entry.needs != nullptr)
    forecast.answer = entry.needs(task);
  else if (entry.plan != nullptr)
    forecast.answer = entry.plan(task);
  else
    forecast.answer = tried(reader, solver, chosen, sizes.program, removed);
  return forecast;
}

void require_disk(const Reader& reader, const TrainingNeeds& needs) {
  require_disk_room(reader.path(), needs.disk_bytes, needs.disk_label, needs.remedy);
}

RemovedRows::RemovedRows(const Reader& reader, std::uint64_t batch) : reader_(&reader), batch_(batch) {
  if (batch == 0) throw UsageError(option("batch") + " must be at least 1");
}

void RemovedRows::take(const Request& request) {
  const Contents& contents = Internals::store(*reader_).contents();
  if (number_++ % batch_ == 0) rows_.push_back(0);
  if (request.kind != RequestKind::remove_node || request.u >= contents.order().users()) return;
  const NodeId node = contents.order().position(static_cast<NodeId>(request.u));
  const std::vector<NodeId>& train = contents.train();
  if (contents.label(node) != kNoLabel && std::binary_search(train.begin(), train.end(), node) &&
      removed_.insert(node).second)
    ++rows_.back();
}

}  // namespace v0
}  // namespace unweave
