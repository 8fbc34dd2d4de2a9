// tools/report/sections/maintenance.cpp - checks of the store, and its purges.
#include <optional>
#include <string>
#include <vector>

#include "tools/report/html.h"
#include "tools/report/sections/sections.h"
#include "tools/report/sections/shared.h"

namespace unweave {
std::string verification_section(const RunLines& lines) {
  std::string html;
  HtmlTable table("Checks by verify", {{"check"},
                                       {"outcome", kText},
                                       {"statements checked"},
                                       {"errors"},
                                       {"files"},
                                       {"bytes"},
                                       {"arcs"},
                                       {"rows computed again"},
                                       {"rows proved"},
                                       {"rows of a fresh propagation"},
                                       {"models"},
                                       {"models outdated"},
                                       {"certificates"},
                                       {"receipts"}});
  for (std::size_t i = 0; i < lines.verifications.size(); ++i) {
    const RunLine& line = lines.verifications[i];
    const std::vector<std::string> errors = line.texts("errors");
    table.add_row({std::to_string(i + 1),
                   yes_or_no(line.flag("ok").value_or(false), "all checks hold", "some do not hold"),
                   count_cell(line.count("checked")), count_cell(errors.size()), count_cell(line.count("files")),
                   bytes_cell(line.count("bytes")), count_cell(line.count("arcs")), count_cell(line.count("rows")),
                   count_cell(line.count("proved_rows")), count_cell(line.count("rebuilt_rows")),
                   count_cell(line.count("models")), count_cell(line.count("models_outdated")),
                   count_cell(line.count("certificates")), count_cell(line.count("receipts"))});
    if (!errors.empty())
      html += paragraph("Check " + std::to_string(i + 1) + " found what is damaged or false:") + items_html(errors);
    const std::vector<std::string> remarks = line.texts("remarks");
    if (!remarks.empty()) html += paragraph("Remarks of check " + std::to_string(i + 1) + ":") + items_html(remarks);
  }
  return table.empty() ? "" : table.html() + html;
}

std::string purge_section(const RunLines& lines) {
  HtmlTable table("Purges", {{"purge"},
                             {"outcome", kText},
                             {"requests forgotten"},
                             {"bytes rewritten"},
                             {"bytes kept"},
                             {"bytes removed"},
                             {"models kept", kText},
                             {"proof", kText},
                             {"time"},
                             {"digest of the new contents", kText}});
  for (std::size_t i = 0; i < lines.purges.size(); ++i) {
    const RunLine& line = lines.purges[i];
    table.add_row({std::to_string(i + 1),
                   line.flag("purged").value_or(false) ? "erased" : "nothing was to be forgotten",
                   count_cell(line.count("requests")), bytes_cell(line.count("bytes_rewritten")),
                   bytes_cell(line.count("bytes_kept")), bytes_cell(line.count("bytes_removed")),
                   text_cell(joined_texts(line.texts("models_kept"))), text_cell(line.text("proof")),
                   seconds_cell(line.real("seconds")), code_cell(line.text("digest"))});
  }
  if (table.empty()) return "";
  return paragraph(
             "A purge erases what was removed from the files of the store. Its <em>proof</em> says what is then equal to a "
             "fresh import of the remaining data: all <em>bytes</em>, or the <em>digest</em> of the contents. It does not "
             "reach copies, backups, and what was exported or printed.") +
         table.html();
}

}  // namespace unweave
