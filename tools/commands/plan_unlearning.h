// tools/commands/plan_unlearning.h - `unweave plan --solver`: what a solver's requests will cost, before it is trained.
#pragma once

#include "algorithms/live/live_store.h"
#include "tools/cli/command.h"

namespace unweave {

/// --solver, --removed and the options of a learner.
void add_unlearning_options(CommandLine& line);
void foresee_unlearning(const CommandLine& line, const LiveStore& store, const MemoryBudget& budget);

}  // namespace unweave
