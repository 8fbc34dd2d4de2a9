// tools/build_report.h - what `import` and `generate` print about the store they built.
#pragma once

#include "engine/store_builder.h"
#include "tools/measure.h"
#include "tools/output.h"

namespace unweave {

[[nodiscard]] Figures figures_of(const BuildReport& report);
/// Time and memory, which end the table.
void add_measure(Figures& figures, Measure& measure);

}  // namespace unweave
