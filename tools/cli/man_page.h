// tools/cli/man_page.h - manual pages in roff, for man(1), made of what the commands say of
// themselves.
#pragma once

#include <iosfwd>
#include <span>

#include "tools/cli/command_help.h"

namespace unweave {

/// unweave-COMMAND(1).
void print_man_page(const CommandHelp& help, std::ostream& out);
/// unweave(1), which lists the others.
void print_man_page(std::span<const CommandHelp> all, std::ostream& out);

}  // namespace unweave
