// tools/cli/build_report.h - what `import` and `generate` print about the store they built.
#pragma once

#include <string>

#include "engine/ingest/store_builder.h"
#include "tools/cli/measure.h"
#include "tools/cli/output.h"

namespace unweave {

[[nodiscard]] Table build_table(const BuildReport& report);

/// For CommandLine::on_interrupt(), while a store is built.
[[nodiscard]] std::string interrupted_build(const std::string& store);
/// Time and memory, which end the table.
void add_measure(Figures& figures, Measure& measure);

}  // namespace unweave
