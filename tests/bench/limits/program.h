// tests/bench/limits/program.h - one benchmark of unweave_bench within the test's own process.
#pragma once

#include <string>
#include <vector>

#include "bench/limits/commands.h"
#include "support/program.h"

namespace unweave::testing {

inline Result bench(const std::vector<std::string>& words) {
  return run(words, bench_commands());
}

}  // namespace unweave::testing
