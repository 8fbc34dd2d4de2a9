// tests/algorithms/api/requests_test.cpp - a request that is sent twice is applied once, whatever
// comes between: another batch or session, a crash, a checkpoint, a purge. What is told of it is
// true at every step.
#include "unweave/requests.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/store_reader.h"
#include "storage/formats/manifest.h"
#include "storage/formats/request_log.h"
#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/model_store.h"
#include "unweave/maintenance.h"
#include "unweave/rows.h"
#include "unweave/stream.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using enum RequestStatus;
using Statuses = std::vector<RequestStatus>;

struct RequestWorld : testing::ModelStore {
  std::vector<Request> requests;  ///< removals of edges, with ids

  RequestWorld() {
    const Reader reader(store, resources);
    DrawOptions draw;
    draw.kind = DrawKind::kEdge;
    draw.count = 4;
    requests = draw_requests(reader, draw);
    for (std::size_t i = 0; i < requests.size(); ++i) requests[i].id = "T" + std::to_string(i);
  }
  /// Sends a batch; `close`: else the session ends as a crash would end it.
  Statuses send(std::span<const Request> batch, bool close = true, StreamOptions options = {}) {
    Writer writer(store, resources);
    StreamSession session(writer, std::move(options));
    const BatchOutcome outcome = session.send(batch);
    if (close) session.close();
    return outcome.refused ? Statuses{} : outcome.batch.changes.statuses;
  }
  std::vector<RequestRecord> records(const std::optional<std::string>& id = {}) {
    std::vector<RequestRecord> all;
    visit_requests(store, id, resources, [&](const RequestRecord& record) { all.push_back(record); });
    return all;
  }
  /// How many requests are durable.
  std::uint64_t acknowledged() { return StoreReader(store, resources.memory()).sequence(); }
  RequestRecord record(const std::string& id) {
    const auto found = records(id);
    REQUIRE(found.size() == 1);
    return found[0];
  }
};

