// tests/engine/ingest/arc_sort_test.cpp - the external sort against std::set, for budgets from
// memory-only to files of many chunks.
#include "engine/ingest/arc_sort.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "engine/resources/parallel.h"
#include "storage/codec/gap_block.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"

using namespace unweave;
using unweave::testing::TempDir;

namespace {

struct Case {
  std::size_t budget = ArcSorter::kMinBudget;
  std::size_t piece = 5000;  // edges that are added at once
  bool nodes_known = false;
  NodeId isolated = 0;  // nodes after the last with an edge
};

/// All arcs in the order of the lists; checks that ranges are cut where shards need it.
std::vector<Edge> read_arcs(SortedArcs& sorted, NodeId nodes) {
  std::vector<Edge> arcs;
  ArcLists lists;
  NodeId next = 0;
  sorted.begin(nodes);
  while (sorted.next(lists)) {
    const NodeRange range = lists.nodes;
    REQUIRE(range.first == next);
    REQUIRE(range.last > range.first);
    REQUIRE((range.last % kBlockNodes == 0 || range.last == nodes));
    REQUIRE(range.first / span_nodes(nodes) == (range.last - 1) / span_nodes(nodes));
    next = range.last;
    if (lists.raw_arcs == 0 && range.size() > 4096) continue;  // a large id makes millions of empty lists
    sorted.load(lists);
    REQUIRE(lists.counts.size() == range.size());
    std::size_t at = 0;
    for (NodeId u = range.first; u < range.last; ++u)
      for (std::uint32_t i = 0; i < lists.counts[u - range.first]; ++i) arcs.push_back({u, lists.targets.at(at++)});
    REQUIRE(at == lists.targets.size());
  }
  CHECK(next == nodes);
  return arcs;
}

/// Sorts `edges` and compares arcs and counts with a set.
void check_sort(const std::vector<Edge>& edges, const Case& how = {}) {
  const TempDir dir;
  std::set<std::pair<NodeId, NodeId>> expected;
  std::uint64_t loops = 0;
  NodeId largest = 0;
  for (const Edge& edge : edges) {
    largest = std::max({largest, edge.u, edge.v});
    if (edge.u == edge.v) {
      ++loops;
    } else {
      expected.insert({edge.u, edge.v});
      expected.insert({edge.v, edge.u});
    }
  }
  const NodeId nodes = largest + 1 + how.isolated;
  ArcSorter sorter(dir.path(), how.budget, how.nodes_known ? std::optional<std::uint64_t>(nodes) : std::nullopt);
  parallel_ranges(0, edges.size(), how.piece, [&](std::size_t first, std::size_t last) {
    sorter.add(std::span(edges).subspan(first, last - first));
  });
  CHECK(std::filesystem::is_empty(dir.path()));  // a spool has no name that a crash could leave
  const auto sorted = sorter.finish();
  for (int pass = 0; pass < 2; ++pass) {
    const std::vector<Edge> arcs = read_arcs(*sorted, nodes);
    REQUIRE(arcs.size() == expected.size());
    std::size_t differences = 0;
    std::size_t i = 0;
    for (const auto& [u, v] : expected) differences += arcs[i++] == Edge{u, v} ? 0 : 1;
    CHECK(differences == 0);
  }
  const ArcCounts counts = with_arcs(sorted->counts(), expected.size());
  CHECK(counts.edges_read == edges.size());
  CHECK(counts.self_loops == loops);
  CHECK(counts.arcs == expected.size());
  CHECK(counts.duplicates == edges.size() - loops - expected.size() / 2);
  CHECK(counts.largest_node == (edges.empty() ? std::nullopt : std::optional(largest)));
}

std::vector<Edge> random_edges(std::size_t count, NodeId nodes, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<NodeId> node(0, nodes - 1);
  std::vector<Edge> edges(count);
  for (Edge& edge : edges) edge = {node(random), node(random)};
  return edges;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("weights lie beside targets; two weights of an edge are found wherever lists are cut") {
    const TempDir dir;
    bool cut_by_weight = true;
    const auto sorted = [&](const std::vector<Edge>& edges, const std::vector<std::uint32_t>& weights) {
      ArcSorter sorter(dir.path(), ArcSorter::kMinBudget, 64, kMostWeight);
      sorter.add(edges, weights);
      const auto arcs = sorter.finish();
      arcs->begin(64, {0, 64}, cut_by_weight);
      std::vector<std::vector<std::pair<NodeId, std::uint32_t>>> lists;
      ArcLists some;
      while (arcs->next(some)) {
        arcs->load(some);
        REQUIRE(some.weights.size() == some.targets.size());
        std::size_t at = 0;
        for (const std::uint32_t count : some.counts) {
          lists.emplace_back();
          for (const std::size_t end = at + count; at < end; ++at)
            lists.back().emplace_back(some.targets[at], some.weights[at]);
        }
      }
      return lists;
    };
    using List = std::vector<std::pair<NodeId, std::uint32_t>>;
    for (const bool repeats : {false, true}) {  // by weight, lists are longer than the buffer, and come in parts
      cut_by_weight = repeats;
      const auto lists = sorted({{0, 1}, {2, 0}, {1, 0}, {0, 3}}, {40'000, 65'535, 40'000, 2});
      REQUIRE(lists.size() == 64);
      CHECK(lists[0] == List{{1, 40'000}, {2, 65'535}, {3, 2}});
      CHECK(lists[1] == List{{0, 40'000}});
      CHECK(lists[3] == List{{0, 2}});
    }
    for (const std::uint32_t other : {1U, 5U, 39'999U, 65'535U})
      CHECK_THROWS_WITH_AS(sorted({{0, 1}, {0, 1}, {2, 0}}, {other, 40'000, 65'535}), doctest::Contains("two weights"),
                           DataError);
  }

  TEST_CASE("arcs are those of a set, sorted, for any budget, with the number of nodes known or not" *
            doctest::test_suite("slow")) {
    for (const std::size_t budget : {std::size_t{0}, std::size_t{3} << 20, std::size_t{256} << 20}) {
      for (const bool known : {false, true}) {
        CAPTURE(budget);
        CAPTURE(known);
        Case how{budget, 5000, known, 0};
        check_sort({}, how);
        check_sort({{3, 3}}, how);
        check_sort({{5, 2}, {2, 5}, {5, 2}}, how);
        check_sort({{0, kMaxNodeId}, {kMaxNodeId, kMaxNodeId}, {kMaxNodeId, kMaxNodeId - 1}}, how);
        check_sort(random_edges(1000, 20, 1), how);
        check_sort(random_edges(200'000, 1'000'000, 2), how);  // few duplicates
        check_sort(random_edges(200'000, 500, 3), how);        // nearly all duplicates
        how.isolated = 70'000;
        check_sort(random_edges(1000, 20, 4), how);
      }
    }
  }

  TEST_CASE("memory that is exactly full, or one edge more, loses nothing" * doctest::test_suite("slow")) {
    const double most = ArcSorter::expected_room(ArcSorter::kMinBudget, 8192, 1e9).memory_bytes;
    const auto full = static_cast<std::size_t>(most / 2 / ArcKeys().packed_bytes(kMinBucketLog2, 8191));
    REQUIRE(full > 50'000);
    for (std::size_t count = full - 1200; count < full + 1300; count += 499)
      check_sort(random_edges(count, 8192, 4), {ArcSorter::kMinBudget, 997, false, 0});  // one bucket
  }

  TEST_CASE("what is expected to go to the file is what goes there, within an open chunk a bucket") {
    for (const NodeId nodes : {NodeId{5'000}, NodeId{300'000}, NodeId{40'000'000}}) {
      for (const std::size_t count : {std::size_t{20'000}, std::size_t{400'000}}) {
        CAPTURE(nodes);
        CAPTURE(count);
        const TempDir dir;
        ArcSorter sorter(dir.path(), ArcSorter::kMinBudget, nodes);
        const std::vector<Edge> edges = random_edges(count, nodes, 8);
        sorter.add(edges);
        const auto spooled = static_cast<double>(sorter.finish()->counts().spooled_bytes);
        const auto room = ArcSorter::expected_room(ArcSorter::kMinBudget, nodes, 2.0 * static_cast<double>(count));
        CHECK(spooled == doctest::Approx(room.file_bytes).epsilon(0.01).scale(1 << 18));
        CHECK((room.file_bytes > 0) == (count > 100'000));
      }
    }
  }

  TEST_CASE("packed arcs: every width of ids and weights comes back, whatever lies beside them") {
    for (const std::uint32_t max_weight : {1U, 2U, 200U, kMostWeight}) {
      const ArcKeys keys(max_weight);
      std::mt19937_64 random(max_weight);
      for (unsigned target_bits = 0; target_bits <= 31; ++target_bits) {
        const NodeId largest = static_cast<NodeId>((std::uint64_t{1} << target_bits) - 1);
        if (largest >= keys.id_limit()) break;
        for (const std::size_t arcs : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
          const TempDir dir;
          ChunkStore store(dir.path(), keys, 2 * ChunkStore::room_bytes(64) + 400, 64, 2);
          std::vector<ArcChunk> chunks;
          std::vector<std::vector<std::uint64_t>> expected;
          for (int i = 0; i < 6; ++i) {  // some in memory, some in the file
            ArcChunk chunk;
            chunk.log2_width = std::min<std::uint8_t>(kMinBucketLog2, static_cast<std::uint8_t>(target_bits));
            chunk.first_source =
                static_cast<NodeId>(random() % (std::uint64_t{largest} + 1)) >> chunk.log2_width << chunk.log2_width;
            chunk.low_bits = static_cast<std::uint8_t>(keys.bits_of_targets(largest));
            chunk.key_bytes = static_cast<std::uint8_t>(keys.packed_bytes(chunk.log2_width, largest));
            chunk.arcs = static_cast<std::uint32_t>(arcs);
            std::uint64_t* const room = store.open();
            for (std::size_t k = 0; k < arcs; ++k)
              room[k] = keys.key(chunk.first_source + random() % (std::uint64_t{1} << chunk.log2_width),
                                 static_cast<NodeId>(random() % (std::uint64_t{largest} + 1)),
                                 static_cast<std::uint32_t>(1 + random() % max_weight));
            expected.emplace_back(room, room + arcs);
            store.close(room, chunk);
            chunks.push_back(chunk);
          }
          std::vector<std::uint64_t> back(64 + 1);
          for (std::size_t i = 0; i < chunks.size(); ++i) {
            store.read(chunks[i], back.data());
            REQUIRE(std::equal(expected[i].begin(), expected[i].end(), back.begin()));
          }
        }
      }
    }
  }

  TEST_CASE("one thread gives the same") {
    const ThreadLimit one(1);
    check_sort(random_edges(100'000, 100'000, 5));
  }

  TEST_CASE("more threads than cores give the same") {
    const ThreadLimit five(5);
    check_sort(random_edges(100'000, 100'000, 5));
  }

  TEST_CASE("ids that grow make buckets wider again and again") {
    std::vector<Edge> edges;
    for (NodeId width = 16; width < 1U << 25; width *= 2) {
      const std::vector<Edge> more = random_edges(3000, width, width);
      edges.insert(edges.end(), more.begin(), more.end());
    }
    check_sort(edges, {ArcSorter::kMinBudget, 1000, false, 0});
  }

  TEST_CASE("one large id puts all others into one bucket, far larger than the budget" * doctest::test_suite("slow")) {
    std::vector<Edge> edges = random_edges(200'000, 60'000, 9);
    edges.insert(edges.begin(), {7, 4'000'000'000});
    check_sort(edges);
  }

  TEST_CASE("hubs with more arcs than the budget" * doctest::test_suite("slow")) {
    std::vector<Edge> edges = random_edges(20'000, 250'000, 10);
    for (NodeId leaf = 0; leaf < 250'000; ++leaf) edges.push_back({leaf, 131'072});
    for (NodeId leaf = 0; leaf < 250'000; leaf += 3) edges.push_back({131'073, leaf});
    std::shuffle(edges.begin(), edges.end(), std::mt19937(11));
    REQUIRE(sizeof(std::uint64_t) * 250'000 > ArcSorter::kMinBudget);
    check_sort(edges);
  }

  TEST_CASE("one edge more often than the budget holds") {
    std::vector<Edge> edges = random_edges(1000, 1000, 12);
    edges.insert(edges.end(), 150'000, {3, 777});
    check_sort(edges);
  }

  TEST_CASE("a folder that cannot hold the spool is named") {
    ArcSorter sorter("/nonexistent-folder", ArcSorter::kMinBudget, std::nullopt);
    CHECK_THROWS_AS(sorter.add(random_edges(100'000, 1000, 6)), DataError);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("many chunks at the smallest budget") {
    check_sort(random_edges(1'000'000, 300'000, 7), {ArcSorter::kMinBudget, 10'000, false, 0});
  }
}
