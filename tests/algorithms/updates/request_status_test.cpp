// tests/algorithms/updates/request_status_test.cpp - why requests are rejected, what applied ones
// do to a store, and that a replay decides as the stream did.
#include "algorithms/updates/request_status.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "algorithms/live/live_store.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using Statuses = std::vector<RequestStatus>;

constexpr auto kRemoveEdge = RequestKind::remove_edge, kInsertEdge = RequestKind::insert_edge,
               kRemoveNode = RequestKind::remove_node, kRemoveFeature = RequestKind::remove_feature;

/// Nodes 0 to 5 in a ring; node 6 has features alone, node 7 nothing.
testing::TinyStore ring() {
  testing::TinyStore store;
  store.nodes = 8;
  for (NodeId u = 0; u < 6; ++u) store.edges.push_back({u, (u + 1) % 6});
  store.columns = 2;
  store.features = std::vector<float>(16, 0.5F);
  store.features[14] = store.features[15] = 0;
  store.classes = 2;
  store.labels = {0, 1, 0, 1, 0, 1, -1, -1};
  store.train = {0, 1, 2};
  store.valid = {3};
  store.test = {4, 5};
  return store;
}

struct RingStore {
  testing::TempDir dir;
  std::filesystem::path store = dir / "s";

  explicit RingStore(bool all_rows = true) {
    testing::write_store(store, ring());
    testing::propagate_store(store, testing::tiny_spec(2, all_rows));
  }
};

/// All that a store holds of a node, and the edges of its graph.
struct Held {
  std::size_t nodes = 0, edges = 0;
  std::vector<NodeId> neighbours;
  bool has_features = false;
  std::int32_t label = kNoLabel;
  bool train = false, valid = false, test = false;
  bool has_row = false;
  std::vector<float> row;

  Held(const LiveStore& live, NodeId user) {
    const Contents& contents = live.contents();
    const NodeId node = contents.order().position(user);
    nodes = contents.num_nodes();
    edges = contents.graph().num_arcs() / 2;
    contents.graph().neighbours(node, neighbours);
    has_features = !contents.is_blank(node);
    label = contents.label(node);
    const auto holds = [&](const std::vector<NodeId>& ids) {
      return std::find(ids.begin(), ids.end(), node) != ids.end();
    };
    train = holds(contents.train());
    valid = holds(contents.valid());
    test = holds(contents.test());
    has_row = live.embedding().is_target(node);
    if (!has_row) return;
    row.resize(contents.features().columns());
    live.embedding().rows({&node, 1}, std::vector<double>{0, 0, 1}, row.data());
  }
  [[nodiscard]] bool has_zero_row() const {
    return has_row && std::all_of(row.begin(), row.end(), [](float x) { return x == 0; });
  }
};

