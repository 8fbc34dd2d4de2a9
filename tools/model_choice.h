// tools/model_choice.h - which of a store's models a command speaks of.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/live_store.h"
#include "algorithms/model_record.h"
#include "tools/command.h"

namespace unweave {

/// --name, beside the command's own --solver; `text` is its help.
void add_name_option(CommandLine& line, const char* text = "the model of this name: see train");
/// --solver and --name; `text` is the help of --solver.
void add_model_choice(CommandLine& line, const std::string& text);

/// The name of the model that --name or --solver selects; none without either. Throws UsageError for an unknown solver.
[[nodiscard]] std::optional<std::string> selected_model(const CommandLine& line);
/// Throws UsageError where --solver is another one than that of the model.
void require_selected_solver(const CommandLine& line, const ModelRecord& record);

/// The model that was selected, else all of the store. To be called before the store is opened: a writer at work
/// acknowledges requests before its model has absorbed them. Throws UsageError, and DataError where there is none.
[[nodiscard]] std::vector<ModelRecord> chosen_models(const CommandLine& line, const std::filesystem::path& store);

/// The same for commands that want one model. Throws UsageError that names them where there are several.
[[nodiscard]] ModelRecord chosen_model(const CommandLine& line, const std::filesystem::path& store);

/// Notes that a model is outdated, or stands on another propagation than the store's.
void note_state(const CommandLine& line, const ModelRecord& record, const LiveStore& store);

}  // namespace unweave
