// tools/commands/model_choice.h - which of a store's models a command speaks of.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "algorithms/live/live_store.h"
#include "algorithms/models/model_record.h"
#include "tools/cli/command.h"

namespace unweave {

/// --solver NAME and --name NAME.
void add_model_choice(CommandLine& line, const std::string& text);

/// The model that was named, else all of the store. To be called before the store is opened: a writer at work acknowledges
/// requests before its model has absorbed them. Throws UsageError, also where there is none.
[[nodiscard]] std::vector<ModelRecord> chosen_models(const CommandLine& line, const std::filesystem::path& store);

/// The same for commands that want one model. Throws UsageError that names them where there are several.
[[nodiscard]] ModelRecord chosen_model(const CommandLine& line, const std::filesystem::path& store);

/// Notes that a model is outdated, or stands on another propagation than the store's.
void note_state(const CommandLine& line, const ModelRecord& record, const LiveStore& store);

}  // namespace unweave
