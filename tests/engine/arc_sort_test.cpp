// tests/engine/arc_sort_test.cpp - the external sort against std::set, for budgets from memory-only to several passes.
#include "engine/arc_sort.h"

#include <doctest/doctest.h>

#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/arc_merge.h"
#include "engine/parallel.h"
#include "storage/error.h"
#include "support/temp_dir.h"

using namespace unweave;
using unweave::testing::TempDir;

namespace {

std::vector<Edge> read_stream(ArcStream& stream, std::size_t piece) {
  std::vector<Edge> arcs;
  std::vector<Edge> buffer(piece);
  while (const std::size_t count = stream.read(buffer)) {
    arcs.insert(arcs.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return arcs;
}

/// Sorts `edges` with `budget` and compares arcs and counts with a set.
void check_sort(const std::vector<Edge>& edges, std::size_t budget, std::size_t piece) {
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
  ArcSorter sorter(dir.path(), budget);
  for (std::size_t i = 0; i < edges.size(); i += piece) {
    sorter.add(std::span(edges).subspan(i, std::min(piece, edges.size() - i)));
    CHECK(std::filesystem::is_empty(dir.path()));  // a spool has no name that a crash could leave
  }
  const auto stream = sorter.finish();
  const std::vector<Edge> arcs = read_stream(*stream, piece);
  REQUIRE(arcs.size() == expected.size());
  std::size_t differences = 0;
  std::size_t i = 0;
  for (const auto& [u, v] : expected) differences += arcs[i++] == Edge{u, v} ? 0 : 1;
  CHECK(differences == 0);
  const ArcCounts counts = stream->counts();
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
  TEST_CASE("arcs are those of a set, sorted, for any budget") {
    for (const std::size_t budget : {std::size_t{0}, std::size_t{3} << 20, std::size_t{1} << 30}) {
      CAPTURE(budget);
      check_sort({}, budget, 10);
      check_sort({{3, 3}}, budget, 10);
      check_sort({{5, 2}, {2, 5}, {5, 2}}, budget, 1);
      check_sort({{0, kMaxNodeId}, {kMaxNodeId, kMaxNodeId}, {kMaxNodeId, kMaxNodeId - 1}}, budget, 10);
      check_sort(random_edges(1000, 20, 1), budget, 77);
      check_sort(random_edges(200'000, 1'000'000, 2), budget, 5000);  // few duplicates: 6 runs at 1 MiB
      check_sort(random_edges(200'000, 500, 3), budget, 4096);        // nearly all duplicates, across runs too
    }
  }

  TEST_CASE("a buffer that is exactly full, or one edge more, loses nothing") {
    const std::size_t edges = ArcSorter::kMinBudget / 2 / 8 / 2;  // of one run
    for (const std::size_t count : {edges - 1, edges, edges + 1, 2 * edges, 2 * edges + 1}) {
      check_sort(random_edges(count, kMaxNodeId, 4), ArcSorter::kMinBudget, 1000);
    }
  }

  TEST_CASE("one thread gives the same") {
    const ThreadLimit one(1);
    check_sort(random_edges(100'000, 100'000, 5), ArcSorter::kMinBudget, 999);
  }

  TEST_CASE("runs are merged in passes down to the number allowed, with buffers of a single key too") {
    const TempDir dir;
    for (const std::size_t count : {1, 2, 3, 7, 16, 33}) {
      for (const std::size_t most : {2, 3, 8}) {
        for (const std::size_t budget : {64, 4096}) {
          SpoolFile spool(dir.path());
          std::vector<KeyRun> runs;
          std::set<std::uint64_t> expected;
          std::mt19937_64 random(count);
          for (std::size_t r = 0; r < count; ++r) {
            std::set<std::uint64_t> keys;
            for (std::size_t k = 0; k < r * 5 % 23; ++k) keys.insert(random() % 200);
            const std::vector<std::uint64_t> sorted(keys.begin(), keys.end());
            runs.push_back(write_run(spool, sorted));
            expected.insert(keys.begin(), keys.end());
          }
          merge_down(spool, runs, most, dir.path(), budget);
          CHECK(runs.size() <= most);
          KeyMerge merge(spool, runs, budget);
          std::vector<std::uint64_t> keys(300);
          keys.resize(merge.read(keys));
          CHECK(keys == std::vector<std::uint64_t>(expected.begin(), expected.end()));
          std::vector<std::uint64_t> more(1);
          CHECK(merge.read(more) == 0);
        }
      }
    }
  }

  TEST_CASE("a folder that cannot hold the spool is named") {
    ArcSorter sorter("/nonexistent-folder", ArcSorter::kMinBudget);
    CHECK_THROWS_AS(sorter.add(random_edges(100'000, 1000, 6)), DataError);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("many runs at the smallest budget need two passes") {
    check_sort(random_edges(1'000'000, 300'000, 7), ArcSorter::kMinBudget, 10'000);  // 31 runs, 8 merged at once
  }
}
