// tests/bench/limits/main.cpp - unweave_bench: the benchmarks as a program.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "bench/limits/commands.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return unweave::run_program(
      unweave::bench_commands(), words,
      {std::cout, std::cerr, isatty(STDERR_FILENO) != 0, isatty(STDOUT_FILENO) != 0, "unweave_bench"});
}
