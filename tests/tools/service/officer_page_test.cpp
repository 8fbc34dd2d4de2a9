// tests/tools/service/officer_page_test.cpp - the page of a service: what is on it, that it refers
// to nothing else, and that no text from outside becomes a part of it.
#include "tools/service/officer_page.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace unweave {
namespace {

const std::string kEvil = "\"'><script>alert(1)</script>&\x01\x1b";

bool has_part(const std::string& page, const std::string& part) {
  return page.find(part) != std::string::npos;
}

std::size_t count_parts(const std::string& page, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = page.find(part); at != std::string::npos; at = page.find(part, at + part.size())) ++count;
  return count;
}

/// One document, whose links and forms stay at the service.
void check_document(const std::string& page) {
  for (const char* const part :
       {"http:", "https:", "src=", "url(", "@import", "<script", "<link", "<img", "javascript:", "onclick", "\x1b"})
    CHECK_MESSAGE(!has_part(page, part), part);
  CHECK(count_parts(page, "href=\"") == count_parts(page, "href=\"/\""));
  CHECK(count_parts(page, "action=\"") == count_parts(page, "action=\"/\"") + count_parts(page, "action=\"/login\"") +
                                              count_parts(page, "action=\"/logout\""));
  CHECK(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">\n"));
  CHECK(page.ends_with("</body>\n</html>\n"));
  CHECK(count_parts(page, "<h1>") == 1);
  CHECK(count_parts(page, "<main>") == 1);
  CHECK(count_parts(page, "<section") == count_parts(page, "</section>"));
}

RequestRecord record_of(const std::string& id, std::uint64_t sequence) {
  RequestRecord record;
  record.id = id;
  record.kind = "node";
  record.status = "applied";
  record.sequence = sequence;
  record.time = 1'772'366'400'000;  // 2026-03-01T12:00:00Z
  record.certificates = {{"exact", 2, "exact-2-e414", "2026-03-01T12:01Z"}};
  return record;
}

OfficerPage full_page() {
  OfficerPage page;
  page.store = "people.store";
  page.time = 1'772'366'460'000;
  page.ready = true;
  page.counts.acknowledged = 1234;
  page.counts.applied = 1200;
  page.counts.rejected = 31;
  page.counts.waiting = 3;
  page.counts.unpurged = 7;
  page.counts.unpurged_since = 1'772'366'400'000;
  page.counts.purge_due = 1'772'452'800'000;
  page.models = {{"exact", "exact", true, "", 1231, ""},
                 {"old", "newton", false, "", 3, ""},
                 {"tie", "exact", true, "a <tie>", 3, ""}};
  page.waiting = {"W3", "W2", "W1"};
  page.requests = {record_of("T2", 1231), record_of("T1", 1230)};
  page.requests[0].waiting = {"old"};
  page.requests[1].purged = true;
  page.logged = 2;
  return page;
}

