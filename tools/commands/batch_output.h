// tools/commands/batch_output.h - what `stream` and `serve` both say of a batch: what its requests changed, what a model has missed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "unweave/stream.h"

namespace unweave {

/// Counts by applied requests.
void add_changes(nlohmann::ordered_json& json, const BatchChanges& changes);
/// Why a model could not follow, and how many requests it has absorbed late and without receipts; nothing where neither is so.
void add_missed(nlohmann::ordered_json& json, const ModelStep& step);
/// The latter, to be added to a line; empty where there are none.
[[nodiscard]] std::string missed_text(const ModelStep& step);

}  // namespace unweave
