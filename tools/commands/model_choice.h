// tools/commands/model_choice.h - which of a store's models a command speaks of.
#pragma once

#include <string>

#include "tools/cli/command.h"
#include "unweave/rows.h"

namespace unweave {

/// --solver NAME and --name NAME.
void add_model_choice(CommandLine& line, const std::string& text);

/// Notes that a model stands on another propagation than the store's, or else that it is outdated.
void note_state(const CommandLine& line, const StoredModel& model, const Reader& reader);

}  // namespace unweave
