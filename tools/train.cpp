// tools/train.cpp - `unweave train`: a model on the training rows, saved in the store.
#include <algorithm>
#include <string>

#include "algorithms/learner.h"
#include "algorithms/model_name.h"
#include "storage/error.h"
#include "tools/commands.h"
#include "tools/measure.h"
#include "tools/model_notes.h"
#include "tools/model_output.h"
#include "tools/output.h"
#include "tools/propagation_options.h"
#include "tools/solver_options.h"
#include "tools/version.h"

namespace unweave {
namespace {

/// The name under which a step reports the value that it used.
std::string term_of(const Parameter& own) {
  std::string term(own.name);
  std::replace(term.begin(), term.end(), '-', '_');
  return term;
}

}  // namespace

void run_train(CommandLine& line) {
  const std::string solvers = names_of_solvers();
  line.describe("Learns a model on the training rows and saves it in the store.", {"STORE"},
                "unweave train demo/debian.store --solver newton --lambda 1e-3");
  auto add = line.options().add_options();
  add("solver", po::value<std::string>()->value_name("NAME")->default_value("newton"), solvers.c_str());
  add_name_option(line,
                  "name of the model in the store, with which other commands select it: letters, digits, - and _; "
                  "default: its solver's");
  add("weights", po::value<RealList>()->value_name("W"), "L + 1 weights of the levels; default: as propagated");
  add_solver_options(line);
  add_key_option(line);
  if (!line.parse()) return;

  Measure measure;
  const SolverOptions options = read_solver_options(line);
  const std::string& solver = line.get<std::string>("solver");
  static_cast<void>(make_solver(solver, options));  // wrong usage is told before the store is read
  const std::string name = line.has("name") ? line.get<std::string>("name") : solver;
  require_model_name(name, solver);
  MemoryBudget budget(line.budget_bytes());
  LiveStore store(line.positional(0), Access::write, budget);
  const std::vector<double> weights = read_row_weights(line, store.embedding().spec());
  ModelRecord next;
  next.model.solver = solver;
  next.name = name;
  next.options = options;
  next.weights = weights;
  note_replaced_model(line, store.path(), next);
  const Learner learner = Learner::train(store, budget, solver, options, weights,
                                         {true, std::string(version()), {}, key_file(line), {}}, name);
  store.record();
  const StepReport& report = learner.last_step();
  const Accuracies accuracies = evaluate_model(store, learner.record(), &learner.rows());

  if (line.common().json) {
    nlohmann::ordered_json json = {{"solver", solver}, {"name", name}};
    measure.report(json);
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
  table.add_row({"lambda", number_text(options.lambda)});
  table.add_row({"tau", number_text(options.tau)});
  for (const Parameter& own : solver_parameters(solver))
    if (const auto used = report.terms.find(term_of(own)); used != report.terms.end())
      table.add_row({std::string(own.name), number_text(used->second)});
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
