// tools/solver_options.h - the options of a learner, for the commands that train one or foresee what it costs.
#pragma once

#include "algorithms/solver.h"
#include "tools/command.h"

namespace unweave {

/// --head, --hidden, --activation, --epsilon, --delta, --lambda, --tau, --alpha, --bound, --set, which the help shows where
/// they are `listed`, and --help-solver.
void add_solver_options(CommandLine& line, bool listed = true);

/// Throws UsageError.
[[nodiscard]] SolverOptions read_solver_options(const CommandLine& line);

/// "newton, retrain, ..."
[[nodiscard]] std::string names_of_solvers();

}  // namespace unweave
