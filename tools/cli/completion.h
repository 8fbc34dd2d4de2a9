// tools/cli/completion.h - scripts by which shells complete commands and options, made of what the
// commands say of themselves.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "tools/cli/command_help.h"

namespace unweave {

/// The script of `shell`: bash, zsh or fish. Throws UsageError for another one.
void print_completion(const std::string& shell, std::span<const CommandHelp> all, std::ostream& out);

}  // namespace unweave
