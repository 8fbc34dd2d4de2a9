// tools/commands/training.h - what the commands that learn a model have in common: options, remarks, figures.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tools/cli/command.h"
#include "tools/cli/measure.h"
#include "tools/cli/output.h"
#include "tools/cli/step_progress.h"
#include "unweave/store.h"

namespace unweave {

/// --solver, of which `solvers` are the names that the help lists, --name, --weights, those of a learner, and --key.
void add_training_options(CommandLine& line, std::string_view solvers);
/// What they say; `progress` is ended before a remark. Throws UsageError, also for options that the solver does not take.
[[nodiscard]] TrainOptions train_options(const CommandLine& line, StepProgress& progress);

/// What a user would want to know before using the model.
void warn_of_training(const CommandLine& line, const TrainedModel& model);

/// The fields of `train --json`, and its rows.
void add_training(nlohmann::ordered_json& json, const TrainedModel& model, Measure& measure);
void add_training(Table& table, const CommandLine& line, const TrainedModel& model);

}  // namespace unweave
