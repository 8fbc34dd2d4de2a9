// tests/algorithms/live/expiries_test.cpp - edges, nodes, features and graphs that are to go at a
// given time: the note outlives crashes, checkpoints and purges as long as what it is about, and
// once it was acted on the store is an import of what is left.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/export_all.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/verification/verify.h"
#include "storage/io/error.h"
#include "support/changed_world.h"
#include "support/folder_bytes.h"
#include "support/graph_world.h"
#include "support/store_fixture.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"
#include "unweave/stream.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::changed_world;
using testing::ChangedWorld;
using testing::TempDir;

/// What the notes should be, kept beside the world by plain loops.
struct Notes {
  ChangedWorld world;
  std::map<Edge, ExpiryNote> times;

  /// Whether there is what a note is about.
  [[nodiscard]] bool has(Edge item) {
    if (item.u < item.v) return world.edges.contains({item.u, item.v});
    if (item.u == item.v) return world.has(item.u);
    bool any = world.labels[item.v] != -1;
    for (std::uint32_t c = 0; c < world.columns; ++c) any |= world.value(item.v, c) != 0;
    return any;
  }

  /// Whether the line changes anything.
  bool apply(const std::string& line) {
    const Request request = parse_request(line).value();
    const auto u = static_cast<NodeId>(request.u), v = static_cast<NodeId>(request.v);
    if (sets_expiry(request.kind)) {
      const Edge item = request.kind == RequestKind::expire_edge   ? Edge{std::min(u, v), std::max(u, v)}
                        : request.kind == RequestKind::expire_node ? Edge{u, u}
                                                                   : Edge{kNoNode, u};
      if (!has(item)) return false;
      if (request.value == "never") return times.erase(item) > 0;
      const Millis time = read_time(request.value).value();
      if (times.contains(item) && times.at(item).time == time) return false;
      times[item] = {time, request.id};
      return true;
    }
    const bool changes = world.apply(line);
    std::erase_if(times, [&](const auto& one) { return !has(one.first); });
    return changes;
  }

  /// All whose time has come by then go, as their notes say.
  void expire(Millis by) {
    std::vector<std::pair<Millis, Edge>> due;
    for (const auto& [item, note] : times)
      if (note.time <= by) due.emplace_back(note.time, item);
    std::sort(due.begin(), due.end());
    for (const auto& [time, item] : due) {
      if (!times.contains(item)) continue;  // it went with another one
      if (item.u < item.v)
        apply("edge " + std::to_string(item.u) + " " + std::to_string(item.v));
      else
        apply((item.u == item.v ? "node " : "feature ") + std::to_string(item.v));
      CHECK_FALSE(times.contains(item));
    }
  }
};

std::vector<Expiry> listed(const Notes& notes) {
  std::vector<Expiry> all;
  for (const auto& [item, note] : notes.times) all.push_back({item, note.time, note.id});
  return all;
}

constexpr Millis kDay = 86'400'000;

std::string edge_text(const std::pair<NodeId, NodeId>& edge) {
  return "edge " + std::to_string(edge.second) + " " + std::to_string(edge.first);
}

