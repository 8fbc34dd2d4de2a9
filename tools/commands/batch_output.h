// tools/commands/batch_output.h - what the requests of a batch changed, as fields of JSON that `stream` and `serve` share.
#pragma once

#include <nlohmann/json.hpp>

#include "unweave/stream.h"

namespace unweave {

/// Counts by applied requests.
void add_changes(nlohmann::ordered_json& json, const BatchChanges& changes);

}  // namespace unweave