TEST_SUITE("unit") {
  TEST_CASE("what waits, what is done and under which certificate, what is not purged and until when, health") {
    const std::string page = officer_page(full_page());
    check_document(page);
    for (const char* const part :
         {"<h1>Requests of people.store</h1>", "As of <time datetime=\"2026-03-01T12:01:00.000Z\">", "takes requests",
          "Not purged yet: 7 requests, the first of <time datetime=\"2026-03-01T12:00:00.000Z\">",
          "The next purge is due at <time datetime=\"2026-03-02T12:00:00.000Z\">", "12:00:00 UTC", "<code>W1</code>",
          "<code>T2</code>", "exact, number 2<", "not purged yet</span>", ">purged</span>", "forgets with every batch",
          "does not follow the service", "has not forgotten the last batches:</span> a &lt;tie&gt;", "1,200"})
      CHECK_MESSAGE(has_part(page, part), part);
    CHECK(page.find("<code>T2</code>") < page.find("<code>T1</code>"));
    CHECK_FALSE(has_part(page, "Log out"));
    CHECK_FALSE(has_part(page, "older request"));
  }

  TEST_CASE("a service at rest, and one that fails") {
    OfficerPage page;
    page.store = "s";
    page.ready = true;
    page.has_cookie = true;
    std::string html = officer_page(page);
    check_document(html);
    for (const char* const part : {"Nothing waits for a purge", "No request waits", "No request with an id",
                                   "The store has no model.", "Log out"})
      CHECK_MESSAGE(has_part(html, part), part);
    page.ready = false;
    page.counts.unpurged = 1;
    page.counts.purge_error = "the disk is full";
    page.logged = 51;
    page.requests = {record_of("T", 1)};
    html = officer_page(page);
    for (const char* const part :
         {"takes no requests", "No purge by time is set", "The last purge could not be done:</span> the disk is full",
          "There are 50 older requests"})
      CHECK_MESSAGE(has_part(html, part), part);
    page.counts.purging = true;
    CHECK(has_part(officer_page(page), "A purge is under way"));
  }

  TEST_CASE("a search takes the place of the lists, and shows receipts as they are written") {
    OfficerPage page = full_page();
    PageSearch search;
    search.text = "T1";
    search.request = page.requests[1];
    search.writes_receipts = true;
    search.receipts = {
        {"exact",
         R"({"format":"receipt","request":"node 5 id=T1 at=2026-03-01T12:00:00.000Z","certificate":2,"nonce":"00ff"})"}};
    page.search = search;
    const std::string html = officer_page(page);
    check_document(html);
    for (const char* const part :
         {"What became of the request", "exact, number 2, 2026-03-01T12:01Z", "Receipt of the model exact",
          "<dt>Certificate</dt><dd>2</dd>", "&quot;nonce&quot;:&quot;00ff&quot;", "value=\"T1\"", "All requests"})
      CHECK_MESSAGE(has_part(html, part), part);
    CHECK_FALSE(has_part(html, "<code>T2</code>"));
    CHECK(has_part(html, "<dt>Left to do</dt><dd><span class=\"good\">nothing</span></dd>"));
    page.search->request->purged = false;
    page.search->request->waiting = {"old"};
    CHECK(has_part(officer_page(page), "a batch, or a training anew, of these models, and a purge of the store"));
    CHECK_FALSE(has_part(html, "has the name"));

    page.search->request.reset();
    page.search->receipts.clear();
    page.search->name = PageSearch::Name::absent;
    const std::string none = officer_page(page);
    CHECK(has_part(none, "No request has the id <code>T1</code>."));
    CHECK(has_part(none, "No node has the name <code>T1</code>: it was removed, or never there."));
    page.search->waits = true;
    page.search->name = PageSearch::Name::present;
    const std::string waits = officer_page(page);
    CHECK(has_part(waits, "is durable and not applied yet"));
    CHECK(has_part(waits, "A node of the store has the name <code>T1</code>."));
  }

  TEST_CASE("no text from outside becomes a part of the page") {
    OfficerPage page = full_page();
    RequestRecord record = record_of(kEvil, 5);
    record.kind = record.status = kEvil;
    record.earlier = 3;
    record.earlier_id = kEvil;
    record.certificates = {{kEvil, 1, kEvil, kEvil}};
    record.waiting = {kEvil};
    page.store = kEvil;
    page.requests = {record};
    page.waiting = {kEvil};
    page.models = {
        {kEvil, kEvil, true, "", 1, ""}, {kEvil, kEvil, true, kEvil, 1, ""}, {kEvil, kEvil, false, "", 1, kEvil}};
    page.counts.purge_error = kEvil;
    check_document(officer_page(page));
    page.search = PageSearch{kEvil,
                             record,
                             record,
                             true,
                             true,
                             {{kEvil, kEvil}, {"m", "{\"request\":\"<script>\"}"}},
                             PageSearch::Name::absent};
    const std::string html = officer_page(page);
    check_document(html);
    CHECK(count_parts(html, "&lt;script&gt;") > 10);
  }

  TEST_CASE("what it takes is told before") {
    OfficerPage page = full_page();
    for (int i = 0; i < 50; ++i) {
      page.requests.push_back(record_of(std::string(128, '<'), 1));
      for (int model = 0; model < 20; ++model)
        page.requests.back().certificates.push_back({std::string(64, '"'), 1, "", "2026-03-01T12:01Z"});
    }
    CHECK(officer_page_bytes(page) > 3 * officer_page(page).size());
    CHECK(officer_page_bytes(OfficerPage()) > 3 * officer_page(OfficerPage()).size());
  }

  TEST_CASE("the form for a token tells nothing of the store") {
    for (const bool was_wrong : {false, true}) {
      const std::string page = login_page(was_wrong);
      check_document(page);
      CHECK(has_part(page, "<form action=\"/login\" method=\"post\">"));
      CHECK(has_part(page, "type=\"password\""));
      CHECK(has_part(page, "no token of this service") == was_wrong);
    }
  }
}

}  // namespace
}  // namespace unweave
