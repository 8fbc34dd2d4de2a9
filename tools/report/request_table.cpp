// tools/report/request_table.cpp - what became of requests with an id, as HTML.
#include "tools/report/request_table.h"

#include <string_view>

#include "tools/cli/output.h"
#include "unweave/stream.h"

namespace unweave {
namespace {

constexpr std::string_view kApplied = "applied";

std::string reason_of(const std::string& status) {
  for (const StatusText& one : kStatusTexts)
    if (one.name == status) return std::string(one.sentence);
  return "a reason of a later program";
}

/// A text that may take several lines in a cell.
std::string wrapped(const std::string& html) {
  return "<span class=\"wrap\">" + html + "</span>";
}

}  // namespace

std::string moment_html(Millis time) {
  const std::string text = time_text(time);
  // A line may end between day and time, and at no hyphen.
  return "<time datetime=\"" + text + "\"><span class=\"one\">" + text.substr(0, 10) + "</span> <span class=\"one\">" +
         text.substr(11, 8) + " UTC</span></time>";
}

std::string kind_html(const RequestRecord& request) {
  return escaped(request.kind) + (request.expired ? " (expired)" : "");
}

std::string state_html(const RequestRecord& request) {
  if (request.status == kApplied) return "applied";
  std::string html = "rejected: " + escaped(reason_of(request.status));
  if (request.earlier > 0)
    html += "; request " + count_text(request.earlier) +
            (request.earlier_id.empty() ? std::string() : ", " + code_cell(request.earlier_id) + ",") +
            " asked for the same and was applied at " + moment_html(request.earlier_time);
  return wrapped(html);
}

std::string certificates_html(const RequestRecord& request, bool with_time) {
  std::string html;
  for (const CoveringCertificate& one : request.certificates)
    html += std::string(html.empty() ? "" : "<br/>") + escaped(one.model) + ", number " + count_text(one.number) +
            (!with_time || one.time.empty() ? "" : ", " + escaped(one.time));
  return html;
}

std::string waiting_html(const RequestRecord& request) {
  std::string html;
  for (const std::string& model : request.waiting) html += (html.empty() ? "" : ", ") + escaped(model);
  return html;
}

std::string purge_html(const RequestRecord& request) {
  if (!request.done() || !request.removes()) return "";
  return request.purged ? "<span class=\"good\">purged</span>" : "<span class=\"bad\">not purged yet</span>";
}

std::string request_table(const std::string& caption, const std::vector<RequestRecord>& requests) {
  constexpr auto kLeft = HtmlTable::Align::text;
  HtmlTable table(caption, {{"request", kLeft},
                            {"asked for", kLeft},
                            {"outcome", kLeft},
                            {"files", kLeft},
                            {"certificates", kLeft},
                            {"models that have yet to forget", kLeft},
                            {"time", kLeft},
                            {"number"}});
  for (const RequestRecord& request : requests)
    table.add_row({code_cell(request.id), kind_html(request), state_html(request), purge_html(request),
                   certificates_html(request, false), waiting_html(request), moment_html(request.time),
                   count_cell(request.sequence)});
  return table.empty() ? "" : table.html();
}

std::string headline(const std::string& html) {
  return "<p class=\"headline\">" + html + "</p>\n";
}

}  // namespace unweave
