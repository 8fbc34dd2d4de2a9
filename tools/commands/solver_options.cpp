// tools/commands/solver_options.cpp - reading the options of a learner.
#include "tools/commands/solver_options.h"

#include <algorithm>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "storage/io/nearest_name.h"
#include "tools/commands/solver_help.h"

namespace unweave {
namespace {

/// What --head takes: the linear heads, and a network.
std::vector<std::string_view> names_for_head() {
  std::vector<std::string_view> names = names_of_heads();
  names.emplace_back("mlp");
  return names;
}

}  // namespace

std::string names_of_heads(bool coupled) {
  std::string text;
  for (const Head head : kHeads)
    if (couples_classes(head) == coupled) text += (text.empty() ? "" : ", ") + std::string(name_of(head));
  return text;
}

std::string names_of_solvers() {
  std::string names;
  for (const SolverInfo& solver : all_solver_infos()) names += (names.empty() ? "" : ", ") + std::string(solver.name);
  return names;
}

std::vector<std::string> solver_choices() {
  std::vector<std::string> names;
  for (const SolverInfo& solver : all_solver_infos()) names.emplace_back(solver.name);
  return names;
}

void add_solver_options(CommandLine& line, bool listed) {
  const std::vector<std::string_view> heads = names_for_head();
  line.set_choices("head", {heads.begin(), heads.end()});
  line.set_choices("activation", {"tanh", "smelu", "relu"});
  line.set_choices("bound", {"corrected", "paper"});
  line.set_choices("help-solver", solver_choices());
  line.add_topic("help-solver", "NAME", "what this solver does, and its own parameters", solver_help);
  auto add = (listed ? line.options() : line.unlisted_options()).add_options();
  const SolverOptions defaults;
  const std::string head_help = names_of_heads(false) + ": a class against the rest; " + names_of_heads(true) +
                                ": all at once; mlp: softmax over hidden layers";
  add("head", po::value<std::string>()->value_name("H")->default_value(std::string(name_of(defaults.head))),
      head_help.c_str());
  add("hidden", po::value<Widths>()->value_name("H1,H2"), "widths of the hidden layers of mlp; default 64");
  add("activation", po::value<std::string>()->value_name("A")->default_value("tanh"),
      "of mlp: tanh or smelu; of an exact network relu");
  add("epsilon", po::value<Real>()->value_name("E")->default_value({defaults.epsilon}),
      "the certificate's bound: smaller is stricter");
  add("delta", po::value<Real>()->value_name("D")->default_value({defaults.delta}),
      "probability with which that bound may fail");
  add("no-intercept", po::bool_switch(), "of linear heads: no constant column");
  add("lambda", po::value<AutoReal>()->value_name("L"),
      "regularisation, times the training rows / 2; auto: the best on the validation split; default 0.1 / nodes");
  add("tau", po::value<Real>()->value_name("T")->default_value({defaults.tau}),
      "training ends at this gradient norm; seldom changed");
  add("alpha", po::value<Real>()->value_name("A")->default_value({defaults.alpha}),
      "noise in the objective (scalegun, cgu, ceu)");
  add("bound", po::value<std::string>()->value_name("B")->default_value("corrected"),
      "corrected, or paper: as printed, never certified");
  add("set", po::value<std::vector<Setting>>()->value_name("NAME=VALUE")->composing(),
      "a parameter of the solver's own (--help-solver)");
}

SolverOptions read_solver_options(const CommandLine& line, std::string_view solver) {
  SolverOptions options;
  const std::string& head = line.get<std::string>("head");
  if (head == "mlp" || (!line.given("head") && !solver_info(solver).linear)) {
    options.head = Head::kSoftmax;
    options.hidden = {kHiddenUnits};
    if (line.has("hidden")) options.hidden = line.get<Widths>("hidden").values;
    options.activation = parse_activation(line.get<std::string>("activation"));
  } else {
    const std::vector<std::string_view> known = names_for_head();
    if (std::find(known.begin(), known.end(), head) == known.end()) throw UsageError(unknown_name("head", head, known));
    options.head = parse_head(head);
  }
  std::vector<std::string_view> given;
  for (const std::string_view asked : {"head", "hidden", "activation", "epsilon", "delta", "tau", "alpha"})
    if (line.given(std::string(asked))) given.push_back(asked);
  require_read_options(solver, options, given);
  options.epsilon = line.get<Real>("epsilon").value;
  options.delta = line.get<Real>("delta").value;
  options.intercept = options.hidden.empty() && !line.get<bool>("no-intercept") && solver_info(solver).intercept;
  if (lambda_choice(line) == LambdaChoice::given) options.lambda = line.get<AutoReal>("lambda").value;
  options.tau = line.get<Real>("tau").value;
  options.alpha = line.get<Real>("alpha").value;
  options.bound = parse_bound(line.get<std::string>("bound"));
  if (line.has("set"))
    for (const Setting& one : line.get<std::vector<Setting>>("set")) options.parameters[one.name] = one.value;
  options.seed = line.common().seed;
  return options;
}

LambdaChoice lambda_choice(const CommandLine& line) {
  if (!line.has("lambda")) return LambdaChoice::by_size;
  return line.get<AutoReal>("lambda").automatic ? LambdaChoice::by_validation : LambdaChoice::given;
}

}  // namespace unweave
