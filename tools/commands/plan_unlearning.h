// tools/commands/plan_unlearning.h - `unweave plan --solver`: what a solver's requests will cost, before it is trained.
#pragma once

#include "tools/cli/command.h"
#include "unweave/plan.h"

namespace unweave {

/// --solver, --removed and the options of a learner.
void add_unlearning_options(CommandLine& line);
void print_unlearning(const CommandLine& line, const Reader& reader);

}  // namespace unweave
