// algorithms/api/training.cpp - learns a model on the present rows of a store, from nothing or from
// given weights.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/evaluation/evaluation.h"
#include "algorithms/evaluation/level_choice.h"
#include "algorithms/evaluation/regularisation.h"
#include "algorithms/evaluation/row_choice.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/learner.h"
#include "algorithms/models/model_name.h"
#include "algorithms/numerics/blas.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/registry/registry.h"
#include "algorithms/rows/row_block.h"
#include "algorithms/rows/row_maker.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/watcher.h"
#include "storage/formats/manifest.h"
#include "storage/io/error.h"
#include "unweave/ranks.h"
#include "unweave/version.h"

namespace unweave {
inline namespace v0 {
namespace {

constexpr const char* kChosenProgram = "auto";

std::optional<DominantColumn> dominant_column(const Manifest& manifest) {
  constexpr double kNearlyAll = 0.9;
  if (!manifest.propagation || manifest.features < 3) return std::nullopt;
  const std::vector<double>& norms = manifest.propagation->column_norms;
  const auto largest = std::max_element(norms.begin(), norms.end());
  const double share = *largest / std::accumulate(norms.begin(), norms.end(), 0.0);
  if (!(share >= kNearlyAll)) return std::nullopt;
  return DominantColumn{static_cast<std::uint32_t>(largest - norms.begin()), share};
}

std::optional<ModelRecord> present_model(const std::filesystem::path& store, const std::string& name) {
  for (const ModelSummary& model : list_models(store))
    if (model.damage.empty() && model.name == name) return load_model(store, name);
  return std::nullopt;
}

}  // namespace

RowProgram row_program(const LiveStore& store, const TrainOptions& how) {
  const PropagationSpec& spec = store.embedding().spec();
  RowProgram program(how.weights.empty() ? spec.weights : scheme_weights("gpr", spec.levels, how.weights));
  program.copies = how.rows.pair ? 1 : store.contents().order().copies();
  bool has_levels = how.rows.of.empty();
  for (const std::string& word : how.rows.of) {
    if (word == "levels" || word == "stack") {
      if (has_levels)
        throw UsageError(option("rows-of") + ": '" + word + "' is one too many; levels or stack stands there once");
      has_levels = true;
      if (word == "levels") continue;
      if (!how.weights.empty() || how.choose_weights)
        throw UsageError(option("rows-of", "stack") + " has every level once, and " + option("weights") +
                         " weighs them; give one of both");
      program.weights = scheme_weights("stack", spec.levels, {});
    } else if (word != kChosenProgram) {
      static_cast<void>(row_block(word));
      program.blocks.push_back(word);
    }
  }
  if (!has_levels && how.rows.of != std::vector<std::string>{kChosenProgram})
    throw UsageError(option("rows-of") + ": '" + how.rows.of.front() +
                     "' stands beside weighted levels or beside all of them; say levels," + how.rows.of.front() +
                     " or stack," + how.rows.of.front());
  const auto place = [](const std::string& name) { return &row_block(name); };
  std::sort(program.blocks.begin(), program.blocks.end(),
            [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
  require_blocks(program.blocks);
  program.pair = how.rows.pair;
  program.pool = how.rows.pool;
  program.lift = how.rows.lift;
  if (program.lift && program.lift->of_nodes && program.unit() == RowUnit::node)
    throw UsageError(option("lift", text_of(*program.lift)) +
                     ": rows of nodes have their lift at nodes anyway; leave at=node away, or give " + option("pair") +
                     " or " + option("pool"));
  program.scale = how.rows.scale.value_or(how.rows.lift ? RowScale::unit : RowScale::clip);
  hold_level_0_once(program, spec.levels);
  return program;
}

bool chooses_rows(const RowChoice& rows) {
  return std::find(rows.of.begin(), rows.of.end(), kChosenProgram) != rows.of.end();
}

bool is_given(const RowChoice& rows) {
  return rows.of.size() > 1 || (rows.of.size() == 1 && rows.of.front() != "levels") || rows.scale || rows.pool ||
         rows.pair || rows.lift;
}

namespace {

/// What a training is of, once its store is open.
struct TrainingTask {
  std::string solver, name;
  SolverOptions options;
  RowProgram rows;
};

/// Throws UsageError before a store is opened.
TrainingTask task_of(const TrainOptions& how) {
  TrainingTask task;
  task.solver = how.solver.empty() ? std::string(default_solver().name) : how.solver;
  task.name = how.name.empty() ? task.solver : how.name;
  if (how.choose_weights && !how.weights.empty())
    throw UsageError(option("weights") + ": numbers, or auto, and not both");
  const RowChoice& rows = how.rows;
  if (chooses_rows(rows)) {
    if (rows.pair)
      throw UsageError(option("rows-of", kChosenProgram) + " tries rows of nodes and of graphs, and " + option("pair") +
                       " makes rows of pairs; name the blocks, as " + option("rows-of", "stack"));
    if (rows.of.size() > 1 || rows.scale || rows.lift || how.choose_weights || !how.weights.empty())
      throw UsageError(option("rows-of", kChosenProgram) + " chooses blocks, weights, scale and lift; leave these out");
  }
  task.options = taken_options(task.solver, how.options);
  if (rows.pool) task.options.unit = RowUnit::graph;
  task.options.intercept = task.options.hidden.empty() && how.intercept.value_or(solver_entry(task.solver).intercept);
  require_options(task.solver, task.options);
  require_model_name(task.name, task.solver);
  return task;
}

/// Weights of the levels and lambda, and what is to be told of that. With `ranks` all call it.
void complete(TrainingTask& task, const LiveStore& store, Resources& resources, const TrainOptions& how, Ranks* ranks,
              TrainedModel& trained) {
  task.rows = row_program(store, how);
  SolverOptions& options = task.options;
  if (!how.weights.empty()) options.weights_chosen = "given";
  if (std::find(how.rows.of.begin(), how.rows.of.end(), "stack") != how.rows.of.end())
    options.weights_chosen = kStackedWeights;
  const DeclaredSizes sizes{
      task.solver, row_units(store, task.rows)->declared(),
      width_of(task.rows, store.embedding().levels(), store.manifest().features, store.manifest().classes),
      task.rows.classes(store.manifest().classes), options.head};
  if (sizes.classes > 0)
    trained.default_lambda = default_lambda(sizes);  // without labels training says what is missing
  options.lambda_chosen = how.lambda == LambdaChoice::given ? "given" : kDefaultLambda;
  if (how.lambda != LambdaChoice::given && sizes.classes > 0) options.lambda = trained.default_lambda;
  const std::string chosen_by = "validation at version " + std::to_string(store.sequence());
  WorkMeter& meter = resources.meter();
  if (how.choose_weights) {
    const std::vector<std::vector<double>> candidates =
        candidate_weights(store.embedding().spec().levels, task.rows.weights);
    meter.start("weights", candidates.size(), "trials");
    ChosenWeights chosen = choose_weights(
        store, resources.memory(), options, task.rows, candidates, [&](const WeightsTrial&) { meter.advance(1); },
        ranks);
    task.rows.weights = std::move(chosen.weights);
    hold_level_0_once(task.rows, store.embedding().levels());
    options.weights_chosen = chosen_by;
    trained.weights_trials = std::move(chosen.trials);
  }
  const bool tunes_lambda = how.lambda == LambdaChoice::by_validation;
  if (chooses_rows(how.rows)) {
    const std::vector<RowProgram> candidates =
        candidate_programs(store.embedding().spec(), store.manifest().features, store.manifest().classes,
                           store.contents().order().copies(), how.rows.pool);
    meter.start("rows", candidates.size(), "trials");
    ChosenProgram chosen = choose_rows(
        store, resources.memory(), options, candidates, tunes_lambda, [&](const RowsTrial&) { meter.advance(1); },
        ranks);
    task.rows = std::move(chosen.rows);
    options.lambda = chosen.lambda;
    options.weights_chosen = kRowsByValidation + std::to_string(store.sequence());
    if (tunes_lambda) options.lambda_chosen = chosen_by;
    trained.rows_trials = std::move(chosen.trials);
  } else if (tunes_lambda) {
    meter.start("lambda", kLambdaTrials, "trials");
    TunedLambda tuned = tune_lambda(
        store, resources.memory(), options, task.rows, [&](const LambdaTrial&) { meter.advance(1); }, ranks);
    options.lambda = tuned.lambda;
    options.lambda_chosen = chosen_by;
    trained.lambda_trials = std::move(tuned.trials);
  }
}

TrainedModel train_task(Internals::WriterState& writer, TrainingTask task, const TrainOptions& how,
                        const StartFrom& start, Ranks* ranks) {
  StoreWriter& store = writer.store();
  TrainedModel trained;
  require_log_of(store.path(), task.name, task.solver);  // before anything is chosen, or told of
  complete(task, store, writer.resources, how, ranks, trained);
  const std::unique_ptr<const RowUnits> units = row_units(store, task.rows);  // what is refused replaces nothing
  if (how.before_replacement) {
    units->require_training();
    if (const std::optional<ModelRecord> present = present_model(store.path(), task.name))
      how.before_replacement(facts_of(*present), {task.name, task.solver, task.options, task.rows});
  }
  const Learner learner = [&] {
    const WatchedBy watched(writer.resources.meter());
    const StartOn start_on = [&](const TrainingSet& rows) { return start(task.options, task.rows, rows); };
    return Learner::train(store, writer.resources.memory(), task.solver, task.options, task.rows,
                          {true, std::string(version()), {}, how.key, {}}, task.name, start ? start_on : StartOn(),
                          ranks);
  }();
  store.record();
  trained.facts = facts_of(learner.record());
  trained.report = learner.last_step();
  trained.rows = learner.rows().size();
  trained.accuracies = evaluate_model(store, learner.record(), &learner.rows());
  trained.majority = majority_accuracies(*units);
  trained.dominant = dominant_column(store.manifest());
  trained.public_key = learner.public_key();
  return trained;
}

/// A task that ranks share. What each of them computes for itself must have the same bits, since it
/// decides how they go on.
TrainingTask shared_task(const TrainOptions& how, Ranks& ranks) {
  if (how.rows.pair)
    throw UsageError(option("pair") + " is for one process: every rank would need the rows of all nodes; start the " +
                     "program without a launcher");
  TrainingTask task = task_of(how);
  require_over_ranks(task.solver, task.options);
  const std::string mine = product_kernels(), first = from_first(mine, ranks);
  if (mine != first)
    throw UsageError("rank " + std::to_string(ranks.rank()) + " multiplies with the kernels " + mine +
                     " and rank 0 with " + first +
                     ", which round in other ways; give all ranks processors of one kind");
  return task;
}

}  // namespace

TrainedModel train_model(Internals::WriterState& writer, const TrainOptions& how, const StartFrom& start) {
  TrainingTask task = task_of(how);
  require_no_session(writer.store(), writer.in_session);
  static_cast<void>(writer.store().settle());  // what a session may have put off
  return train_task(writer, std::move(task), how, start, nullptr);
}

TrainedModel Writer::train(const TrainOptions& how) {
  Ranks& ranks = Ranks::world();
  if (ranks.alone()) return train_model(*state_, how, {});
  TrainingTask task = shared_task(how, ranks);
  require_no_session(state_->store(), state_->in_session);
  require_same(path(), "contents", state_->store().moment(), ranks);
  return train_task(*state_, std::move(task), how, {}, &ranks);
}

void follow_training(const Reader& reader, const TrainOptions& how) {
  Ranks& ranks = Ranks::world();
  const LiveStore& store = Internals::store(reader);
  Resources& resources = Internals::resources(reader);
  TrainingTask task = shared_task(how, ranks);
  require_same(store.path(), "contents", store.moment(), ranks);
  TrainedModel told_by_first;
  complete(task, store, resources, how, &ranks, told_by_first);
  const TrainedAlong along = [&] {
    const WatchedBy watched(resources.meter());
    return train_along(store, resources.memory(), task.solver, task.options, task.rows, ranks);
  }();
  static_cast<void>(evaluate_model(store, along.record, &along.rows.set()));
}

}  // namespace v0
}  // namespace unweave
