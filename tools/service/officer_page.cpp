// tools/service/officer_page.cpp - the page of a service for whoever answers for the data, and its
// form for a token.
#include "tools/service/officer_page.h"

#include <nlohmann/json.hpp>

#include "storage/io/json_text.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/report/html.h"
#include "tools/report/request_table.h"
#include "tools/report/sections/shared.h"
#include "tools/report/style.h"
#include "unweave/version.h"

namespace unweave {
namespace {

constexpr const char* kPagePolicy =
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

std::string document(const std::string& title, const std::string& lead, const std::string& main) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
         "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>" +
         title + "</title>\n<style>" + std::string(kPageStyle) + "</style>\n</head>\n<body>\n<header>\n<h1>" + title +
         "</h1>\n<p class=\"lead\">" + lead + "</p>\n</header>\n<main>\n" + main +
         "</main>\n<footer>\n<p>Made by <code>unweave serve</code>, version " + std::string(version()) +
         ".</p>\n</footer>\n</body>\n</html>\n";
}

std::string section(const std::string& id, const std::string& title, const std::string& html) {
  return "<section aria-labelledby=\"" + id + "\">\n<h2 id=\"" + id + "\">" + title + "</h2>\n" + html + "</section>\n";
}

std::string tile(std::string_view name, const std::string& value, const std::string& beside = "") {
  return "<div><dt>" + escaped(name) + "</dt><dd>" + value + (beside.empty() ? "" : "<small>" + beside + "</small>") +
         "</dd></div>\n";
}

std::string moment(const std::optional<Millis>& time) {
  return time ? moment_html(*time) : std::string();
}

std::string unpurged_line(const IntakeCounts& counts) {
  if (counts.purging)
    return headline("A purge is under way. Until it is done, requests are refused and may be sent again.");
  if (counts.unpurged == 0)
    return "<p class=\"headline calm\">Nothing waits for a purge: files of the store hold nothing that was removed.</p>\n";
  return headline("Not purged yet: " + counted(counts.unpurged, "request") +
                  (counts.unpurged_since ? ", the first of " + moment(counts.unpurged_since) : std::string()) + ". " +
                  (counts.purge_due ? "The next purge is due at " + moment(counts.purge_due) + "."
                                    : std::string("No purge by time is set (<code>--purge-every</code>).")));
}

std::string forms(const OfficerPage& page) {
  std::string html =
      "<form action=\"/\" method=\"get\" role=\"search\">\n<label for=\"find\">Id of a request, or name of a node"
      "<input id=\"find\" name=\"find\" type=\"search\" maxlength=\"512\" autocomplete=\"off\" required=\"\" value=\"" +
      (page.search ? escaped(page.search->text) : std::string()) + "\"/></label>\n<button>Search</button>\n</form>\n";
  if (page.search) html += "<p class=\"screen\"><a href=\"/\">All requests</a></p>\n";
  return html;
}

std::string state_tiles(const OfficerPage& page) {
  const IntakeCounts& counts = page.counts;
  const std::string state = counts.purging ? "<span class=\"bad\">purging</span>"
                            : page.ready   ? "<span class=\"good\">takes requests</span>"
                                           : "<span class=\"bad\">takes no requests</span>";
  return "<dl class=\"tiles\">\n" + tile("Service", state) + tile("Waiting to be applied", count_text(counts.waiting)) +
         tile("Applied since the start", count_text(counts.applied),
              count_text(counts.rejected) + " rejected, " + count_text(counts.acknowledged) + " acknowledged") +
         tile("Not purged yet", count_text(counts.unpurged),
              counts.unpurged_since ? "the first of " + moment(counts.unpurged_since) : std::string()) +
         tile("Purges since the start", count_text(counts.purges),
              (counts.last_purge ? "the last one at " + moment(counts.last_purge) : std::string())) +
         "</dl>\n";
}

std::string health_section(const OfficerPage& page) {
  std::string html;
  if (!page.counts.purge_error.empty())
    html += paragraph("<span class=\"bad\">The last purge could not be done:</span> " +
                      escaped(command_text(page.counts.purge_error)));
  if (!page.ready && !page.counts.purging)
    html += paragraph("<span class=\"bad\">No request is taken now:</span> too many wait, or the service ends.");
  HtmlTable table("Models of the store",
                  {{"model", kText}, {"solver", kText}, {"state", kText}, {"requests absorbed"}});
  for (const PageModel& model : page.models)
    table.add_row(
        {escaped(model.name), escaped(model.solver),
         !model.damage.empty()  ? "<span class=\"bad\">damaged:</span> " + escaped(command_text(model.damage))
         : model.solver.empty() ? "<span class=\"bad\">removed by a purge, and the rows have no other:</span> " +
                                      escaped(command_text(model.stuck))
         : !model.stuck.empty()
             ? "<span class=\"bad\">has not forgotten the last batches:</span> " + escaped(command_text(model.stuck))
         : model.follows ? "<span class=\"good\">forgets with every batch</span>"
                         : "<span class=\"bad\">does not follow the service</span>",
         model.damage.empty() ? count_cell(model.sequence) : std::string()});
  const char* const none =
      page.counts.purging ? "The store is being purged, and its models with it." : "The store has no model.";
  html += table.empty() ? paragraph(none) : table.html();
  return section("health", "Health", html);
}

std::string waiting_section(const OfficerPage& page) {
  const std::uint64_t count = page.counts.waiting;
  if (count == 0) return section("waiting", "What waits", paragraph("No request waits to be applied."));
  std::string html = paragraph(counted(count, "request") + (count == 1 ? " is" : " are") +
                               " durable and not applied yet. The newest:") +
                     "<ul>\n";
  for (const std::string& id : page.waiting) html += "<li>" + code_cell(id) + "</li>\n";
  return section("waiting", "What waits",
                 page.waiting.empty() ? paragraph(counted(count, "request") + " not applied yet.") : html + "</ul>\n");
}

std::string requests_section(const OfficerPage& page) {
  std::string html;
  if (page.requests.empty()) {
    html = paragraph("No request with an id was applied or rejected yet.");
  } else {
    html = paragraph(
               "The newest requests, under which certificate each is done, and whether a purge has taken what it "
               "removed out of the files.") +
           request_table("The newest requests", page.requests);
    if (page.logged > page.requests.size())
      html += paragraph("There are " + counted(page.logged - page.requests.size(), "older request") +
                        ": search for them by their ids.");
  }
  return section("requests", "Requests", html);
}

/// A list of what is known of a request.
std::string record_html(const RequestRecord& request) {
  HtmlList list;
  list.add("Request", code_cell(request.id));
  list.add("Asked for", kind_html(request));
  list.add("Outcome", state_html(request));
  list.add("Durable at", moment_html(request.time));
  list.add("Certificates", certificates_html(request, true));
  list.add("Models that have yet to forget", waiting_html(request));
  list.add("Files of the store", purge_html(request));
  list.add("Number in the store", count_cell(request.sequence));
  std::string left;
  if (!request.settled() && !request.waiting.empty()) left = "a batch, or a training anew, of these models";
  if (!request.settled() && request.removes() && !request.purged)
    left += std::string(left.empty() ? "" : ", and ") + "a purge of the store";
  list.add("Left to do", left.empty() ? "<span class=\"good\">nothing</span>" : left);
  return list.html();
}

/// The members of a receipt that people read, and the line, which programs check.
std::string receipt_html(const PageReceipt& receipt) {
  const auto fields = parse_json_or_discard<nlohmann::ordered_json>(receipt.line);
  HtmlList list;
  const auto add = [&](const char* name, const char* member) {
    const auto at = fields.is_object() ? fields.find(member) : fields.end();
    if (at == fields.end()) return;
    if (at->is_string()) list.add(name, escaped(at->get_ref<const std::string&>()));
    if (at->is_number_unsigned()) list.add(name, count_cell(at->get<std::uint64_t>()));
  };
  list.add("Model", escaped(receipt.model));
  add("Request, as the store has it", "request");
  add("Outcome", "status");
  add("Reason", "reason");
  add("Number in the store", "sequence");
  add("Certificate", "certificate");
  add("Digest of the certificate", "digest");
  return "<h3>Receipt of the model " + escaped(receipt.model) + "</h3>\n" + list.html() +
         paragraph(
             "The line of the receipt. With the signed certificate of this digest, <code>unweave verify</code> and "
             "the independent verifier check that it was covered.") +
         "<pre>" + escaped(receipt.line) + "</pre>\n";
}

std::string search_section(const OfficerPage& page) {
  const PageSearch& search = *page.search;
  std::string html;
  if (search.request) html += record_html(*search.request);
  if (search.removal) html += "<h3>The removal that it has asked for</h3>\n" + record_html(*search.removal);
  if (search.waits)
    html += paragraph("A request with the id " + code_cell(search.text) + " is durable and not applied yet.");
  for (const PageReceipt& receipt : search.receipts) html += receipt_html(receipt);
  if (search.request && search.receipts.empty())
    html += paragraph(search.writes_receipts ? "No receipt has this id."
                                             : "This service writes no receipts (<code>--receipts</code>).");
  const bool is_id = search.request || search.waits;
  if (!is_id) html += paragraph("No request has the id " + code_cell(search.text) + ".");
  if (search.name == PageSearch::Name::present)
    html += paragraph("A node of the store has the name " + code_cell(search.text) + ".");
  if (search.name == PageSearch::Name::absent && !is_id)
    html += paragraph("No node has the name " + code_cell(search.text) + ": it was removed, or never there.");
  if (search.name == PageSearch::Name::unreadable && !is_id)
    html += paragraph("Names of nodes cannot be read at present; search again later.");
  return section("found", search.request ? "What became of the request" : "Search", html);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> page_headers() {
  return {{"Content-Security-Policy", kPagePolicy},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "same-origin"},
          {"Cache-Control", "no-store"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

std::uint64_t officer_page_bytes(const OfficerPage& page) {
  // A character may become six in HTML, and a cell lies in its row, its table, its section, the
  // body and the document.
  constexpr std::uint64_t kFixed = std::uint64_t{48} << 10, kRow = 4096, kCopies = 36;
  std::uint64_t bytes = kFixed + kRow * (page.requests.size() + page.models.size() + page.waiting.size());
  const auto add = [&](const std::string& text) { bytes += kCopies * text.size(); };
  const auto add_record = [&](const RequestRecord& request) {
    add(request.id);
    add(request.earlier_id);
    for (const CoveringCertificate& one : request.certificates) bytes += kCopies * (one.model.size() + 64);
    for (const std::string& model : request.waiting) add(model);
  };
  for (const RequestRecord& request : page.requests) add_record(request);
  for (const PageModel& model : page.models) {
    add(model.name);
    add(model.damage);
  }
  for (const std::string& id : page.waiting) add(id);
  if (!page.search) return bytes;
  for (const auto& record : {page.search->request, page.search->removal})
    if (record) add_record(*record);
  for (const PageReceipt& receipt : page.search->receipts) add(receipt.line);
  add(page.search->text);
  return bytes;
}

std::string officer_page(const OfficerPage& page) {
  std::string main = page.search ? std::string() : unpurged_line(page.counts);
  main += forms(page);
  if (page.search)
    main += search_section(page);
  else
    main += state_tiles(page) + waiting_section(page) + requests_section(page) + health_section(page);
  if (page.has_cookie) main += "<form action=\"/logout\" method=\"post\">\n<button>Log out</button>\n</form>\n";
  return document("Requests of " + escaped(page.store), "As of " + moment_html(page.time) + ".", main);
}

std::string login_page(bool was_wrong) {
  return document("Unweave", "This service asks for a token.",
                  (was_wrong ? "<p role=\"alert\"><span class=\"bad\">This is no token of this service.</span></p>\n"
                             : std::string()) +
                      "<form action=\"/login\" method=\"post\">\n<label for=\"token\">Token<input id=\"token\" "
                      "name=\"token\" type=\"password\" autocomplete=\"current-password\" required=\"\"/></label>\n"
                      "<button>Log in</button>\n</form>\n");
}

}  // namespace unweave
