// tools/build_report.h - what `import` and `generate` print about the store they built.
#pragma once

#include "engine/store_builder.h"
#include "tools/command.h"
#include "tools/measure.h"

namespace unweave {

/// One JSON object or a table, as the command line asks.
void print_build_report(const CommandLine& line, const BuildReport& report, Measure& measure);

}  // namespace unweave
