// tools/commands/import_figures.h - what `import` prints for people.
#pragma once

#include <string>

#include "tools/cli/command.h"
#include "tools/cli/output.h"
#include "unweave/ingest.h"

namespace unweave {

/// Where the sums of a propagation, which are dense, will be large beside the features; empty
/// elsewhere.
[[nodiscard]] std::string remark_on_sums(const ImportReport& report);

/// `import --plan`: a table or one line of JSON. Throws ResourceError, once it is printed, where
/// the import cannot fit.
void print_import_plan(const CommandLine& line, const ImportForecast& forecast);

[[nodiscard]] Table import_table(const ImportReport& report);

}  // namespace unweave
