// tools/commands/train.cpp - `unweave train`: a model on the training rows, saved in the store.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tools/bench/measure.h"
#include "tools/cli/output.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_notes.h"
#include "tools/commands/model_output.h"
#include "tools/commands/propagation_options.h"
#include "tools/commands/solver_options.h"
#include "unweave/solvers.h"
#include "unweave/store.h"

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

/// What a user would want to know before using the model.
void warn(const CommandLine& line, const TrainedModel& model) {
  if (line.common().quiet) return;
  const double lambda = model.facts.options.lambda, usual = model.default_lambda, ratio = lambda / usual;
  if (ratio > kFarFromDefault || ratio < 1 / kFarFromDefault)
    line.error() << "note: lambda " << number_text(lambda) << " is far from the default for this store, "
                 << number_text(usual) << (ratio > 1 ? ": weights are drawn towards 0" : "")
                 << "; --lambda auto compares nine values on the validation split\n";
  const Accuracies &accuracies = model.accuracies, &majority = model.majority;
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

TrainOptions train_options(const CommandLine& line, StepProgress& progress) {
  TrainOptions how;
  how.solver = line.get<std::string>("solver");
  how.options = read_solver_options(line, how.solver);
  check_solver_options(how.solver, how.options);  // wrong usage is told before the store is read
  if (line.has("name")) {
    how.name = line.get<std::string>("name");
    check_model_name(how.name, how.solver);
  }
  how.lambda = lambda_choice(line);
  how.intercept = how.options.intercept;
  if (line.has("weights")) how.weights = line.get<RealList>("weights").values;
  how.key = key_file(line);
  how.before_replacement = [&](const ModelFacts& present, const ModelFacts& next) {
    progress.finish();
    note_replaced_model(line, present, next);
  };
  return how;
}

}  // namespace

void run_train(CommandLine& line) {
  const std::string solvers = names_of_solvers();
  line.describe("Learns a model on the training rows and saves it in the store.", {"STORE"},
                "unweave train demo/debian.store --solver newton");
  auto add = line.options().add_options();
  add("solver",
      po::value<std::string>()->value_name("NAME")->default_value(std::string(all_solver_infos().front().name)),
      solvers.c_str());
  add_name_option(line, "name of the model: letters, digits, - and _; default: its solver's");
  add("weights", po::value<RealList>()->value_name("W"), "L + 1 weights of the levels; default: as propagated");
  add_solver_options(line);
  add_key_option(line);
  if (!line.parse()) return;
  line.on_interrupt("the store is whole, with its model of before or the new one; run the command again");

  Measure measure;
  StepProgress progress(line.error(), line.shows_progress());
  const TrainOptions how = train_options(line, progress);
  Resources resources({line.common().memory_bytes}, &progress);
  const TrainedModel trained = Writer(line.positional(0), resources).train(how);
  progress.finish();
  const std::string &name = trained.facts.name, &solver = trained.facts.solver;
  const SolverOptions& options = trained.facts.options;
  const StepReport& report = trained.report;
  const Accuracies& accuracies = trained.accuracies;
  warn(line, trained);

  if (line.common().json) {
    nlohmann::ordered_json json = {{"solver", solver}, {"name", name}};
    measure.report(json);
    json["lambda"] = options.lambda;
    json["lambda_chosen"] = options.lambda_chosen;
    for (const LambdaTrial& trial : trained.lambda_trials)
      json["lambda_trials"].push_back(
          {{"lambda", trial.lambda},
           {"accuracy_valid", trial.accuracy ? nlohmann::ordered_json(*trial.accuracy) : nlohmann::ordered_json()}});
    json["intercept"] = options.intercept;
    json["epsilon"] = report.epsilon;
    json["delta"] = report.delta;
    add_step(json, report, false);
    add_accuracies(json, accuracies);
    json["training_rows"] = trained.rows;
    json["steps"] = report.steps;
    json["public_key"] = trained.public_key;
    return write_json_line(line.out(), json);
  }
  Table table({"trained", model_text(name, solver)});
  table.add_row({"head", std::string(head_name(options))});
  table.add_row({"training rows", count_text(trained.rows)});
  table.add_row({"epsilon, delta", number_text(options.epsilon) + ", " + number_text(options.delta)});
  if (options.hidden.empty()) table.add_row({"intercept", options.intercept ? "yes" : "no"});
  for (const LambdaTrial& trial : trained.lambda_trials)
    table.add_row({"lambda " + number_text(trial.lambda),
                   trial.accuracy ? accuracy_text(trial.accuracy) + " validation" : "not minimised"});
  table.add_row({"lambda", number_text(options.lambda)});
  table.add_row({"tau", number_text(options.tau)});
  for (const Parameter& own : solver_info(solver).parameters)
    if (const std::string term = term_of(own); report.terms.contains(term))
      table.add_row({std::string(own.name), number_text(report.terms.at(term))});
  if (!report.certified && report.budget > 0) {
    table.add_row({"alpha", number_text(options.alpha)});
    table.add_row({"bound", line.get<std::string>("bound")});
  }
  table.add_row({"certified", certified_text(report)});
  for (const auto& [releases, epsilon] : report.composed)
    table.add_row({"epsilon of " + std::to_string(releases) + " releases", number_text(epsilon)});
  table.add_row({"signed under", trained.public_key});
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
