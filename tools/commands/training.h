// tools/commands/training.h - what the commands that learn a model have in common: options,
// remarks, figures.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tools/cli/command.h"
#include "tools/cli/measure.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/cli/step_progress.h"
#include "unweave/store.h"

namespace unweave {

/// --rows-of, --scale-rows, --pool and --lift, which the help shows where they are `listed`.
void add_row_options(CommandLine& line, bool listed = true);
/// What they say. Throws UsageError.
[[nodiscard]] RowChoice row_choice(const CommandLine& line);

/// --solver, of which `solvers` are the names that the help lists, --name, --weights, those of
/// rows and of a learner, and --key.
void add_training_options(CommandLine& line, std::string_view solvers);
/// What they say; `progress` is ended before a remark. Throws UsageError, also for options that the
/// solver does not take.
[[nodiscard]] TrainOptions train_options(const CommandLine& line, StepProgress& progress);

/// What a user would want to know before using the model.
void warn_of_training(const CommandLine& line, const TrainedModel& model);

/// Takes the fields of a model from describe() into an object, and behind its head what the command
/// measures of itself.
class MeasuredFields {
 public:
  MeasuredFields(nlohmann::ordered_json& json, Measure& measure) : json_(json), measure_(measure) {}
  template <class Value>
  void operator()(std::string_view name, const Value& value) const {
    json_[std::string(name)] = json_value(value);
    if (name == "head") measure_.report(json_);
  }

 private:
  nlohmann::ordered_json& json_;
  Measure& measure_;
};
/// What `train` prints for people.
void add_training(Table& table, const CommandLine& line, const TrainedModel& model);

}  // namespace unweave
