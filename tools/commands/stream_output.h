// tools/commands/stream_output.h - what `unweave stream` prints of a batch, as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "unweave/stream.h"

namespace unweave {

/// What was done of a batch; all of these leave out what tells of removed data where the output `is_public`.
[[nodiscard]] nlohmann::ordered_json fields_of(std::uint64_t batch, const BatchOutcome& outcome,
                                               std::optional<double> lazy_error, bool is_public);
/// What is said of the models that follow the stream: of the first one among the fields of the batch, of several also in the list
/// `models`.
/// `accuracies`: one of each, where they were asked for.
void add_models(nlohmann::ordered_json& json, const BatchOutcome& outcome, const std::vector<Accuracies>& accuracies,
                bool is_public);
void print_models(std::ostream& out, const BatchOutcome& outcome, const std::vector<Accuracies>& accuracies,
                  bool is_public);

}  // namespace unweave