/// What the store holds of a node after one request.
Held after(bool all_rows, const Request& request, NodeId node) {
  const RingStore world(all_rows);
  StoreWriter live(world.store, ample_budget());
  CHECK(live.apply({&request, 1}, live.resolve({&request, 1}), {}).changes.applied == 1);
  return Held(live, node);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("every reason to reject a request has a name of its own, and is found") {
    std::set<std::string_view> names;
    for (const StatusText& text : kStatusTexts) {
      CHECK(names.insert(text.name).second);
      CHECK(text.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos);
      CHECK(16 + text.sentence.size() <= 80);  // in the help
    }
    const RingStore world;
    StoreWriter live(world.store, ample_budget());
    using enum RequestStatus;
    const std::vector<std::pair<Request, RequestStatus>> decided{
        {{kRemoveNode, 8, 0}, id_outside},     {{kRemoveFeature, 1ULL << 40, 0}, id_outside},
        {{kRemoveEdge, 0, 8}, id_outside},     {{kRemoveEdge, 8, 0}, id_outside},
        {{kRemoveEdge, 0, 0}, self_loop},      {{kInsertEdge, 3, 3}, self_loop},
        {{kRemoveEdge, 0, 3}, absent_edge},    {{kInsertEdge, 0, 1}, present_edge},
        {{kRemoveNode, 7, 0}, empty_node},     {{kRemoveFeature, 7, 0}, no_features},
        {{kRemoveEdge, 1, 0}, applied},        {{kRemoveEdge, 0, 1}, repeated},
        {{kInsertEdge, 0, 1}, applied},        {{kInsertEdge, 1, 0}, repeated},
        {{kRemoveNode, 2, 0}, applied},        {{kRemoveNode, 2, 0}, repeated},
        {{kRemoveEdge, 2, 3}, repeated},       {{kRemoveFeature, 2, 0}, repeated},
        {{kRemoveFeature, 6, 0}, applied},     {{kRemoveFeature, 6, 0}, repeated},
        {{kRemoveNode, 6, 0}, repeated},       {{kRemoveFeature, 4, 0}, applied},
        {{kRemoveNode, 4, 0}, applied},        {{kRemoveEdge, 3, 4, "T1"}, repeated},
        {{kRemoveEdge, 4, 3, "T1"}, known_id},
    };
    std::vector<Request> requests;
    for (const auto& [request, status] : decided) requests.push_back(request);
    const BatchChanges changes = live.resolve(requests);
    REQUIRE(changes.statuses.size() == decided.size());
    std::set<RequestStatus> seen;
    for (std::size_t i = 0; i < decided.size(); ++i) {
      CHECK_MESSAGE(name_of(changes.statuses[i]) == name_of(decided[i].second), "request ", i);
      seen.insert(changes.statuses[i]);
    }
    CHECK(seen.size() == 9);  // live/changed_data_test.cpp finds those of requests that set something
    CHECK(changes.applied + changes.rejected == decided.size());
    CHECK(changes.applied == 6);

    live.apply(requests, live.resolve(requests), {});
    const std::vector<Request> again{
        {kRemoveNode, 2, 0}, {kRemoveFeature, 4, 0}, {kRemoveEdge, 2, 3}, {kInsertEdge, 0, 1}};
    CHECK(live.resolve(again).statuses == Statuses{empty_node, no_features, absent_edge, present_edge});
  }

  TEST_CASE("a replay of the journal decides as the stream did") {
    const RingStore world;
    const std::vector<Request> first{{kRemoveNode, 2, 0}, {kRemoveNode, 2, 0}, {kRemoveEdge, 0, 9}},
        second{{kRemoveNode, 2, 0}, {kRemoveEdge, 0, 1}};
    Statuses all;
    {
      StoreWriter live(world.store, ample_budget());
      for (const std::vector<Request>& batch : {first, second}) {
        const BatchReport report = live.apply(batch, live.resolve(batch), {});
        all.insert(all.end(), report.changes.statuses.begin(), report.changes.statuses.end());
      }
      CHECK_FALSE(live.journal_status(1).has_value());  // who was there knows
    }
    using enum RequestStatus;
    CHECK(all == Statuses{applied, repeated, id_outside, empty_node, applied});
    StoreWriter live(world.store, ample_budget());
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(live.journal_status(i + 1) == all[i]);
    CHECK_FALSE(live.journal_status(0).has_value());
    CHECK_FALSE(live.journal_status(all.size() + 1).has_value());
  }

  TEST_CASE("the text that a receipt commits to is read as it was written, and no other") {
    for (std::size_t i = 0; i < kStatusTexts.size(); ++i) {
      const auto status = static_cast<RequestStatus>(i);
      const std::string text = outcome_of({kRemoveEdge, 3, 14}, status, 0);
      const std::optional<Outcome> outcome = read_outcome(text);
      REQUIRE(outcome.has_value());
      CHECK(outcome->request == "edge 3 14");
      CHECK(outcome->status == (i == 0 ? "applied" : "rejected"));
      CHECK(outcome->reason == (i == 0 ? "" : kStatusTexts[i].name));
    }
    CHECK(read_outcome("node 5")->status.empty());
    for (const char* text : {"node 5\t", "node 5\trejected", "node 5\trejected\t", "node 5\tapplied\tself-loop",
                             "node 5\trejected\tself-loop\tapplied", "node 5\tdone", "node 5\trejected\tX"})
      CHECK_FALSE_MESSAGE(read_outcome(text).has_value(), text);
  }

  // The table of `stream --help`, cell by cell.
  TEST_CASE("node U takes edges, features, label, split and embedding; the empty id stays") {
    for (const bool all_rows : {true, false}) {
      const Held held = after(all_rows, {kRemoveNode, 1, 0}, 1);
      CHECK(held.nodes == 8);
      CHECK(held.edges == 4);
      CHECK(held.neighbours.empty());
      CHECK_FALSE(held.has_features);
      CHECK(held.label == kNoLabel);
      CHECK_FALSE((held.train || held.valid || held.test));
      CHECK(held.has_row == all_rows);
      CHECK(held.has_zero_row() == all_rows);
      const Held neighbour = after(all_rows, {kRemoveNode, 1, 0}, 0);
      CHECK(neighbour.neighbours == std::vector<NodeId>{5});
      CHECK((neighbour.has_features && neighbour.label == 0 && neighbour.train));
    }
  }

  TEST_CASE("feature U takes features, label and split, and leaves the edges; its row is then of neighbours alone") {
    for (const bool all_rows : {true, false}) {
      const Held held = after(all_rows, {kRemoveFeature, 1, 0}, 1);
      CHECK(held.nodes == 8);
      CHECK(held.edges == 6);
      CHECK(held.neighbours == std::vector<NodeId>{0, 2});
      CHECK_FALSE(held.has_features);
      CHECK(held.label == kNoLabel);
      CHECK_FALSE((held.train || held.valid || held.test));
      CHECK(held.has_row == all_rows);
      CHECK_FALSE(held.has_zero_row());
    }
  }

  TEST_CASE("edge and insert-edge change one edge and the rows that read it, nothing else") {
    const RingStore world;
    const Held before(StoreReader(world.store, ample_budget()), 1);
    const Held removed = after(true, {kRemoveEdge, 0, 1}, 1), inserted = after(true, {kInsertEdge, 1, 4}, 1);
    CHECK(removed.neighbours == std::vector<NodeId>{2});
    CHECK(removed.edges == 5);
    CHECK(inserted.neighbours == std::vector<NodeId>{0, 2, 4});
    CHECK(inserted.edges == 7);
    for (const Held* held : {&removed, &inserted}) {
      CHECK((held->nodes == 8 && held->has_features && held->label == 1 && held->train && held->has_row));
      CHECK(held->row != before.row);
    }
  }

  TEST_CASE("a model forgets the row of a removed node or feature, and follows the rows that edges move") {
    const std::vector<std::pair<Request, std::size_t>> rows_left{
        {{kRemoveNode, 1, 0}, 2}, {{kRemoveFeature, 1, 0}, 2}, {{kRemoveEdge, 0, 1}, 3}, {{kInsertEdge, 1, 4}, 3}};
    for (const auto& [request, rows] : rows_left) {
      const RingStore ring_store(false);
      StoreWriter live(ring_store.store, ample_budget());
      Learner learner = Learner::train(live, ample_budget(), "newton", testing::seeded(),
                                       live.embedding().spec().weights, testing::kContext);
      CHECK(learner.rows().size() == 3);
      const std::string before = learner.record().certificate;
      learner.absorb(live.apply({&request, 1}, live.resolve({&request, 1}), {}));
      CHECK(learner.rows().size() == rows);
      CHECK(learner.model().sequence == 1);
      CHECK(learner.record().certificate != before);
    }
  }

  TEST_CASE("insert-edge joins a removed node again, which has nothing else") {
    const RingStore world;
    StoreWriter live(world.store, ample_budget());
    const std::vector<Request> requests{{kRemoveNode, 1, 0}, {kInsertEdge, 1, 3}};
    CHECK(live.apply(requests, live.resolve(requests), {}).changes.applied == 2);
    const Held held(live, 1);
    CHECK(held.neighbours == std::vector<NodeId>{3});
    CHECK_FALSE(held.has_features);
    CHECK(held.label == kNoLabel);
  }
}

}  // namespace unweave
