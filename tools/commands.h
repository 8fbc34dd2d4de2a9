// tools/commands.h - the commands of this program; each is written in tools/<name>.cpp.
#pragma once

#include <span>

#include "tools/command.h"

namespace unweave {

void run_info(CommandLine& line);
void run_verify(CommandLine& line);
void run_export(CommandLine& line);

/// In the order in which the help lists them.
[[nodiscard]] std::span<const Command> all_commands();

}  // namespace unweave
