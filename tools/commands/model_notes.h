// tools/commands/model_notes.h - remarks on standard error, before a command takes models away or leaves them behind.
#pragma once

#include <span>
#include <string>

#include "tools/cli/command.h"
#include "unweave/store.h"

namespace unweave {

/// Where `next` differs from the store's propagation: in what, and which models stand on the present one and have to be
/// trained again. Nothing where it does not, or where the store has none.
void note_replaced_propagation(const CommandLine& line, const Writer& writer, const PropagationSpec& next);

/// Where training replaces a model by one with other options: in which they differ.
void note_replaced_model(const CommandLine& line, const ModelFacts& present, const ModelFacts& next);

/// That these models will be removed.
void note_removed_models(const CommandLine& line, std::span<const std::string> names);

/// That these models do not follow a stream, and what lets them.
void note_models_left_behind(const CommandLine& line, std::span<const std::string> names);

}  // namespace unweave
