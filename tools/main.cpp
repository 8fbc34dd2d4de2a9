// tools/main.cpp - the only place that knows argv and the process's own streams.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/commands.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return unweave::run_program(unweave::all_commands(), words, {std::cout, std::cerr, isatty(STDERR_FILENO) != 0});
}
