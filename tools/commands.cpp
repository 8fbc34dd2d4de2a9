// tools/commands.cpp - the table of commands: a new one is a declaration and a line here.
#include "tools/commands.h"

#include <vector>

namespace unweave {

std::span<const Command> all_commands() {
  static const std::vector<Command> table = {
      {"info", "says what a store holds", run_info},
      {"verify", "checks files and integers of a store", run_verify},
      {"export", "writes embeddings or edges as NumPy files", run_export},
  };
  return table;
}

}  // namespace unweave