/// Lines that set expiries and take edges, nodes and features away again in every way.
std::vector<std::string> expiring_lines(const ChangedWorld& world, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<std::pair<NodeId, NodeId>> edges(world.edges.begin(), world.edges.end());
  std::vector<std::string> lines;
  while (lines.size() < count) {
    const std::pair<NodeId, NodeId>& edge = edges[random() % edges.size()];
    const std::string node = std::to_string(random() % world.nodes);
    const auto which = random() % 4;
    const std::string what = which == 0 ? "node " + node : which == 1 ? "feature " + node : edge_text(edge);
    const std::string id = random() % 2 == 0 ? " id=E" + std::to_string(lines.size()) : "";
    const auto dice = random() % 15;
    if (dice < 8)
      lines.push_back(what + " expires " + time_text(static_cast<Millis>(1 + random() % 9) * kDay) + id);
    else if (dice < 9)
      lines.push_back(what + " expires never" + id);
    else if (dice < 10)
      lines.push_back(edge_text(edge));
    else if (dice < 11)
      lines.push_back("insert-" + edge_text(edge));
    else if (dice < 12)
      lines.push_back("node " + node);
    else if (dice < 13)
      lines.push_back("set-label " + node + " none");
    else if (dice < 14)
      lines.push_back("set-feature " + node + (random() % 2 == 0 ? " 0:0" : " 0:0.5"));
    else
      lines.push_back("feature " + node);
  }
  return lines;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("notes are those of plain loops through batches, crashes, checkpoints and purges, in every order") {
    for (const char* const order : {"none", "bfs"})
      for (const std::size_t batch : {1U, 9U}) {
        CAPTURE(order);
        CAPTURE(batch);
        const TempDir dir;
        Notes notes{changed_world(50, 4, 7 + batch, false), {}};
        notes.world.order = order;
        notes.world.import(dir / "s");
        testing::propagate_store(dir / "s", testing::tiny_spec(2));
        const std::vector<std::string> lines = expiring_lines(notes.world, 140, batch);
        std::size_t batches = 0, with_notes = 0;
        for (std::size_t at = 0; at < lines.size(); at += batch) {
          StoreWriter store(dir / "s", ample_budget());
          CHECK(store.contents().expiries().sorted() == listed(notes));  // what the last one left, read or replayed
          const std::vector<std::string> some(
              lines.begin() + static_cast<std::ptrdiff_t>(at),
              lines.begin() + static_cast<std::ptrdiff_t>(std::min(lines.size(), at + batch)));
          const std::vector<Request> requests = testing::requests_of(some);
          const BatchReport report = store.apply(requests, store.resolve(requests), {});
          for (std::size_t i = 0; i < some.size(); ++i) {
            CAPTURE(some[i]);
            CHECK((report.changes.statuses[i] == RequestStatus::applied) == notes.apply(some[i]));
          }
          CHECK(store.contents().expiries().sorted() == listed(notes));
          with_notes += notes.times.empty() ? 0 : 1;
          if (++batches % 3 == 0) store.checkpoint();
        }
        CHECK(with_notes > 3);
        REQUIRE(notes.times.size() > 3);
        for (const auto kind : {is_node_item, is_feature_item})
          CHECK(std::any_of(notes.times.begin(), notes.times.end(), [&](const auto& one) { return kind(one.first); }));
        CHECK(testing::text_of(verify_store(dir / "s", {std::nullopt, true, 1}, ample_budget())) == "");
        static_cast<void>(testing::purge(dir / "s"));
        CHECK(read_manifest(dir / "s").expiries.has_value());
        {
          const StoreReader store(dir / "s", ample_budget());
          CHECK(store.contents().expiries().sorted() == listed(notes));
        }
        // But for the notes, the files are those of an import of what is left.
        notes.world.import(dir / "fresh");
        testing::propagate_store(dir / "fresh", testing::tiny_spec(2));
        auto mine = testing::bytes_but_certificates(dir / "s"), other = testing::bytes_but_certificates(dir / "fresh");
        CHECK(std::erase_if(mine, [](const auto& file) { return file.first.ends_with(".expiries"); }) == 1);
        mine.erase("manifest.json");
        other.erase("manifest.json");
        CHECK(mine == other);
        CHECK(testing::digest_now(dir / "s") == testing::digest_now(dir / "fresh"));
        // What is exported says the notes to an import.
        CHECK(export_all(StoreReader(dir / "s", ample_budget()), dir / "out").has_expiries);
        CHECK_FALSE(export_all(StoreReader(dir / "fresh", ample_budget()), dir / "other").has_expiries);
        std::istringstream text(testing::read_all(dir / "out" / "expiries.txt"));
        std::vector<std::string> told;
        for (std::string line; std::getline(text, line);) told.push_back(line);
        CHECK(std::any_of(told.begin(), told.end(),
                          [](const std::string& line) { return line.find(" id=E") < line.size(); }));
        StoreWriter fresh(dir / "fresh", ample_budget());
        const std::vector<Request> requests = testing::requests_of(told);
        CHECK(fresh.apply(requests, fresh.resolve(requests), {}).changes.rejected == 0);
        CHECK(fresh.contents().expiries().sorted() == listed(notes));
      }
  }

  TEST_CASE("what is due goes, the oldest first, and leaves no note; a replay asks no clock") {
    const TempDir dir;
    Notes notes{changed_world(40, 3, 5, false), {}};
    notes.world.import(dir / "s");
    testing::propagate_store(dir / "s", testing::tiny_spec(2));
    const std::vector<std::string> lines = expiring_lines(notes.world, 120, 4);
    Resources resources({std::uint64_t{1} << 30});
    {
      Writer writer(dir / "s", resources);
      StreamSession session(writer);
      static_cast<void>(session.send(testing::requests_of(lines)));
      for (const std::string& line : lines) notes.apply(line);
      CHECK(session.expired(kDay - 1, 1000).empty());
      CHECK(session.next_expiry().has_value());
      Millis before = 0;
      for (const Request& request : session.expired(4 * kDay, 1000)) {
        const Millis time = read_time(request.value).value();
        CHECK(before <= time);
        CHECK(text_of(request).find(" expired " + request.value) < text_of(request).size());
        CHECK_FALSE(parse_request(text_of(request)).has_value());  // no sender writes it
        before = time;
      }
      for (std::vector<Request> due; !(due = session.expired(4 * kDay, 3)).empty();) {
        CHECK(due.size() <= 3);
        const BatchOutcome outcome = session.send(due);
        for (const RequestStatus status : outcome.batch.changes.statuses)
          CHECK(
              (status == RequestStatus::applied || status == RequestStatus::repeated));  // an edge of a node that went
      }
      CHECK(*session.next_expiry() > 4 * kDay);
    }  // as a crash leaves it
    notes.expire(4 * kDay);
    REQUIRE_FALSE(notes.times.empty());
    {
      const StoreReader store(dir / "s", ample_budget());
      CHECK(store.contents().expiries().sorted() == listed(notes));
    }
    {
      Writer writer(dir / "s", resources);
      StreamSession session(writer);
      for (std::vector<Request> due; !(due = session.expired(10 * kDay, 100)).empty();)
        static_cast<void>(session.send(due));
      CHECK_FALSE(session.next_expiry().has_value());
      session.close();
    }
    notes.expire(10 * kDay);
    CHECK(notes.times.empty());
    CHECK_FALSE(read_manifest(dir / "s").expiries.has_value());
    static_cast<void>(testing::purge(dir / "s"));
    notes.world.import(dir / "fresh");
    testing::propagate_store(dir / "fresh", testing::tiny_spec(2));
    CHECK(testing::bytes_but_certificates(dir / "s") == testing::bytes_but_certificates(dir / "fresh"));
  }

  TEST_CASE("a note that is set anew while its removal waits keeps what it is about") {
    const TempDir dir;
    ChangedWorld world = changed_world(20, 3, 9, false);
    world.edges.insert({1, 2});
    world.labels[3] = 1;
    world.import(dir / "s");
    Resources resources({std::uint64_t{1} << 30});
    Writer writer(dir / "s", resources);
    StreamSession session(writer);
    const auto statuses = [&](const std::vector<Request>& requests) {
      std::string all;
      for (const RequestStatus status : session.send(requests).batch.changes.statuses)
        all += (all.empty() ? "" : " ") + std::string(name_of(status));
      return all;
    };
    const std::vector<std::string> whats{"edge 1 2", "node 3", "feature 3"};
    for (const std::string& what : whats) {
      CAPTURE(what);
      CHECK(statuses(testing::requests_of({what + " expires 2001-01-01"})) == "applied");
      const std::vector<Request> due = session.expired(present_time(), 5);
      REQUIRE(due.size() == 1);
      CHECK(statuses(testing::requests_of({what + " expires never"})) == "applied");
      CHECK(statuses(due) == "other-expiry");
      CHECK(statuses(testing::requests_of({what + " expires 2002-01-01"})) == "applied");
      CHECK(statuses(due) == "other-expiry");
      CHECK(session.expired(present_time(), 5).size() == 1);
      CHECK(statuses(testing::requests_of({what + " expires never"})) == "applied");
    }
    CHECK(statuses(testing::requests_of({"node 3 expires 2001-01-01", "feature 3 expires 2001-01-01"})) ==
          "applied applied");
    CHECK(statuses(session.expired(present_time(), 5)).starts_with("applied"));
    CHECK_FALSE(session.next_expiry().has_value());
    CHECK(statuses(testing::requests_of({"node 3 expires 2030-01-01", "feature 3 expires 2030-01-01"})) ==
          "empty-node no-features");
  }

  TEST_CASE("whole graphs go when their time has come, and their notes with them") {
    const TempDir dir;
    testing::GraphWorld world = testing::graph_world(120, 24, 7);
    world.import(dir / "s");
    testing::propagate_store(dir / "s", testing::tiny_spec(2));
    std::map<NodeId, Millis> times;
    const auto has = [&](NodeId graph) { return world.labels[graph] != -1 || world.size(graph) > 0; };
    // Whether a line changes anything; notes are kept beside the world.
    const auto apply = [&](const std::string& line) {
      const Request request = parse_request(line).value();
      const auto graph = static_cast<NodeId>(request.u);
      if (request.kind == RequestKind::expire_graph) {
        if (!has(graph)) return false;
        if (request.value == "never") return times.erase(graph) > 0;
        const Millis time = read_time(request.value).value();
        return std::exchange(times[graph], time) != time;
      }
      const bool changes = world.apply(line);
      std::erase_if(times, [&](const auto& one) { return !has(one.first); });
      return changes;
    };
    std::mt19937_64 random(3);
    std::vector<std::string> lines = testing::changing_lines(world, 600, 5);
    for (std::string& line : lines) {
      const std::string graph = std::to_string(random() % 24);
      const auto dice = random() % 3;
      if (dice == 0) line = "graph " + graph + " expires " + time_text(static_cast<Millis>(1 + random() % 9) * kDay);
      if (dice == 1 && random() % 8 == 0) line = "graph " + graph + " expires never";
      if (dice == 2 && random() % 6 == 0) line = "set-graph-label " + graph + " none";
    }
    const auto listed_graphs = [&] {
      std::vector<std::pair<NodeId, Millis>> all(times.begin(), times.end());
      return all;
    };
    const auto told = [](const LiveStore& store) {
      std::vector<std::pair<NodeId, Millis>> all;
      for (const Expiry& one : store.contents().expiries().sorted()) {
        CHECK(is_graph_item(one.item));
        all.emplace_back(one.item.v, one.time);
      }
      return all;
    };
    std::size_t with_notes = 0;
    for (std::size_t at = 0; at < lines.size(); at += 20) {
      StoreWriter store(dir / "s", ample_budget());
      CHECK(told(store) == listed_graphs());  // what the last one left, read or replayed
      const std::vector<std::string> some(lines.begin() + static_cast<std::ptrdiff_t>(at),
                                          lines.begin() + static_cast<std::ptrdiff_t>(at + 20));
      const std::vector<Request> requests = testing::requests_of(some);
      const BatchReport report = store.apply(requests, store.resolve(requests), {});
      for (std::size_t i = 0; i < some.size(); ++i) {
        CAPTURE(some[i]);
        CHECK((report.changes.statuses[i] == RequestStatus::applied) == apply(some[i]));
      }
      with_notes += times.empty() ? 0 : 1;
      if (at % 60 == 0) store.checkpoint();
    }
    CHECK(with_notes > 10);
    REQUIRE(times.size() > 3);
    CHECK(testing::text_of(verify_store(dir / "s", {std::nullopt, true, 1}, ample_budget())) == "");
    static_cast<void>(testing::purge(dir / "s"));
    {
      const StoreReader store(dir / "s", ample_budget());
      CHECK(told(store) == listed_graphs());
      CHECK(export_all(store, dir / "out").has_expiries);
      CHECK(testing::read_all(dir / "out" / "expiries.txt").starts_with("graph "));
    }
    Resources resources({std::uint64_t{1} << 30});
    {
      Writer writer(dir / "s", resources);
      StreamSession session(writer);
      for (std::vector<Request> due; !(due = session.expired(4 * kDay, 3)).empty();)
        for (const RequestStatus status : session.send(due).batch.changes.statuses)
          CHECK(status == RequestStatus::applied);
      CHECK(*session.next_expiry() > 4 * kDay);
      session.close();
    }
    const std::map<NodeId, Millis> before = times;
    for (const auto& [graph, time] : before)
      if (time <= 4 * kDay) CHECK(apply("graph " + std::to_string(graph)));
    world.import(dir / "fresh");
    testing::propagate_store(dir / "fresh", testing::tiny_spec(2));
    {
      const StoreReader store(dir / "s", ample_budget()), fresh(dir / "fresh", ample_budget());
      CHECK(told(store) == listed_graphs());
      CHECK(content_digest(store) == content_digest(fresh));
    }
    {
      Writer writer(dir / "s", resources);
      StreamSession session(writer);
      static_cast<void>(session.send(session.expired(10 * kDay, 100)));
      CHECK_FALSE(session.next_expiry().has_value());
      const auto statuses = [&](const std::vector<Request>& requests) {
        std::string all;
        for (const RequestStatus status : session.send(requests).batch.changes.statuses)
          all += (all.empty() ? "" : " ") + std::string(name_of(status));
        return all;
      };
      CHECK(statuses(testing::requests_of({"set-graph-label 3 1", "graph 3 expires 2001-01-01", "graph 3",
                                           "graph 3 expires 2001-01-01", "graph 24 expires 2001-01-01"})) ==
            "applied applied applied repeated graph-outside");
      CHECK(statuses(testing::requests_of({"graph 3 expires 2001-01-01"})) == "empty-graph");
      CHECK(statuses(testing::requests_of({"set-graph-label 3 1", "graph 3 expires 2001-01-01",
                                           "graph 3 expires 2001-01-01"})) == "applied applied repeated");
      const std::vector<Request> due = session.expired(present_time(), 5);
      REQUIRE(due.size() == 1);
      CHECK(text_of(due[0]) == "graph 3 expired 2001-01-01T00:00:00.000Z");
      CHECK_FALSE(parse_request(text_of(due[0])).has_value());
      CHECK(statuses(testing::requests_of({"graph 3 expires never"})) == "applied");
      CHECK(statuses(due) == "other-expiry");
      session.close();
    }
    for (const auto& [graph, time] : std::map<NodeId, Millis>(times)) apply("graph " + std::to_string(graph));
    apply("graph 3");
    apply("set-graph-label 3 1");
    static_cast<void>(testing::purge(dir / "s"));
    world.import(dir / "last");
    testing::propagate_store(dir / "last", testing::tiny_spec(2));
    CHECK(testing::bytes_but_certificates(dir / "s") == testing::bytes_but_certificates(dir / "last"));
  }

  TEST_CASE("notes of whole graphs stay where a purge makes room for nodes and computes their order anew") {
    const TempDir dir;
    const testing::GraphWorld world = testing::graph_world(120, 24, 8);
    ImportOptions options = world.options_in(dir.path());
    options.order = "degree";
    WorkMeter nobody;
    import_store(dir / "s", options, ample_budget(), nobody);
    testing::propagate_store(dir / "s", testing::tiny_spec(2));
    {
      StoreWriter store(dir / "s", ample_budget());
      const std::vector<Request> requests =
          testing::requests_of({"graph 2 expires 2030-01-01", "graph 23 expires 2040-01-01"});
      static_cast<void>(store.apply(requests, store.resolve(requests), {}));
    }
    PurgeOptions more;
    more.nodes = 131;
    CHECK(testing::purge(dir / "s", more).nodes_added == 11);
    const StoreReader store(dir / "s", ample_budget());
    const std::vector<Expiry> notes = store.contents().expiries().sorted();
    REQUIRE(notes.size() == 2);
    for (const Expiry& note : notes) CHECK(is_graph_item(note.item));
    CHECK(notes[0].item == graph_item(2));
    CHECK(notes[1].item == graph_item(23));
  }

  TEST_CASE("a note of an edge that is not there is damage: its removal would be asked for again and again") {
    for (const char* const order : {"none", "degree"}) {
      const TempDir dir;
      ChangedWorld world = changed_world(20, 3, 9, false);
      world.order = order;
      world.edges.insert({1, 2});
      world.edges.erase({3, 4});
      world.import(dir / "s");
      const auto opens = [&](Edge edge) {
        const std::vector<Expiry> notes{{edge, kDay}};
        Manifest manifest = read_manifest(dir / "s");
        manifest.expiries = write_expiries(dir / "s", notes);
        write_manifest(dir / "s", manifest);
        const StoreReader store(dir / "s", ample_budget());
        return store.contents().expiries().size();
      };
      CHECK(opens({1, 2}) == 1);
      CHECK_THROWS_AS(static_cast<void>(opens({3, 4})), FormatError);
    }
  }

  TEST_CASE("statuses name an edge that is not there and a note that is there already") {
    const TempDir dir;
    ChangedWorld world = changed_world(20, 3, 9, false);
    world.edges.insert({1, 2});
    world.edges.erase({3, 4});
    world.import(dir / "s");
    StoreWriter store(dir / "s", ample_budget());
    const auto statuses = [&](const std::vector<std::string>& lines) {
      const std::vector<Request> requests = testing::requests_of(lines);
      std::string all;
      for (const RequestStatus status : store.apply(requests, store.resolve(requests), {}).changes.statuses)
        all += (all.empty() ? "" : " ") + std::string(name_of(status));
      return all;
    };
    CHECK(
        statuses({"edge 3 4 expires 2030-01-01", "edge 1 2 expires never", "edge 2 1 expires 2030-01-01",
                  "edge 1 2 expires 2030-01-01T00:00:00Z", "edge 1 2", "edge 1 2 expires 2031-01-01", "insert-edge 1 2",
                  "edge 1 2 expires 2032-01-01", "edge 1 1 expires 2032-01-01", "edge 1 20 expires 2032-01-01"}) ==
        "absent-edge same-expiry applied repeated applied repeated applied applied self-loop id-outside");
    CHECK(statuses({"edge 1 2 expires 2032-01-01"}) == "same-expiry");
    CHECK(statuses({"edge 1 2 expires never"}) == "applied");
    CHECK(store.contents().expiries().size() == 0);
    for (const char* const bad : {"edge 1 2 expires", "edge 1 2 expires soon", "edge 1 2 expire 2030-01-01",
                                  "edge 1 2 expires 2030-01-01 2031-01-01", "insert-edge 1 2 expires 2030-01-01"})
      CHECK_FALSE(parse_request(bad).has_value());
    const Request request = parse_request("edge 1 2 expires 2030-01-01 id=T7").value();
    CHECK(text_of(request) == "edge 1 2 expires 2030-01-01T00:00:00.000Z id=T7");
    CHECK(parse_request(text_of(request)) == request);
    for (const std::string line : {"node 5 expires 2030-01-01T00:00:00.000Z id=T8", "feature 5 expires never"}) {
      const Request note = parse_request(line).value();
      CHECK(text_of(note) == line);
      CHECK(kind_name(note.kind) == "expires");
    }
  }
}

}  // namespace unweave
