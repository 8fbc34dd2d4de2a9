// tools/commands/train.cpp - `unweave train`: a model on the training rows, saved in the store.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/evaluation/regularisation.h"
#include "algorithms/models/learner.h"
#include "algorithms/models/model_name.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/registry/registry.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"
#include "tools/bench/measure.h"
#include "tools/cli/output.h"
#include "tools/cli/step_progress.h"
#include "tools/cli/version.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_notes.h"
#include "tools/commands/model_output.h"
#include "tools/commands/propagation_options.h"
#include "tools/commands/solver_options.h"

namespace unweave {
namespace {

/// The name under which a step reports the value that it used.
std::string term_of(const Parameter& own) {
  std::string term(own.name);
  std::replace(term.begin(), term.end(), '-', '_');
  return term;
}

/// Beyond this factor between a given lambda and the default one the user is told.
constexpr double kFarFromDefault = 100;

/// lambda where none was given, or `auto`. Returns the trials, none without them.
std::vector<LambdaTrial> settle_lambda(const CommandLine& line, const LiveStore& store, MemoryBudget& budget,
                                       const std::vector<double>& weights, SolverOptions& options) {
  const DeclaredSizes sizes{line.get<std::string>("solver"), store.contents().num_nodes(),
                            store.embedding().row_width(weights), store.manifest().classes, options.head};
  if (sizes.classes > 0) choose_lambda(line, sizes, options);  // without labels training says what is missing
  if (!tunes_lambda(line)) return {};
  StepProgress progress(line.error(), line.shows_progress());
  progress.start("lambda", kLambdaTrials, "trials");
  TunedLambda tuned = tune_lambda(store, budget, options, weights, [&](const LambdaTrial&) { progress.advance(1); });
  progress.finish();
  options.lambda = tuned.lambda;
  options.lambda_chosen = "validation at version " + std::to_string(store.sequence());
  return tuned.trials;
}

/// What a user would want to know before using the model.
void warn(const CommandLine& line, const LiveStore& store, const SolverOptions& options, const Accuracies& accuracies,
          const std::vector<double>& weights) {
  if (line.common().quiet) return;
  const DeclaredSizes sizes{line.get<std::string>("solver"), store.contents().num_nodes(),
                            store.embedding().row_width(weights), store.manifest().classes, options.head};
  const double usual = default_lambda(sizes), ratio = options.lambda / usual;
  if (ratio > kFarFromDefault || ratio < 1 / kFarFromDefault)
    line.error() << "note: lambda " << number_text(options.lambda) << " is far from the default for this store, "
                 << number_text(usual) << (ratio > 1 ? ": weights are drawn towards 0" : "")
                 << "; --lambda auto compares nine values on the validation split\n";
  const Accuracies majority = majority_accuracies(store);
  const std::tuple<const char*, std::optional<double>, std::optional<double>> splits[] = {
      {"validation", accuracies.valid, majority.valid},
      {"test", accuracies.test, majority.test},
      {"training", accuracies.train, majority.train}};
  for (const auto& [split, own, always] : splits) {
    if (!own || !always) continue;
    if (*own <= *always)
      line.error() << "warning: accuracy on the " << split << " split is " << accuracy_text(own)
                   << ", and always naming the most frequent class would reach " << accuracy_text(always)
                   << "; try --lambda auto, or look at per-class figures with `unweave evaluate`\n";
    return;
  }
}

}  // namespace

void run_train(CommandLine& line) {
  const std::string solvers = names_of_solvers();
  line.describe("Learns a model on the training rows and saves it in the store.", {"STORE"},
                "unweave train demo/debian.store --solver newton");
  auto add = line.options().add_options();
  add("solver", po::value<std::string>()->value_name("NAME")->default_value(std::string(default_solver().name)),
      solvers.c_str());
  add_name_option(line, "name of the model: letters, digits, - and _; default: its solver's");
  add("weights", po::value<RealList>()->value_name("W"), "L + 1 weights of the levels; default: as propagated");
  add_solver_options(line);
  add_key_option(line);
  if (!line.parse()) return;
  line.on_interrupt("the store is whole, with its model of before or the new one; run the command again");

  Measure measure;
  const std::string& solver = line.get<std::string>("solver");
  SolverOptions options = read_solver_options(line, solver);
  require_options(solver, options);  // wrong usage is told before the store is read
  const std::string name = line.has("name") ? line.get<std::string>("name") : solver;
  require_model_name(name, solver);
  MemoryBudget budget(line.budget_bytes());
  LiveStore store(line.positional(0), Access::write, budget, release_ledger());
  const std::vector<double> weights = read_row_weights(line, store.embedding().spec());
  const std::vector<LambdaTrial> trials = settle_lambda(line, store, budget, weights, options);
  ModelRecord next;
  next.model.solver = solver;
  next.name = name;
  next.options = options;
  next.weights = weights;
  note_replaced_model(line, store.path(), next);
  StepProgress progress(line.error(), line.shows_progress());
  const Learner learner = [&] {
    const WatchedBy watched(progress);
    return Learner::train(store, budget, solver, options, weights,
                          {true, std::string(version()), {}, key_file(line), {}}, name);
  }();
  progress.finish();
  store.record();
  const StepReport& report = learner.last_step();
  const Accuracies accuracies = evaluate_model(store, learner.record(), &learner.rows());
  warn(line, store, options, accuracies, weights);

  if (line.common().json) {
    nlohmann::ordered_json json = {{"solver", solver}, {"name", name}};
    measure.report(json);
    json["lambda"] = options.lambda;
    json["lambda_chosen"] = options.lambda_chosen;
    for (const LambdaTrial& trial : trials)
      json["lambda_trials"].push_back(
          {{"lambda", trial.lambda},
           {"accuracy_valid", trial.accuracy ? nlohmann::ordered_json(*trial.accuracy) : nlohmann::ordered_json()}});
    json["intercept"] = options.intercept;
    json["epsilon"] = report.epsilon;
    json["delta"] = report.delta;
    add_step(json, report, false);
    add_accuracies(json, accuracies);
    json["training_rows"] = learner.rows().size();
    json["steps"] = report.steps;
    json["public_key"] = learner.public_key();
    return write_json_line(line.out(), json);
  }
  Table table({"trained", model_text(name, solver)});
  table.add_row({"head", std::string(head_name(options))});
  table.add_row({"training rows", count_text(learner.rows().size())});
  table.add_row({"epsilon, delta", number_text(options.epsilon) + ", " + number_text(options.delta)});
  if (options.hidden.empty()) table.add_row({"intercept", options.intercept ? "yes" : "no"});
  for (const LambdaTrial& trial : trials)
    table.add_row({"lambda " + number_text(trial.lambda),
                   trial.accuracy ? accuracy_text(trial.accuracy) + " validation" : "not minimised"});
  table.add_row({"lambda", number_text(options.lambda)});
  table.add_row({"tau", number_text(options.tau)});
  for (const Parameter& own : solver_entry(solver).parameters().listed())
    if (const std::string term = term_of(own); report.terms.contains(term))
      table.add_row({std::string(own.name), number_text(report.terms.at(term))});
  if (!report.certified && report.budget > 0) {
    table.add_row({"alpha", number_text(options.alpha)});
    table.add_row({"bound", line.get<std::string>("bound")});
  }
  table.add_row({"certified", certified_text(report)});
  table.add_row({"signed under", learner.public_key()});
  if (report.budget > 0) {
    table.add_row({"residual bound", number_text(report.residual_bound)});
    table.add_row({"budget", number_text(report.budget)});
  }
  table.add_row({"accuracy, training", accuracy_text(accuracies.train)});
  table.add_row({"accuracy, validation", accuracy_text(accuracies.valid)});
  table.add_row({"accuracy, test", accuracy_text(accuracies.test)});
  table.add_row({"whole command", seconds_text(measure.seconds())});
  table.print(line.out());
}

}  // namespace unweave
