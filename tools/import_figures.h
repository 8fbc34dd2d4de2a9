// tools/import_figures.h - what `import` prints of its files, beside the figures of every new store.
#pragma once

#include "engine/import_report.h"
#include "tools/output.h"

namespace unweave {

void add_import_figures(const ImportReport& report, Figures& figures);

}  // namespace unweave
