// tools/commands/import_figures.h - what `import` prints of its files, beside the figures of every new store.
#pragma once

#include <string>

#include "tools/cli/output.h"
#include "unweave/ingest.h"

namespace unweave {

/// Where the sums of a propagation, which are dense, will be large beside the features; empty elsewhere.
[[nodiscard]] std::string remark_on_sums(const ImportReport& report);

void add_import_figures(const ImportReport& report, Figures& figures);

}  // namespace unweave
