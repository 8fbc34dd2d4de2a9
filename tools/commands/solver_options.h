// tools/commands/solver_options.h - the options of a learner, for the commands that train one or
// estimate its cost.
#pragma once

#include "tools/cli/command.h"
#include "unweave/solvers.h"
#include "unweave/store.h"

namespace unweave {

/// --head, --hidden, --activation, --no-intercept, --epsilon, --delta, --lambda, --tau, --alpha,
/// --bound, --set, which the help shows where they are `listed`, and --help-solver.
void add_solver_options(CommandLine& line, bool listed = true);

/// Those for this solver; lambda as given, else to be chosen as lambda_choice() says. Throws
/// UsageError.
[[nodiscard]] SolverOptions read_solver_options(const CommandLine& line, std::string_view solver);
[[nodiscard]] LambdaChoice lambda_choice(const CommandLine& line);

/// "logistic, ..." of the heads that couple the classes, or of those that take a class against the
/// rest.
[[nodiscard]] std::string names_of_heads(bool coupled);

/// "newton, retrain, ..."
[[nodiscard]] std::string names_of_solvers();
/// The names alone.
[[nodiscard]] std::vector<std::string> solver_choices();

}  // namespace unweave
