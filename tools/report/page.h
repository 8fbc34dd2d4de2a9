// tools/report/page.h - a page for the files of whoever answers for the data: what was asked, what
// was done, and what holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/report/run_lines.h"
#include "tools/report/store_facts.h"

namespace unweave {

struct ReportInput {
  RunLines lines;
  std::optional<StoreFacts> store;
};

/// Sums over all batches; without a value where a batch does not tell, as lines of `stream
/// --public`.
struct BatchTotals {
  std::uint64_t requests = 0;
  std::optional<std::uint64_t> applied, rejected;
  std::uint64_t certified = 0;  ///< batches
};

[[nodiscard]] BatchTotals totals_of(const RunLines& lines);

/// Whether no command's lines are there, nor a store.
[[nodiscard]] bool has_nothing(const ReportInput& input);

/// One HTML document, which refers to nothing outside of it. Equal inputs give equal bytes. Throws
/// InputError for a member of a line that is of another kind than the command writes.
[[nodiscard]] std::string report_page(const ReportInput& input);

}  // namespace unweave
