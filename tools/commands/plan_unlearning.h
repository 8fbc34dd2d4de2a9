// tools/commands/plan_unlearning.h - `unweave plan --solver`: what a solver's requests will cost,
// before it is trained.
#pragma once

#include "tools/cli/command.h"
#include "tools/cli/step_progress.h"
#include "unweave/plan.h"

namespace unweave {

/// --solver, --removed and the options of a learner.
void add_unlearning_options(CommandLine& line);
/// `progress` shows a trial, and ends before anything is printed.
void print_unlearning(const CommandLine& line, const Reader& reader, StepProgress& progress);

}  // namespace unweave
