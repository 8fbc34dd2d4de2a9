// tests/algorithms/live/request_draw_test.cpp - drawn requests: what they may be, all of them, and
// how often each.
#include "algorithms/live/request_draw.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "algorithms/live/store_reader.h"
#include "algorithms/updates/requests.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using Pair = std::pair<NodeId, NodeId>;

struct Drawn {
  testing::TempDir folder;
  testing::TinyStore contents = testing::random_store(150, 400, 3, 4);
  std::set<Pair> edges;
  std::map<NodeId, int> degrees;

  Drawn() {
    testing::write_store(folder / "s", contents);
    for (const Edge& edge : contents.edges)
      if (edge.u != edge.v) edges.insert(std::minmax(edge.u, edge.v));
    for (const auto& [u, v] : edges) {
      ++degrees[u];
      ++degrees[v];
    }
  }
  [[nodiscard]] StoreReader open() const { return {folder / "s", testing::ample_budget()}; }
  [[nodiscard]] int label(NodeId node) const { return contents.labels[node]; }
  [[nodiscard]] static Pair pair(const Request& request) {
    return std::minmax(static_cast<NodeId>(request.u), static_cast<NodeId>(request.v));
  }
  [[nodiscard]] std::vector<Request> draw(const DrawOptions& options) const { return draw_requests(open(), options); }
};

template <class Key>
std::set<Key> keys(const std::vector<Request>& requests, Key (*of)(const Request&)) {
  std::set<Key> found;
  for (const Request& request : requests) CHECK(found.insert(of(request)).second);  // no request comes twice
  return found;
}

NodeId first(const Request& request) {
  return static_cast<NodeId>(request.u);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("nodes are training nodes with a label, or those of a pool") {
    const Drawn world;
    std::set<NodeId> train;
    for (const NodeId node : world.contents.train)
      if (world.label(node) >= 0) train.insert(node);
    for (const auto& [kind, request] : {std::pair{DrawKind::kNode, RequestKind::remove_node},
                                        std::pair{DrawKind::kFeature, RequestKind::remove_feature}}) {
      const auto all = world.draw({kind, train.size(), {}, 10, 3});
      for (const Request& one : all) CHECK(one.kind == request);
      CHECK(keys(all, first) == train);
      CHECK_FALSE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.u < b.u; }));
      CHECK(world.draw({kind, train.size(), {}, 10, 3}) == all);
      CHECK(world.draw({kind, train.size(), {}, 10, 4}) != all);
      CHECK_THROWS_AS(world.draw({kind, train.size() + 1, {}, 10, 3}), UsageError);
    }
    CHECK(keys(world.draw({DrawKind::kNode, 3, {{7, 9, 7, 120}}, 10, 3}), first) == std::set<NodeId>{7, 9, 120});
    CHECK(world.draw({DrawKind::kNode, 0, {}, 10, 3}).empty());
  }

  TEST_CASE("edges are drawn alike often, all of them in the end") {
    const Drawn world;
    CHECK(keys(world.draw({DrawKind::kEdge, world.edges.size(), {}, 10, 1}), Drawn::pair) == world.edges);
    CHECK_THROWS_AS(world.draw({DrawKind::kEdge, world.edges.size() + 1, {}, 10, 1}), UsageError);
    std::set<Pair> at_pool;
    for (const Pair& edge : world.edges)
      if (edge.first == 3 || edge.second == 3 || edge.first == 8 || edge.second == 8) at_pool.insert(edge);
    CHECK(keys(world.draw({DrawKind::kEdge, at_pool.size(), {{3, 8}}, 10, 1}), Drawn::pair) == at_pool);
    CHECK_THROWS_AS(world.draw({DrawKind::kEdge, at_pool.size() + 1, {{3, 8}}, 10, 1}), UsageError);

    // 200 draws of a tenth each: 20 hits an edge are expected, with a deviation of 4.2.
    std::map<Pair, int> hits;
    const std::size_t tenth = world.edges.size() / 10;
    for (std::uint64_t seed = 0; seed < 200; ++seed)
      for (const Request& request : world.draw({DrawKind::kEdge, tenth, {}, 10, seed})) {
        CHECK(request.kind == RequestKind::remove_edge);
        ++hits[Drawn::pair(request)];
      }
    CHECK(hits.size() == world.edges.size());
    for (const auto& [edge, count] : hits) CHECK(std::abs(count - 20) < 20);
  }

  TEST_CASE("vulnerable edges: a test node with few neighbours and a neighbour with its label") {
    const Drawn world;
    for (const int below : {2, 7, 1000}) {
      CAPTURE(below);
      std::set<Pair> wanted;
      for (const NodeId node : world.contents.test) {
        if (world.label(node) < 0 || world.degrees.find(node) == world.degrees.end()) continue;
        if (world.degrees.at(node) >= below) continue;
        for (const Pair& edge : world.edges) {
          if (edge.first != node && edge.second != node) continue;
          if (world.label(edge.first) == world.label(edge.second)) wanted.insert(edge);
        }
      }
      const auto options = [&](std::size_t count) {
        return DrawOptions{DrawKind::kVulnerableEdge, count, {}, static_cast<std::uint64_t>(below), 1};
      };
      CHECK(keys(world.draw(options(wanted.size())), Drawn::pair) == wanted);
      CHECK_THROWS_AS(world.draw(options(wanted.size() + 1)), UsageError);
      if (below == 7) CHECK(wanted.size() > 5);
    }
  }

  TEST_CASE("adversarial edges join different labels, are new, and can be inserted") {
    const Drawn world;
    for (const bool pooled : {false, true}) {
      DrawOptions options{DrawKind::kAdversarialEdge, 200, {}, 10, 1};
      if (pooled) options.pool = world.contents.test;
      const auto requests = world.draw(options);
      CHECK(keys(requests, Drawn::pair).size() == 200);
      for (const Request& request : requests) {
        CHECK(request.kind == RequestKind::insert_edge);
        const auto [u, v] = Drawn::pair(request);
        CHECK(!world.edges.contains({u, v}));
        CHECK(world.label(u) >= 0);
        CHECK(world.label(v) >= 0);
        CHECK(world.label(u) != world.label(v));
        const auto& test = world.contents.test;
        if (pooled) CHECK(std::binary_search(test.begin(), test.end(), static_cast<NodeId>(request.u)));
      }
      CHECK(world.open().resolve(requests).edges_inserted == 200);
    }
    const std::vector<NodeId> unlabelled{static_cast<NodeId>(
        std::find(world.contents.labels.begin(), world.contents.labels.end(), -1) - world.contents.labels.begin())};
    CHECK_THROWS_AS(world.draw({DrawKind::kAdversarialEdge, 1, unlabelled, 10, 1}), UsageError);
    CHECK_THROWS_AS(world.draw({DrawKind::kAdversarialEdge, 1, std::vector<NodeId>{}, 10, 1}), UsageError);
  }

  TEST_CASE("names of kinds") {
    CHECK(parse_draw("vulnerable-edge") == DrawKind::kVulnerableEdge);
    CHECK_THROWS_AS(static_cast<void>(parse_draw("vulnerable")), UsageError);
  }
}

}  // namespace unweave
