// tools/commands/stream_output.h - what `unweave stream` prints of models for people.
#pragma once

#include <ostream>
#include <vector>

#include "unweave/stream.h"

namespace unweave {

/// What was done to the models that follow the stream, without what tells of removed data where the
/// output `is_public`. `accuracies`: one of each, where they were asked for.
void print_models(std::ostream& out, const BatchOutcome& outcome, const std::vector<Accuracies>& accuracies,
                  bool is_public);

}  // namespace unweave
