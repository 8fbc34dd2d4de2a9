// tools/commands/solver_options.h - the options of a learner, for the commands that train one or foresee what it costs.
#pragma once

#include "algorithms/evaluation/regularisation.h"
#include "algorithms/unlearning/options.h"
#include "tools/cli/command.h"

namespace unweave {

/// --head, --hidden, --activation, --no-intercept, --epsilon, --delta, --lambda, --tau, --alpha, --bound, --set, which the
/// help shows where they are `listed`, and --help-solver.
void add_solver_options(CommandLine& line, bool listed = true);

/// Those for this solver; lambda as given, else for choose_lambda() to fill in. Throws UsageError.
[[nodiscard]] SolverOptions read_solver_options(const CommandLine& line, std::string_view solver);

/// Whether --lambda auto asks for trials.
[[nodiscard]] bool tunes_lambda(const CommandLine& line);
/// Where no lambda was given, the default for a store of `nodes` nodes and rows of `width` numbers in the embedding.
void choose_lambda(const CommandLine& line, const DeclaredSizes& sizes, SolverOptions& options);

/// "logistic, ..." of the heads that couple the classes, or of those that take a class against the rest.
[[nodiscard]] std::string names_of_heads(bool coupled);

/// "newton, retrain, ..."
[[nodiscard]] std::string names_of_solvers();

}  // namespace unweave
