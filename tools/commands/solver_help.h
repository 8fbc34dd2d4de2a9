// tools/commands/solver_help.h - `train --help-solver NAME`: what one solver does, and the
// parameters of its own.
#pragma once

#include <string>
#include <string_view>

namespace unweave {

/// Throws UsageError for a name that no solver has.
[[nodiscard]] std::string solver_help(std::string_view solver);

}  // namespace unweave
