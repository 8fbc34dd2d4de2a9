// tools/train.cpp - `unweave train`: a model on the training rows, saved in the store.
#include <algorithm>
#include <string>

#include "algorithms/learner.h"
#include "storage/error.h"
#include "tools/commands.h"
#include "tools/measure.h"
#include "tools/model_output.h"
#include "tools/output.h"
#include "tools/version.h"

namespace unweave {
namespace {

constexpr std::size_t kHiddenUnits = 64;

SolverOptions read_options(const CommandLine& line) {
  SolverOptions options;
  if (const std::string& head = line.get<std::string>("head"); head == "mlp") {
    options.head = Head::kSoftmax;
    options.hidden = {kHiddenUnits};
    if (line.has("hidden")) options.hidden = line.get<Widths>("hidden").values;
    options.activation = parse_activation(line.get<std::string>("activation"));
  } else {
    options.head = parse_head(head);
    if (line.has("hidden")) throw UsageError("--hidden is for --head mlp");
  }
  options.epsilon = line.get<Real>("epsilon").value;
  options.delta = line.get<Real>("delta").value;
  options.lambda = line.get<Real>("lambda").value;
  options.tau = line.get<Real>("tau").value;
  options.alpha = line.get<Real>("alpha").value;
  options.bound = parse_bound(line.get<std::string>("bound"));
  if (line.has("set"))
    for (const Setting& given : line.get<std::vector<Setting>>("set")) options.parameters[given.name] = given.value;
  options.seed = line.common().seed;
  return options;
}

std::string names_of_solvers() {
  std::string text;
  for (const std::string_view name : solver_names()) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

/// One line a parameter, for the help.
std::string text_of_parameters() {
  std::string text;
  for (const std::string_view solver : solver_names())
    for (const Parameter& own : solver_parameters(solver))
      text += "\n" + std::string(solver) + " " + std::string(own.name) + ": " + std::string(own.text) +
              (own.standard ? " (" + number_text(*own.standard) + ")" : "");
  return text;
}

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
  const SolverOptions defaults;
  add("solver", po::value<std::string>()->value_name("NAME")->default_value("newton"), solvers.c_str());
  add("head", po::value<std::string>()->value_name("H")->default_value("logistic"),
      "logistic or least-squares, one-vs-rest; softmax: multinomial; mlp: softmax over hidden layers");
  add("hidden", po::value<Widths>()->value_name("H1,H2"), "widths of the hidden layers of mlp; default: 64");
  add("activation", po::value<std::string>()->value_name("A")->default_value("tanh"), "of mlp: tanh or smelu");
  add("epsilon", po::value<Real>()->value_name("E")->default_value({defaults.epsilon}), "privacy budget of a release");
  add("delta", po::value<Real>()->value_name("D")->default_value({defaults.delta}), "its failure probability");
  add("lambda", po::value<Real>()->value_name("L")->default_value({defaults.lambda}),
      "regularisation, times the training rows / 2");
  add("tau", po::value<Real>()->value_name("T")->default_value({defaults.tau}),
      "gradient norm at which a minimisation is finished");
  add("alpha", po::value<Real>()->value_name("A")->default_value({defaults.alpha}),
      "noise in the objective (scalegun, cgu, ceu)");
  add("bound", po::value<std::string>()->value_name("B")->default_value("corrected"),
      "corrected or paper (scalegun, cgu, ceu)");
  const std::string settings = "a parameter of the solver's own; may stand several times." + text_of_parameters();
  add("set", po::value<std::vector<Setting>>()->value_name("NAME=VALUE")->composing(), settings.c_str());
  add("weights", po::value<RealList>()->value_name("W"), "L + 1 weights of the levels; default: those of propagate");
  if (!line.parse()) return;

  Measure measure;
  const SolverOptions options = read_options(line);
  const std::string& solver = line.get<std::string>("solver");
  static_cast<void>(make_solver(solver, options));  // wrong usage is told before the store is read
  MemoryBudget budget(line.budget_bytes());
  LiveStore store(line.positional(0), Access::write, budget);
  const std::vector<double> weights =
      line.has("weights") ? line.get<RealList>("weights").values : store.embedding().spec().weights;
  const Learner learner = Learner::train(store, budget, solver, options, weights, {true, std::string(version()), {}});
  const StepReport& report = learner.last_step();
  const Accuracies accuracies = evaluate_model(store, learner.record(), &learner.rows());

  if (line.common().json) {
    nlohmann::ordered_json json = {{"solver", solver}};
    measure.report(json);
    json["epsilon"] = report.epsilon;
    json["delta"] = report.delta;
    add_step(json, report, false);
    add_accuracies(json, accuracies);
    json["training_rows"] = learner.rows().size();
    json["steps"] = report.steps;
    return write_json_line(line.out(), json);
  }
  Table table({"trained", solver});
  table.add_row({"head", std::string(head_name(options))});
  table.add_row({"training rows", count_text(learner.rows().size())});
  table.add_row({"epsilon, delta", number_text(options.epsilon) + ", " + number_text(options.delta)});
  table.add_row({"lambda", number_text(options.lambda)});
  table.add_row({"tau", number_text(options.tau)});
  for (const Parameter& own : solver_parameters(solver))
    if (const auto used = report.terms.find(term_of(own)); used != report.terms.end())
      table.add_row({std::string(own.name), number_text(used->second)});
  if (const std::optional<LangevinState>& state = learner.model().langevin) {
    const LangevinConstants& constants = state->constants;
    table.add_row({"batch rows", count_text(constants.batch_rows)});
    table.add_row({"epochs", count_text(constants.epochs)});
    table.add_row({"step", number_text(constants.step_size)});
    table.add_row({"radius", number_text(constants.radius)});
    table.add_row({"noise of a step", number_text(constants.sigma)});
    table.add_row({"order of the rows", count_text(constants.order_key)});
  } else if (!report.certified && report.budget > 0) {
    table.add_row({"alpha", number_text(options.alpha)});
    table.add_row({"bound", line.get<std::string>("bound")});
  }
  table.add_row({"certified", certified_text(report)});
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