TEST_SUITE("slow") {
  TEST_CASE("a session knows which ids are those of requests that were decided") {
    RequestWorld at;
    using Uses = std::vector<IdUse>;
    using enum IdUse;
    const std::vector<Request> twice{at.requests[0], {RequestKind::remove_node, 1, 0}, at.requests[0]};
    for (const bool first : {true, false}) {
      Writer writer(at.store, at.resources);
      StreamSession session(writer);
      CHECK(session.id_uses(twice) == Uses{first ? fresh : known, fresh, known});
      CHECK(session.id_uses(std::span(twice).subspan(1, 1)).empty());
      if (!first) continue;
      static_cast<void>(session.acknowledge({at.requests.data(), 1}));
      CHECK(session.id_uses(twice) == Uses{known, fresh, known});  // it waits
      Request other = at.requests[1];
      other.id = at.requests[0].id;
      CHECK(session.id_uses({&other, 1}) == Uses{IdUse::other});
      CHECK(session.conflict({&other, 1}, 0).waiting);
      CHECK_THROWS_AS(static_cast<void>(session.acknowledge({&other, 1})), IdConflictError);
      CHECK(session.waiting() == 1);
      CHECK(session.apply_acknowledged(5).outcome.batch.changes.statuses == Statuses{applied});
      CHECK(session.id_uses(twice) == Uses{known, fresh, known});
      CHECK(session.id_uses({&other, 1}) == Uses{IdUse::other});
      CHECK_FALSE(session.conflict({&other, 1}, 0).waiting);
    }
  }

  TEST_CASE("the same id in one batch, in the next one, after a crash, a checkpoint and a purge") {
    for (const bool close : {true, false}) {
      CAPTURE(close);
      RequestWorld at;
      const std::vector<Request> twice{at.requests[0], at.requests[0], at.requests[1]};
      CHECK(at.send(twice, close) == Statuses{applied, known_id, applied});
      const std::vector<RequestRecord> first = at.records();
      REQUIRE(first.size() == 2);
      CHECK(first[0].id == "T0");
      CHECK(first[1].sequence == 3);
      CHECK(at.send(at.requests, close) == Statuses{known_id, known_id, applied, applied});
      CHECK(at.send(at.requests, close) == Statuses(4, known_id));
      CHECK(at.records().size() == 4);
      CHECK(at.record("T0").time == first[0].time);
      CHECK(verify_store(at.store, {}, at.resources).ok());
      static_cast<void>(purge_store(at.store, {}, at.resources));
      CHECK(at.send(at.requests, close) == Statuses(4, known_id));
      CHECK(at.records().size() == 4);
      CHECK(verify_store(at.store, {}, at.resources).ok());
    }
  }

  TEST_CASE("the newest requests are told as all of them are, before and after a purge") {
    RequestWorld at;
    static_cast<void>(at.send(std::span(at.requests).first(3)));
    static_cast<void>(purge_store(at.store, {}, at.resources));
    Request same = at.requests[3];
    same.id = "again";
    const std::vector<Request> last{at.requests[3], same};
    static_cast<void>(at.send(last));
    std::vector<RequestRecord> all = at.records();
    std::reverse(all.begin(), all.end());
    REQUIRE(all.size() == 5);
    for (const std::size_t most : {1U, 2U, 3U, 5U, 9U}) {
      const NewestRequests newest = newest_logged_requests(at.store, most);
      CHECK(newest.total == 5);
      REQUIRE(newest.requests.size() == std::min<std::size_t>(most, 5));
      for (std::size_t i = 0; i < newest.requests.size(); ++i) {
        CHECK(newest.requests[i].id == all[i].id);
        CHECK(newest.requests[i].purged == all[i].purged);
        CHECK(newest.requests[i].earlier == all[i].earlier);
        CHECK(newest.requests[i].certificates.size() == all[i].certificates.size());
        CHECK(newest.requests[i].earlier_id == all[i].earlier_id);  // also of one that is older than they are
      }
    }
    CHECK(all[0].earlier_id == "T3");
  }

  TEST_CASE(
      "an id stands for one request: another one is refused, at once and ever after, and nothing of its batch is done") {
    for (const bool close : {true, false}) {
      CAPTURE(close);
      RequestWorld at;
      const Request first = at.requests[0];
      const auto bearing = [&](Request request) {
        request.id = first.id;
        return request;
      };
      Request turned = first;
      std::swap(turned.u, turned.v);
      const std::vector<Request> others{
          bearing(at.requests[1]), bearing({RequestKind::remove_node, first.u, 0}),
          bearing({RequestKind::insert_edge, first.u, first.v}),
          bearing({RequestKind::expire_edge, first.u, first.v, "", "2100-01-01T00:00:00.000Z"}),
          bearing({RequestKind::remove_edge, first.u, 1'000'000})};
      const auto refused = [&](const std::vector<Request>& batch, std::size_t index, const std::string& said) {
        std::uint64_t before = 0;
        try {
          before = at.acknowledged();
          static_cast<void>(at.send(batch, close));
          FAIL("it was taken");
        } catch (const IdConflictError& error) {
          CHECK(error.conflicts.at(0).index == index);
          testing::check_message(error.what(), {"the id T0 ", said, "give this request an id of its own"});
          CHECK(std::string(error.what()).find(' ' + std::to_string(first.v)) == std::string::npos);
        }
        CHECK(at.acknowledged() == before);
      };
      refused({first, others[0]}, 1, "stands for request 0 of the same batch");
      CHECK(at.records().empty());
      CHECK(at.send({&first, 1}, close) == Statuses{applied});
      CHECK(at.send({&turned, 1}, close) == Statuses{known_id});  // an edge has no direction
      for (const Request& other : others) {
        CAPTURE(text_of(other));
        refused({at.requests[2], other}, 1, "request 1 (edge), acknowledged at 2");
      }
      static_cast<void>(at.send({at.requests.data() + 2, 1}, true));  // a checkpoint, and others behind it
      for (const Request& other : others) refused({other}, 0, "stands for another request already: request 1 (edge)");
      CHECK(at.send({&first, 1}, close) == Statuses{known_id});

      static_cast<void>(purge_store(at.store, {}, at.resources));
      const std::string log = testing::read_all(at.store / "certificates/requests");
      std::istringstream lines(log);
      for (std::string line; std::getline(lines, line);)
        CHECK(std::count(line.begin(), line.end(), '\t') == 5);  // neither marks nor their key
      // Nothing tells what the id was for: what would change something is refused, and what is so
      // already is known.
      for (const std::size_t i : {0U, 1U})
        refused({others[i]}, 0, "was used before: request 1 (edge), acknowledged at 2");
      CHECK(at.send({&first, 1}, close) == Statuses{known_id});
      CHECK(at.send({&others[4], 1}, close) == Statuses{known_id});
      refused({others[2]}, 0, "of which a purge has left nothing that could tell");
      Writer writer(at.store, at.resources);
      StreamSession session(writer, {.service = true});
      CHECK_THROWS_AS(static_cast<void>(session.acknowledge({&first, 1})), IdConflictError);
      CHECK(session.conflict({&first, 1}, 0).purged);
    }
  }

  TEST_CASE("a log without marks, as older programs wrote it, keeps ids and nothing of what they were for") {
    RequestWorld at;
    CHECK(at.send({at.requests.data(), 1}) == Statuses{applied});
    const fs::path file = at.store / "certificates/requests";
    std::vector<LoggedRequest> lines;
    std::string id, status;
    static_cast<void>(read_request_log(at.store, nullptr, [&](const LoggedRequest& line) {
      id = line.id;
      status = line.status;
      lines.push_back({line.sequence, line.time, "edge", status, id});
    }));
    RequestLog log(at.store, 0);
    log.add(lines);
    log.sync();
    Manifest manifest = read_manifest(at.store);
    std::erase_if(manifest.releases, [](const FileEntry& entry) { return entry.path == kRequestLog; });
    write_manifest(at.store, manifest);
    CHECK(at.send({at.requests.data(), 1}) == Statuses{known_id});
    Request other = at.requests[1];
    other.id = "T0";
    CHECK(testing::message_of<IdConflictError>([&] {
            static_cast<void>(at.send({&other, 1}));
          }).find("of which an older program has kept nothing") != std::string::npos);
    CHECK(at.send({at.requests.data() + 1, 1}) == Statuses{applied});
    other.id = "T1";
    other.u = 1'000'000;
    CHECK_THROWS_AS(at.send({&other, 1}), IdConflictError);
  }

  TEST_CASE("a duplicate under another id: what is told of it is told of the request that did it") {
    RequestWorld at;
    std::vector<Request> batch{at.requests[0], at.requests[0], at.requests[0], at.requests[1]};
    batch[1].id = "again";
    batch[2].id.clear();
    CHECK(at.send(batch) == Statuses{applied, repeated, repeated, applied});
    Request later = at.requests[0];
    later.id = "later";
    CHECK(at.send({&later, 1}) == Statuses{absent_edge});
    for (const char* const id : {"again", "later"}) {
      const RequestRecord told = at.record(id);
      CHECK(told.status != "applied");
      CHECK(told.done());
      CHECK(told.earlier == 1);
      CHECK(told.earlier_id == "T0");
      CHECK(told.earlier_time == at.record("T0").time);
      CHECK(told.waiting == std::vector<std::string>{"newton"});
      CHECK_FALSE(told.settled());
    }
    static_cast<void>(at.send({}, true, {.model = {.solver = "newton"}}));
    CHECK(at.record("again").certificates.at(0).number == 2);
    CHECK_FALSE(at.record("again").settled());  // files still hold it
    static_cast<void>(purge_store(at.store, {}, at.resources));
    for (const char* const id : {"again", "later"}) {
      CHECK(at.record(id).purged);
      CHECK(at.record(id).settled());
      CHECK(at.record(id).earlier == 0);  // it would say what the other one asked for
      CHECK(at.record(id).certificates.at(0).number == 2);
    }
    // Numbers begin anew: those of before the purge are nobody's.
    Request nameless = at.requests[2], last = at.requests[2];
    nameless.id.clear();
    last.id = "last";
    CHECK(at.send({&nameless, 1}) == Statuses{applied});
    CHECK(at.send({&last, 1}) == Statuses{absent_edge});
    CHECK(at.record("last").earlier == 0);
  }

  TEST_CASE("what expires goes under the id of the request that said so") {
    for (const bool close : {true, false}) {
      RequestWorld at;
      const Request& edge = at.requests[0];
      std::vector<Request> notes{{RequestKind::expire_edge, edge.u, edge.v, "E1", "2001-01-01T00:00:00.000Z"},
                                 {RequestKind::expire_node, edge.v, 0, "E2", "2002-01-01T00:00:00.000Z"},
                                 {RequestKind::expire_feature, edge.u, 0, "E3", "2001-01-01T00:00:00.000Z"}};
      CHECK(at.send(notes, close) == Statuses(3, applied));
      {
        Writer writer(at.store, at.resources);
        StreamSession session(writer);
        const std::vector<Request> due = session.expired(present_time(), 10);
        REQUIRE(due.size() == 3);
        CHECK(session.send(due).batch.changes.statuses == Statuses(3, applied));
        if (close) session.close();
      }
      CHECK(at.records().size() == 6);
      for (const auto& [id, kind] : {std::pair("E1", "edge"), {"E2", "node"}, {"E3", "feature"}}) {
        const auto told = at.records(id);
        REQUIRE(told.size() == 2);
        CHECK(told[0].kind == "expires");
        CHECK_FALSE(told[0].expired);
        CHECK(told[0].settled());
        CHECK(told[1].kind == kind);
        CHECK(told[1].expired);
        CHECK(told[1].sequence > 3);
        CHECK_FALSE(told[1].settled());
      }
      CHECK(at.send(notes, close) == Statuses(3, known_id));
      CHECK(at.records().size() == 6);
      Request other = at.requests[1];
      other.id = "E2";
      CHECK_THROWS_AS(at.send({&other, 1}, close), IdConflictError);
      static_cast<void>(purge_store(at.store, {}, at.resources));
      CHECK(at.records("E2").at(1).purged);
      CHECK(at.records("E2").at(1).expired);
      CHECK_THROWS_AS(at.send({&other, 1}, close), IdConflictError);
      CHECK(verify_store(at.store, {}, at.resources).ok());
    }
  }

  TEST_CASE("the log of a crash lacks its end, or has a torn one: the journal has all of it") {
    RequestWorld at;
    CHECK(at.send({at.requests.data(), 2}, false) == Statuses{applied, applied});
    const fs::path log = at.store / "certificates/requests";
    const std::string whole = testing::read_all(log);
    const std::size_t key_bytes = whole.find('\n') + 1;  // the key of the marks, which is drawn anew where it was lost
    for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
      std::ofstream(log, std::ios::binary) << whole.substr(0, bytes);
      CHECK(at.records().size() == 2);  // a reader
      Writer writer(at.store, at.resources);
      CHECK((testing::read_all(log) == whole) == (bytes >= key_bytes));
      CHECK(testing::read_all(log).size() == whole.size());
      const StreamSession session(writer);
      CHECK(session.id_uses(at.requests) == std::vector<IdUse>{IdUse::known, IdUse::known, IdUse::fresh, IdUse::fresh});
    }
    fs::remove(log);
    CHECK(at.send(at.requests) == Statuses{known_id, known_id, applied, applied});
    CHECK(at.records().size() == 4);
    std::ofstream(log, std::ios::binary) << whole;  // shorter than was recorded
    CHECK_THROWS_AS(at.send(at.requests), RecordError);
    CHECK_FALSE(verify_store(at.store, {}, at.resources).ok());
    static_cast<void>(repair_store(at.store, {}, at.resources));
    CHECK(verify_store(at.store, {}, at.resources).ok());
    CHECK(at.send(at.requests) == Statuses{known_id, known_id, absent_edge, absent_edge});
  }

  TEST_CASE("requests that --cut-journal gives up are new ones when they are sent again") {
    RequestWorld at;
    CHECK(at.send({at.requests.data(), 1}) == Statuses{applied});
    CHECK(at.send({at.requests.data() + 1, 3}, false) == Statuses(3, applied));
    fs::path journal;
    for (const auto& item : fs::directory_iterator(at.store / "journal")) journal = item.path();
    std::string bytes = testing::read_all(journal);
    bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
    std::ofstream(journal, std::ios::binary) << bytes;
    CHECK_THROWS_AS(at.records(), DataError);
    static_cast<void>(repair_store(at.store, {true, {}}, at.resources));
    CHECK(at.records().size() == 1);
    CHECK(at.send(at.requests) == Statuses{known_id, applied, applied, applied});
  }

  TEST_CASE("--strict takes a batch that was sent again, and no other rejected one") {
    RequestWorld at;
    CHECK(at.send(at.requests).size() == 4);
    StreamOptions strict;
    strict.strict = true;
    CHECK(at.send(at.requests, true, strict) == Statuses(4, known_id));
    std::vector<Request> others = at.requests;
    others[2].id = "other";
    CHECK(at.send(others, true, strict).empty());
    CHECK(at.records("other").empty());
  }

  TEST_CASE("certificates, models that wait and the purge") {
    RequestWorld at;
    static_cast<void>(at.send({at.requests.data(), 1}));
    RequestRecord first = at.record("T0");
    CHECK(first.status == "applied");
    CHECK(first.certificates.empty());
    CHECK(first.waiting == std::vector<std::string>{"newton"});
    CHECK_FALSE(first.settled());
    static_cast<void>(at.send({at.requests.data() + 1, 1}, true, {.model = {.solver = "newton"}}));
    first = at.record("T0");
    REQUIRE(first.certificates.size() == 1);
    CHECK(first.certificates[0].number == 2);  // the one that catching up made
    CHECK(at.record("T1").certificates.at(0).number == 3);
    CHECK(first.waiting.empty());
    CHECK_FALSE(first.settled());
    static_cast<void>(purge_store(at.store, {}, at.resources));
    CHECK(at.record("T0").certificates.at(0).number == 2);
    CHECK(at.record("T1").settled());
    static_cast<void>(at.send({at.requests.data() + 2, 1}));
    CHECK(at.record("T2").certificates.empty());  // no release of before
    static_cast<void>(Writer(at.store, at.resources).train({.solver = "newton"}));
    CHECK(at.record("T2").certificates.at(0).number == 4);
    static_cast<void>(purge_store(at.store, {}, at.resources));
    CHECK(at.record("T0").certificates.at(0).number == 2);
    CHECK(at.record("T2").certificates.at(0).number == 4);
    CHECK(at.record("T2").settled());
  }

  TEST_CASE("certificates of before a purge cover no request of after it, also where none had an id until then") {
    RequestWorld at;
    Request nameless = at.requests[0];
    nameless.id.clear();
    static_cast<void>(at.send({&nameless, 1}, true, {.model = {.solver = "newton"}}));  // its second certificate
    static_cast<void>(purge_store(at.store, {}, at.resources));
    static_cast<void>(at.send({at.requests.data() + 2, 1}));
    CHECK(at.record("T2").certificates.empty());
    static_cast<void>(Writer(at.store, at.resources).train({.solver = "newton"}));
    REQUIRE(at.record("T2").certificates.size() == 1);
    CHECK(at.record("T2").certificates[0].number == 3);
  }

  TEST_CASE("what took nothing away waits for no purge") {
    RequestWorld at;
    const Request& edge = at.requests[0];
    const std::vector<Request> batch{{RequestKind::expire_edge, edge.u, edge.v, "E1", "2100-01-01T00:00:00.000Z"},
                                     {RequestKind::remove_edge, edge.u, edge.v, "E2"},
                                     {RequestKind::insert_edge, edge.u, edge.v, "E3"}};
    CHECK(at.send(batch) == Statuses(3, applied));
    for (const char* const id : {"E2", "E3"}) CHECK_FALSE(at.record(id).settled());  // for the model
    CHECK(at.record("E1").waiting.empty());                                          // which a note does not change
    static_cast<void>(at.send({}, true, {.model = {.solver = "newton"}}));
    CHECK(at.record("E1").kind == "expires");
    CHECK(at.record("E1").settled());
    CHECK_FALSE(at.record("E2").settled());
    CHECK(at.record("E3").settled());
  }

  TEST_CASE("forgotten requests leave no line, and their ids are new") {
    RequestWorld at;
    static_cast<void>(at.send({at.requests.data(), 2}));
    const Millis later = at.record("T1").time + 1;
    while (present_time() <= later) {
    }
    static_cast<void>(at.send({at.requests.data() + 2, 2}, false));
    CHECK(forget_requests(at.store, later, at.resources) == 2);
    CHECK(at.records().size() == 2);
    CHECK(at.send(at.requests) == Statuses{absent_edge, absent_edge, known_id, known_id});
    CHECK(at.record("T0").status == "absent-edge");
    CHECK(at.record("T0").settled());
    CHECK(forget_requests(at.store, present_time() + 1, at.resources) == 4);
    CHECK(at.records().empty());
    CHECK(verify_store(at.store, {}, at.resources).ok());
  }
}

}  // namespace
}  // namespace unweave
