// tools/commands/training.cpp - options, remarks and figures of the commands that learn a model.
#include "tools/commands/training.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "tools/commands/model_notes.h"
#include "tools/commands/model_output.h"
#include "tools/commands/propagation_options.h"
#include "tools/commands/solver_options.h"
#include "unweave/solvers.h"

namespace unweave {
namespace {

/// The name under which a step reports the value that it used.
std::string term_of(const Parameter& own) {
  std::string term(own.name);
  std::replace(term.begin(), term.end(), '-', '_');
  return term;
}

std::string numbers_text(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) text += (text.empty() ? "" : ",") + number_text(number);
  return text;
}

/// Beyond this factor between a given lambda and the default one the user is told.
constexpr double kFarFromDefault = 100;

}  // namespace

void add_row_options(CommandLine& line, bool listed) {
  auto add = (listed ? line.options() : line.unlisted_options()).add_options();
  add("rows-of", po::value<std::string>()->value_name("WORDS"),
      "levels (the default) or stack, then labels, degree, open, by commas; or auto (guide: choose-rows)");
  add("scale-rows", po::value<std::string>()->value_name("WORD"), "of rows: clip, or unit (norm 1, default of --lift)");
  add("pair", po::value<std::string>()->value_name("WORDS"),
      "of links (import --pairs): hadamard, difference or both; best hadamard,by=16 with --scale-rows unit");
  add("pool", po::value<std::string>()->value_name("mean|root|sum=D"),
      "rows of graphs: sums / nodes, / their root, or / D");
  add("lift", po::value<std::string>()->value_name("WIDTH"),
      "random features beside a row; or 1024,key=7,bias=0.5; at=node: beside rows of nodes, before these are paired or pooled");
}

RowChoice row_choice(const CommandLine& line) {
  RowChoice rows;
  if (line.has("rows-of")) rows.of = words_between_commas("rows-of", line.get<std::string>("rows-of"));
  if (line.has("scale-rows")) rows.scale = scale_named(line.get<std::string>("scale-rows"));
  if (line.has("pair")) rows.pair = pair_form_named(line.get<std::string>("pair"));
  if (line.has("pool")) rows.pool = pool_named(line.get<std::string>("pool"));
  if (line.has("lift")) rows.lift = lift_named(line.get<std::string>("lift"));
  return rows;
}

void add_training_options(CommandLine& line, std::string_view solvers) {
  const std::string names(solvers);
  line.set_choices("solver", solver_choices());
  auto add = line.options().add_options();
  add("solver",
      po::value<std::string>()->value_name("NAME")->default_value(std::string(all_solver_infos().front().name)),
      names.c_str());
  add_name_option(line, "name of the model: letters, digits, - and _; default: its solver's");
  add("weights", po::value<AutoRealList>()->value_name("W"), "of the levels, or auto; default: as propagated");
  add_row_options(line);
  add_solver_options(line);
  add_key_option(line);
}

void warn_of_training(const CommandLine& line, const TrainedModel& model) {
  if (line.common().quiet) return;
  if (model.rows == 0)
    line.error() << "note: there is no training row, so that all weights are 0 and the model says nothing: "
                 << (model.facts.rows.pair
                         ? "no edge is one to learn from (share, of import --pairs), and no pair either\n"
                         : "no node of the training split has a label and is still there\n");
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
  const std::string cause =
      model.dominant ? "column " + std::to_string(model.dominant->column) + " of the features has " +
                           number_text(std::floor(model.dominant->share * 1e4) / 1e2) +
                           " % of their norm, so that the others hardly count; import them without it "
                           "(--features F[COLUMNS]), or with --standardize"
                     : "try --weights auto --lambda auto, or look at per-class figures with `unweave evaluate`";
  for (const auto& [split, own, always] : splits) {
    if (!own || !always) continue;
    if (*own <= *always)
      line.error() << "warning: accuracy on the " << split << " split is " << accuracy_text(own)
                   << ", and always naming the most frequent class would reach " << accuracy_text(always) << "; "
                   << cause << "\n";
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
  if (line.has("weights")) {
    how.weights = line.get<AutoRealList>("weights").values;
    how.choose_weights = line.get<AutoRealList>("weights").automatic;
  }
  how.rows = row_choice(line);
  how.key = key_file(line);
  how.before_replacement = [&](const ModelFacts& present, const ModelFacts& next) {
    progress.finish();
    note_remark(line, remark_on_model(present, next));
  };
  return how;
}

void add_training(Table& table, const CommandLine& line, const TrainedModel& model) {
  const SolverOptions& options = model.facts.options;
  const StepReport& report = model.report;
  const Accuracies& accuracies = model.accuracies;
  table.add_row({"head", std::string(head_name(options))});
  table.add_row({"training rows", count_text(model.rows)});
  table.add_row({"epsilon, delta", number_text(options.epsilon) + ", " + number_text(options.delta)});
  if (options.hidden.empty()) table.add_row({"intercept", options.intercept ? "yes" : "no"});
  const auto trial_text = [](const std::optional<double>& accuracy) {
    return accuracy ? accuracy_text(accuracy) + " validation" : "not minimised";
  };
  for (const WeightsTrial& trial : model.weights_trials)
    table.add_row({"weights " + numbers_text(trial.weights), trial_text(trial.accuracy)});
  for (const RowsTrial& trial : model.rows_trials)
    table.add_row({"rows " + text_of(trial.rows), trial_text(trial.accuracy)});
  table.add_row({"rows", text_of(model.facts.rows)});
  table.add_row({"weights", numbers_text(model.facts.rows.weights)});
  for (const LambdaTrial& trial : model.lambda_trials)
    table.add_row({"lambda " + number_text(trial.lambda), trial_text(trial.accuracy)});
  table.add_row({"lambda", number_text(options.lambda)});
  table.add_row({"tau", number_text(options.tau)});
  for (const Parameter& own : solver_info(model.facts.solver).parameters)
    if (const std::string term = term_of(own); report.terms.contains(term))
      table.add_row({std::string(own.name), number_text(report.terms.at(term))});
  if (!report.certified && report.budget > 0) {
    table.add_row({"alpha", number_text(options.alpha)});
    table.add_row({"bound", line.get<std::string>("bound")});
  }
  table.add_row({"certified", certified_text(report)});
  for (const auto& [releases, epsilon] : report.composed)
    table.add_row({"epsilon of " + std::to_string(releases) + " releases", number_text(epsilon)});
  table.add_row({"signed under", model.public_key});
  if (report.budget > 0) {
    table.add_row({"residual bound", number_text(report.residual_bound)});
    table.add_row({"budget", number_text(report.budget)});
  }
  table.add_row({"accuracy, training", accuracy_text(accuracies.train)});
  table.add_row({"accuracy, validation", accuracy_text(accuracies.valid)});
  table.add_row({"accuracy, test", accuracy_text(accuracies.test)});
}

}  // namespace unweave
