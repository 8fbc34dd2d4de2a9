// tools/commands.cpp - the table of commands: a new one is a declaration and a line here.
#include "tools/commands.h"

#include <vector>

namespace unweave {

void run_bench(CommandLine& line);
void run_propagate(CommandLine& line);
void run_stream(CommandLine& line);

std::span<const Command> all_commands() {
  static const std::vector<Command> table = {
      {"propagate", "compute the embedding of every level anew", run_propagate},
      {"stream", "remove edges, nodes and features, insert edges", run_stream},
      {"bench", "figures beside the machine's limit", run_bench},
  };
  return table;
}

}  // namespace unweave
