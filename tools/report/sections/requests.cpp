// tools/report/sections/requests.cpp - requests of the store with their ids, and whether a purge is
// due.
#include <algorithm>
#include <cstdint>
#include <string>

#include "tools/cli/output.h"
#include "tools/report/html.h"
#include "tools/report/request_table.h"
#include "tools/report/sections/sections.h"
#include "tools/report/sections/shared.h"

namespace unweave {

std::string unpurged_headline(const StoreFacts& store) {
  const LoggedRequests& logged = store.requests;
  const std::uint64_t present = store.info.acknowledged, known = logged.unpurged_removals;
  // Those without an id, and those that were sent again, have no line in the log.
  const std::uint64_t others = present - std::min(present, logged.unpurged);
  if (known > 0)
    return headline("Not purged yet: " + counted(known, "request") + (known == 1 ? " has" : " have") +
                    " removed or replaced what files of the store still hold, the first at " +
                    moment_html(logged.first_removal) + "." +
                    (others > 0 ? " " + counted(others, "further request") + " without an id of " +
                                      (others == 1 ? "its" : "their") + " own may have done so, too."
                                : std::string()));
  if (others > 0)
    return headline("Not purged yet: " + counted(others, "request") +
                    " without an id may have removed what files of the store still hold.");
  return "";
}

std::string request_section(const StoreFacts& store) {
  const LoggedRequests& logged = store.requests;
  if (logged.newest.empty()) return "";
  std::string html = paragraph(
      "Requests to which their senders gave an id, the newest first. A request is done when every model has a "
      "certificate that covers it and a purge has taken what it removed out of the files. A rejected one changes "
      "nothing; where an earlier one without an id has removed the same, files hold it until a purge.");
  html += request_table("Requests with an id", logged.newest);
  if (logged.total > logged.newest.size())
    html += paragraph(counted(logged.total - logged.newest.size(), "older request") +
                      (logged.total - logged.newest.size() == 1 ? " is" : " are") +
                      " not shown; <code>unweave requests</code> prints all of them.");
  return html;
}

}  // namespace unweave
