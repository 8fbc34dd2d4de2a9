// tools/commands.cpp - the table of commands: a new one is a declaration and a line here.
#include "tools/commands.h"

#include <vector>

namespace unweave {

std::span<const Command> all_commands() {
  static const std::vector<Command> table = {
      {"import", "builds a store from files of edges, features, labels and splits", run_import},
      {"generate", "builds a synthetic store: R-MAT or a stochastic block model", run_generate},
  };
  return table;
}

}  // namespace unweave
