// tools/report/request_table.h - what became of requests with an id, as HTML: for a report, and for
// the page of a service.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/io/time_text.h"
#include "tools/report/html.h"
#include "unweave/requests.h"

namespace unweave {

/// A moment to the second, "2026-03-01 12:00:00 UTC", with the exact one beside it for programs.
[[nodiscard]] std::string moment_html(Millis time);
/// What a request asked for, and whether a note has asked for it before.
[[nodiscard]] std::string kind_html(const RequestRecord& request);
/// "applied", or why it was rejected and which earlier request has done the same.
[[nodiscard]] std::string state_html(const RequestRecord& request);
/// Model and number of each certificate that covers it, and its time; "" where there is none.
[[nodiscard]] std::string certificates_html(const RequestRecord& request, bool with_time);
/// Models that have yet to absorb it; "" where there is none.
[[nodiscard]] std::string waiting_html(const RequestRecord& request);
/// Whether files still hold what it has removed; "" where it has removed nothing.
[[nodiscard]] std::string purge_html(const RequestRecord& request);

/// One row a request, in the order given.
[[nodiscard]] std::string request_table(const std::string& caption, const std::vector<RequestRecord>& requests);

/// A sentence that comes before everything else; `html`.
[[nodiscard]] std::string headline(const std::string& html);

}  // namespace unweave
