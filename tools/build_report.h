// tools/build_report.h - what `import` and `generate` print about the store they built.
#pragma once

#include "engine/store_builder.h"
#include "tools/measure.h"
#include "tools/output.h"

namespace unweave {

[[nodiscard]] Figures figures_of(const BuildReport& report, Measure& measure);

}  // namespace unweave
