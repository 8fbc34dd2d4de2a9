// tools/report/sections/sections.h - the parts of a report as HTML, each without its heading; empty
// where there is nothing to show.
#pragma once

#include <string>

#include "tools/report/page.h"

namespace unweave {

// batches.cpp
[[nodiscard]] std::string asked_section(const RunLines& lines);
[[nodiscard]] std::string accuracy_section(const RunLines& lines);
[[nodiscard]] std::string cost_section(const RunLines& lines);
// claims.cpp
[[nodiscard]] std::string theorem_section(const ReportInput& input);
// models.cpp
[[nodiscard]] std::string training_section(const RunLines& lines);
[[nodiscard]] std::string retraining_section(const RunLines& lines);
[[nodiscard]] std::string forgetting_section(const RunLines& lines);
// audits.cpp
[[nodiscard]] std::string audit_section(const RunLines& lines);
// maintenance.cpp
[[nodiscard]] std::string verification_section(const RunLines& lines);
[[nodiscard]] std::string purge_section(const RunLines& lines);
// requests.cpp
/// A headline where files may hold what was removed; else nothing.
[[nodiscard]] std::string unpurged_headline(const StoreFacts& store);
[[nodiscard]] std::string request_section(const StoreFacts& store);
// store.cpp
[[nodiscard]] std::string store_section(const StoreFacts& store);
[[nodiscard]] std::string certificate_section(const StoreFacts& store);

}  // namespace unweave
