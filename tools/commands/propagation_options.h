// tools/commands/propagation_options.h - what `propagate` computes and `plan` estimates: the
// options that say it.
#pragma once

#include <cstdint>

#include "tools/cli/command.h"
#include "unweave/store.h"

namespace unweave {

/// Sums so many times as large as the features deserve a word.
inline constexpr std::uint64_t kLargeSums = 10;

void add_propagation_options(CommandLine& line);
/// `labelled_rows`: of the store. Throws UsageError.
[[nodiscard]] PropagationSpec read_propagation_spec(const CommandLine& line, bool labelled_rows);

}  // namespace unweave
