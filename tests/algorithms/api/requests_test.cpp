// tests/algorithms/api/requests_test.cpp - a request that is sent twice is applied once, whatever comes between: another batch or
// session, a crash, a checkpoint, a purge. What is told of it is true at every step.
#include "unweave/requests.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

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
  RequestRecord record(const std::string& id) {
    const auto found = records(id);
    REQUIRE(found.size() == 1);
    return found[0];
  }
};

TEST_SUITE("slow") {
  TEST_CASE("a session knows which ids are those of requests that were decided") {
    RequestWorld at;
    using Known = std::vector<bool>;
    const std::vector<Request> twice{at.requests[0], {RequestKind::remove_node, 1, 0}, at.requests[0]};
    for (const bool first : {true, false}) {
      Writer writer(at.store, at.resources);
      StreamSession session(writer);
      CHECK(session.known_ids(twice) == Known{!first, false, true});
      CHECK(session.known_ids(std::span(twice).subspan(1, 1)).empty());
      if (!first) continue;
      static_cast<void>(session.acknowledge({at.requests.data(), 1}));
      CHECK(session.known_ids(twice) == Known{false, false, true});  // it waits
      CHECK(session.apply_acknowledged(5).outcome.batch.changes.statuses == Statuses{applied});
      CHECK(session.known_ids(twice) == Known{true, false, true});
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

  TEST_CASE("the log of a crash lacks its end, or has a torn one: the journal has all of it") {
    RequestWorld at;
    CHECK(at.send({at.requests.data(), 2}, false) == Statuses{applied, applied});
    const fs::path log = at.store / "certificates/requests";
    const std::string whole = testing::read_all(log);
    for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
      std::ofstream(log, std::ios::binary) << whole.substr(0, bytes);
      CHECK(at.records().size() == 2);  // a reader
      const Writer writer(at.store, at.resources);
      CHECK(testing::read_all(log) == whole);
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
