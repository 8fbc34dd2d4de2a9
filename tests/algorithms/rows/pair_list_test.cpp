// tests/algorithms/rows/pair_list_test.cpp - which pairs there are, against loops over plain sets
// and against pinned pairs.
#include "algorithms/rows/pair_list.h"

#include <doctest/doctest.h>
#include <sodium.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "algorithms/live/store_reader.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "support/changed_world.h"
#include "support/pair_world.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using testing::PairWorld;
using testing::SlowPairs;
using testing::TempDir;

std::vector<SlowPairs::Pair> pairs_of(const LiveStore& store, PairRole role) {
  const PairList list(store.contents(), role, ample_budget());
  const NodeOrder& order = store.contents().order();
  std::vector<SlowPairs::Pair> pairs;
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::uint64_t u = order.user(list.ends()[i].u), v = order.user(list.ends()[i].v);
    if (list.is_edge(i) && !order.layers().directed && u > v) std::swap(u, v);
    pairs.push_back({u, v, list.is_edge(i) ? 1U : 0U});
  }
  return pairs;
}

/// The first 32 digits of the SHA-256 of rows (u, v, serial, end, end, label), 64 bits each.
std::string digest_of(const std::vector<SlowPairs::Pair>& pairs) {
  std::vector<std::int64_t> rows;
  std::array<std::int64_t, 2> edge{};
  std::int64_t serial = 0;
  for (const auto& [u, v, is_edge] : pairs) {
    const auto one = static_cast<std::int64_t>(u), other = static_cast<std::int64_t>(v);
    if (is_edge == 1) edge = {one, other};
    serial = is_edge == 1 ? 0 : serial + 1;
    rows.insert(rows.end(), {edge[0], edge[1], serial, one, other, static_cast<std::int64_t>(is_edge)});
  }
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(rows.data()),
                     rows.size() * sizeof(std::int64_t));
  return to_hex(std::as_bytes(std::span(hash))).substr(0, 32);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("pairs of the pinned graph") {
    const PairWorld world = testing::pinned_pair_world();
    const TempDir dir;
    world.import(dir / "s");
    const StoreReader store(dir / "s", ample_budget());
    const std::vector<SlowPairs::Pair> pairs = pairs_of(store, PairRole::label);
    CHECK(pairs.size() == 162);
    CHECK(digest_of(pairs) == "da0e3d77f2916f7991318a7633f456b8");
    CHECK(pairs == world.pairs(2));
    const SlowPairs slow = world.slow();
    for (const auto& [u, v, is_edge] : pairs) {
      const auto [one, other] = std::minmax({static_cast<NodeId>(u), static_cast<NodeId>(v)});
      if (is_edge == 0) CHECK((!world.base.edges.contains({one, other}) || slow.role(one, other) < 2));
    }
  }

  TEST_CASE("a removed edge may come back as a negative, and putting it back gives the first pairs") {
    const PairWorld world = testing::pinned_pair_world();
    const std::vector<SlowPairs::Pair> first = world.pairs(2);
    std::size_t back = 0;
    for (const auto& edge : world.base.edges) {
      PairWorld less = world;
      less.base.edges.erase(edge);
      for (const auto& [u, v, is_edge] : less.pairs(2))
        if (is_edge == 0 && std::minmax<std::uint64_t>({u, v}) == std::pair<std::uint64_t, std::uint64_t>(edge) &&
            world.slow().role(edge.first, edge.second) >= 2) {
          if (back++ > 0) break;
          const TempDir dir;
          less.import(dir / "s");
          const StoreReader store(dir / "s", ample_budget());
          CHECK(pairs_of(store, PairRole::label) == less.pairs(2));
          break;
        }
    }
    CHECK(back > 0);
    CHECK(world.pairs(2) == first);
  }

  TEST_CASE("edges, negatives and uniform pairs of every role are those of plain loops, in any order of the store") {
    for (const std::string rules : {"valid=.2,test=.1,negatives=3", "valid=.1,test=.2,share=.4,apart,key=5",
                                    "valid=.3,uniform=70,key=9", "test=.5,share=0,negatives=1"})
      for (const auto& kind :
           {std::pair<std::string, bool>{"none", false}, {"degree", false}, {"none", true}, {"bfs", true}}) {
        const std::string order = kind.first;
        const bool directed = kind.second;
        CAPTURE(rules);
        CAPTURE(order);
        CAPTURE(directed);
        PairWorld world = testing::pair_world_of(directed, 3, rules, order);
        for (std::size_t i = 0; i < 40; ++i) world.base.features[i] = 0;  // ten nodes have none
        std::erase_if(world.base.edges, [](const auto& edge) { return edge.first < 3 || edge.second < 3; });
        // Nodes 3 and 4 have arcs of one direction alone, which are enough to be there.
        std::erase_if(world.base.edges, [](const auto& edge) { return edge.second == 3 || edge.first == 4; });
        const TempDir dir;
        world.import(dir / "s");
        const StoreReader store(dir / "s", ample_budget());
        CHECK(store.contents().graph().num_edges() + store.contents().held()->num_edges() == world.base.edges.size());
        for (const auto& [u, v] : world.base.edges) {
          const auto [one, other] = store.contents().order().ends(u, v);
          CHECK(store.contents().graph().has_edge(one, other) != world.slow().is_held(u, v));
          CHECK(store.contents().held()->has_edge(one, other) == world.slow().is_held(u, v));
        }
        for (const int role : {0, 1, 2}) {
          std::vector<SlowPairs::Pair> mine = pairs_of(store, static_cast<PairRole>(role)), slow = world.pairs(role);
          if (order == "none") {
            CHECK(mine == slow);
          } else {
            std::sort(mine.begin(), mine.end());
            std::sort(slow.begin(), slow.end());
            CHECK(mine == slow);
          }
        }
      }
  }

  TEST_CASE("arcs there and back are two pairs, each of a role and with negatives of its own") {
    const PairWorld world = testing::directed_pair_world(4, "valid=.3,test=.3,negatives=4");
    std::size_t apart = 0, loops = 0;
    for (const auto& [u, v] : world.base.edges) {
      if (u != v && world.base.edges.contains({v, u}))
        apart += world.slow().role(u, v) != world.slow().role(v, u) ? 1 : 0;
      loops += u == v && world.slow().is_held(u, v) ? 1 : 0;
    }
    CHECK(apart > 10);
    CHECK(loops > 0);
    const TempDir dir;
    world.import(dir / "s");
    const StoreReader store(dir / "s", ample_budget());
    std::size_t back = 0, kept_targets = 0;
    for (const int role : {0, 1, 2}) {
      std::pair<std::uint64_t, std::uint64_t> arc;
      for (const auto& [u, v, is_edge] : pairs_of(store, static_cast<PairRole>(role))) {
        const std::pair<NodeId, NodeId> pair(static_cast<NodeId>(u), static_cast<NodeId>(v));
        if (is_edge == 1) {
          arc = {u, v};
          CHECK(world.base.edges.contains(pair));
          continue;
        }
        CHECK((u == arc.first || v == arc.second));  // an end stays in its place
        kept_targets += v == arc.second ? 1 : 0;
        back += world.base.edges.contains({pair.second, pair.first}) ? 1 : 0;
        CHECK((!world.base.edges.contains(pair) || (role == 2 && world.slow().role(u, v) < 2)));
      }
    }
    CHECK(back > 0);
    CHECK(kept_targets > 50);
  }

  TEST_CASE("a store without rules of pairs has none, and says what to do") {
    const TempDir dir;
    testing::write_store(dir / "s", testing::path_of_three());
    const StoreReader store(dir / "s", ample_budget());
    CHECK_THROWS_WITH_AS(PairList(store.contents(), PairRole::label, ample_budget()), doctest::Contains("import"),
                         UsageError);
  }
}

}  // namespace unweave
