// tools/commands/model_output.h - options that select models, and what `train`, `stream` and
// `evaluate` print of one for people.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/command.h"
#include "unweave/models.h"
#include "unweave/store.h"
#include "unweave/stream.h"

namespace unweave {

/// --key, the file of the key that signs certificates.
void add_key_option(CommandLine& line);
/// --name, beside --solver; `text` is its help.
void add_name_option(CommandLine& line, const char* text = "the model of this name: see train");
/// What --name and --solver select. Throws UsageError for an unknown solver.
[[nodiscard]] ModelSelection model_selection(const CommandLine& line);
/// --solver and --name of a stream, which several models may follow: each may be given again.
void add_follow_options(CommandLine& line);
/// The models that they select; none where neither is given. Throws UsageError where it is not
/// clear which are meant.
[[nodiscard]] std::vector<ModelSelection> followed_models(const CommandLine& line);
/// Lets these follow a stream.
void let_follow(const std::vector<ModelSelection>& models, StreamOptions& options);
/// The nodes of the file that --nodes names, with a note where its first line is left out as a
/// header.
[[nodiscard]] NodeList listed_nodes(const CommandLine& line, const Reader& reader, const char* option = "nodes");
/// "newton", or "tuned (newton)" for a model with a name of its own; `solver` is empty where nobody
/// can read it.
[[nodiscard]] std::string model_text(const std::string& name, const std::string& solver);

/// Empty where it was not given.
[[nodiscard]] std::filesystem::path key_file(const CommandLine& line);

/// "0.8123", or "-".
[[nodiscard]] std::string accuracy_text(const std::optional<double>& accuracy);

/// How many requests a model has absorbed late and without receipts, to be added to a line; empty
/// where there are none.
[[nodiscard]] std::string missed_text(const ModelStep& step);

/// "yes, by T1", or "no (as published: ...)".
[[nodiscard]] std::string certified_text(const StepReport& report);

}  // namespace unweave
