// algorithms/api/training.cpp - learns a model on the present rows of a store, from nothing or from given weights.
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/evaluation/evaluation.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/learner.h"
#include "algorithms/models/model_name.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/registry/registry.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"
#include "unweave/version.h"

namespace unweave {
inline namespace v0 {
namespace {

std::optional<ModelRecord> present_model(const std::filesystem::path& store, const std::string& name) {
  for (const ModelSummary& model : list_models(store))
    if (model.damage.empty() && model.name == name) return load_model(store, name);
  return std::nullopt;
}

}  // namespace

std::vector<double> level_weights(const LiveStore& store, const TrainOptions& how) {
  const PropagationSpec& spec = store.embedding().spec();
  return how.weights.empty() ? spec.weights : scheme_weights("gpr", spec.levels, how.weights);
}

TrainedModel train_model(Internals::WriterState& writer, const TrainOptions& how, const StartFrom& start) {
  const std::string solver = how.solver.empty() ? std::string(default_solver().name) : how.solver;
  const std::string name = how.name.empty() ? solver : how.name;
  SolverOptions options = taken_options(solver, how.options);
  options.intercept = options.hidden.empty() && how.intercept.value_or(solver_entry(solver).intercept);
  require_options(solver, options);
  require_model_name(name, solver);
  LiveStore& store = writer.store;
  require_no_session(store, writer.in_session);
  static_cast<void>(store.deliver());  // what a session may have put off
  MemoryBudget& memory = writer.resources.memory();
  WorkMeter& meter = writer.resources.meter();
  const std::vector<double> weights = level_weights(store, how);

  TrainedModel trained;
  const DeclaredSizes sizes{solver, store.contents().num_nodes(), store.embedding().row_width(weights),
                            store.manifest().classes, options.head};
  if (sizes.classes > 0)
    trained.default_lambda = default_lambda(sizes);  // without labels training says what is missing
  options.lambda_chosen = how.lambda == LambdaChoice::given ? "given" : "default";
  if (how.lambda != LambdaChoice::given && sizes.classes > 0) options.lambda = trained.default_lambda;
  if (how.lambda == LambdaChoice::by_validation) {
    meter.start("lambda", kLambdaTrials, "trials");
    TunedLambda tuned = tune_lambda(store, memory, options, weights, [&](const LambdaTrial&) { meter.advance(1); });
    options.lambda = tuned.lambda;
    options.lambda_chosen = "validation at version " + std::to_string(store.sequence());
    trained.lambda_trials = std::move(tuned.trials);
  }
  if (how.before_replacement) {
    if (const std::optional<ModelRecord> present = present_model(store.path(), name))
      how.before_replacement(facts_of(*present), {name, solver, options, weights});
  }
  const Learner learner = [&] {
    const WatchedBy watched(meter);
    const StartOn start_on = [&](const TrainingSet& rows) { return start(options, weights, rows); };
    return Learner::train(store, memory, solver, options, weights, {true, std::string(version()), {}, how.key, {}},
                          name, start ? start_on : StartOn());
  }();
  store.record();
  trained.facts = facts_of(learner.record());
  trained.report = learner.last_step();
  trained.rows = learner.rows().size();
  trained.accuracies = evaluate_model(store, learner.record(), &learner.rows());
  trained.majority = majority_accuracies(store);
  trained.public_key = learner.public_key();
  return trained;
}

TrainedModel Writer::train(const TrainOptions& how) {
  return train_model(*state_, how, {});
}

}  // namespace v0
}  // namespace unweave
