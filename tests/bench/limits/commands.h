// tests/bench/limits/commands.h - the benchmarks of unweave_bench: figures of one part of the
// engine, beside the machine's limit in the same run. What they make lies in a folder
// unweave-bench-* of TMPDIR (/tmp), which goes with the process, also when it is killed.
#pragma once

#include <span>

#include "tools/cli/command.h"

namespace unweave {

[[nodiscard]] std::span<const Command> bench_commands();

}  // namespace unweave
