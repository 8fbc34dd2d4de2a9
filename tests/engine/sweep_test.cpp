// tests/engine/sweep_test.cpp - one level against plain sums; tokens, masks, order and failures of the flow graph.
#include "engine/sweep.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/csr_graph.h"
#include "engine/parallel.h"
#include "engine/token_graph.h"
#include "storage/error.h"
#include "support/graphs.h"

namespace unweave {
namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30;

std::vector<std::int32_t> random_tile(std::size_t elements, std::uint32_t seed) {
  std::vector<std::int32_t> tile(elements + kTilePadding, 99);
  std::mt19937 random(seed);
  // Signs with a drift, so that hubs have sums beyond int32.
  for (std::size_t i = 0; i < elements; ++i) tile[i] = static_cast<std::int32_t>(random() % (3U << 23)) - (1 << 23);
  return tile;
}

/// Sums of all handed-over rows (others hold kAbsent), checked for shape.
constexpr std::int64_t kAbsent = -1'000'000'000'000'000;

struct Collected {
  std::vector<std::int64_t> sums;
  std::vector<std::int32_t> quotients;
  std::vector<NodeRange> ranges;
  std::size_t wide = 0;
};

Collected sweep(const CsrGraph& graph, const std::vector<std::int32_t>& t, std::size_t width, const RowMask* wanted,
                const SweepOptions& options) {
  Collected out;
  out.sums.assign(graph.num_nodes() * width, kAbsent);
  out.quotients.assign(graph.num_nodes() * width, -5);
  MemoryBudget budget(kPlenty);
  std::mutex mutex;
  sweep_level(block_source(graph), {{t.data(), width, 24}, out.quotients.data(), wanted}, options, budget,
              [&](const SumRows& rows) {
                const std::lock_guard lock(mutex);
                CHECK(rows.width == width);
                CHECK(!rows.nodes.empty());
                CHECK(std::is_sorted(rows.nodes.begin(), rows.nodes.end()));
                out.ranges.push_back(rows.range);
                out.wide += rows.wide_nodes.size();
                for (std::size_t i = 0; i < rows.nodes.size(); ++i) {
                  CHECK(rows.range.contains(rows.nodes[i]));
                  std::copy_n(rows.sums + i * width, width, &out.sums[rows.nodes[i] * width]);
                }
                for (std::size_t k = 0; k < rows.wide_nodes.size(); ++k) {
                  std::copy_n(rows.wide_sums + k * width, width, &out.sums[rows.nodes[rows.wide_nodes[k]] * width]);
                }
              });
  CHECK(budget.used() == 0);
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("sweep_level equals plain sums on every family, for any threads, tokens, order and mask") {
    for (const testing::NamedGraph& sample : testing::graph_family()) {
      CAPTURE(sample.name);
      const CsrGraph graph = sample.csr();
      const std::size_t width = sample.nodes % 2 == 0 ? 16 : 9;
      const auto t = random_tile(graph.num_nodes() * width, 1);
      const std::vector<std::int64_t> exact(t.begin(), t.end() - kTilePadding);
      const auto sums = testing::plain_sums(sample, exact, width);
      const auto degrees = testing::plain_degrees(sample);
      std::size_t wide = 0;
      for (NodeId u = 0; u < sample.nodes; ++u) {
        wide += std::any_of(&sums[u * width], &sums[u * width] + width,
                            [](std::int64_t s) { return s != static_cast<std::int32_t>(s); });
      }
      CHECK((wide > 0) == (sample.name == "star" || sample.name == "random with hub"));
      RowMask few(sample.nodes);
      for (NodeId u = 0; u < sample.nodes; u += u < 600 ? 1 + u % 7 : 90) few.insert(u);
      for (const RowMask* mask : {static_cast<const RowMask*>(nullptr), static_cast<const RowMask*>(&few)}) {
        auto wanted_sums = sums;
        std::vector<std::int32_t> wanted_quotients(sums.size(), -5);
        for (std::size_t i = 0; i < sums.size(); ++i) {
          const auto u = static_cast<NodeId>(i / width);
          if (mask != nullptr && !mask->contains(u)) {
            wanted_sums[i] = kAbsent;
          } else {
            wanted_quotients[i] = static_cast<std::int32_t>(testing::plain_quotient(sums[i], degrees[u]));
          }
        }
        for (const std::size_t threads : {1, 2, 4}) {
          for (const std::size_t tokens : {0, 1, 3}) {
            for (const bool in_order : {false, true}) {
              const ThreadLimit limit(threads);
              const Collected got = sweep(graph, t, width, mask, {in_order, tokens});
              CHECK(got.sums == wanted_sums);
              CHECK(got.quotients == wanted_quotients);
              if (mask == nullptr) CHECK(got.wide == wide);
              if (in_order) {
                CHECK(std::is_sorted(got.ranges.begin(), got.ranges.end(),
                                     [](NodeRange a, NodeRange b) { return a.first < b.first; }));
              }
            }
          }
        }
      }
    }
  }

  TEST_CASE("blocks without wanted rows are not decoded") {
    const CsrGraph graph = testing::random_graph_with_hub(2000, 3000, 1).csr();
    BlockSource source = block_source(graph);
    std::mutex mutex;
    std::vector<std::size_t> decoded;
    source.decode = [&, inner = source.decode](std::size_t block, std::size_t slot, DecodedBlock& out) {
      inner(block, slot, out);
      const std::lock_guard lock(mutex);
      decoded.push_back(block);
    };
    const auto t = random_tile(graph.num_nodes(), 1);
    RowMask wanted(graph.num_nodes());
    for (const NodeId u : {33U, 40U, 1000U, 1999U}) wanted.insert(u);
    CHECK(wanted.size() == 4);
    MemoryBudget budget(kPlenty);
    std::vector<NodeId> nodes;
    sweep_level(source, {{t.data(), 1, 24}, nullptr, &wanted}, {.in_order = true}, budget,
                [&](const SumRows& rows) { nodes.insert(nodes.end(), rows.nodes.begin(), rows.nodes.end()); });
    CHECK(nodes == std::vector<NodeId>{33, 40, 1000, 1999});
    std::sort(decoded.begin(), decoded.end());
    CHECK(decoded == std::vector<std::size_t>{1, 31, 62});
  }

  TEST_CASE("failures of decode and sink stop the sweep and come out") {
    const CsrGraph graph = testing::random_graph_with_hub(20'000, 1000, 1).csr();
    const auto t = random_tile(graph.num_nodes(), 1);
    BlockSource source = block_source(graph);
    source.decode = [inner = source.decode](std::size_t block, std::size_t slot, DecodedBlock& out) {
      if (block == 100) throw DataError("block 100 is broken");
      inner(block, slot, out);
    };
    for (const bool in_order : {false, true}) {
      for (const std::size_t threads : {1, 4}) {
        const ThreadLimit limit(threads);
        MemoryBudget budget(kPlenty);
        const SweepLevel level{{t.data(), 1, 24}, nullptr, nullptr};
        CHECK_THROWS_WITH_AS(sweep_level(source, level, {in_order, 0}, budget, [](const SumRows&) {}),
                             "block 100 is broken", DataError);
        CHECK_THROWS_WITH_AS(sweep_level(block_source(graph), level, {in_order, 0}, budget,
                                         [](const SumRows& rows) {
                                           if (rows.range.contains(5000)) throw ResourceError("disk full");
                                         }),
                             "disk full", ResourceError);
        CHECK(budget.used() == 0);
      }
    }
  }

  TEST_CASE("a short budget means fewer tokens, and none at all an error") {
    const CsrGraph graph = testing::random_graph_with_hub(20'000, 1000, 1).csr();
    const auto t = random_tile(graph.num_nodes() * 4, 1);
    const SweepLevel level{{t.data(), 4, 24}, nullptr, nullptr};
    const ThreadLimit limit(4);
    MemoryBudget two(2 * sweep_token_bytes(4) + 5);
    std::atomic<NodeId> rows_seen = 0;
    sweep_level(block_source(graph), level, {}, two,
                [&](const SumRows& rows) { rows_seen += static_cast<NodeId>(rows.nodes.size()); });
    CHECK(rows_seen == graph.num_nodes());
    CHECK(two.peak() == 2 * sweep_token_bytes(4));
    MemoryBudget none(sweep_token_bytes(4) - 1);
    CHECK_THROWS_AS(sweep_level(block_source(graph), level, {}, none, [](const SumRows&) {}), ResourceError);
  }

  TEST_CASE("a degree beyond exact rounding is refused") {
    BlockSource source;
    source.num_nodes = 1;
    source.num_blocks = 1;
    source.make_slots = [](std::size_t) {};
    const std::uint32_t count = kMaxDegree - 1;
    source.decode = [&](std::size_t, std::size_t, DecodedBlock& out) { out = {0, 1, &count, nullptr}; };
    const auto t = random_tile(1, 1);
    MemoryBudget budget(kPlenty);
    CHECK_THROWS_AS(sweep_level(source, {{t.data(), 1, 24}, nullptr, nullptr}, {}, budget, [](const SumRows&) {}),
                    DataError);
    CHECK_THROWS_AS(sweep_level(source, {{t.data(), 1, 31}, nullptr, nullptr}, {}, budget, [](const SumRows&) {}),
                    UsageError);
  }

  TEST_CASE("never more items in flight than tokens, never more work than workers, indices never shared") {
    for (const bool in_order : {false, true}) {
      const ThreadLimit limit(4);
      TokenGraph plan;
      plan.items = 3000;
      plan.tokens = 5;
      plan.workers = 3;
      plan.in_order = in_order;
      std::atomic<int> in_flight = 0;
      std::atomic<int> most_in_flight = 0;
      std::atomic<int> working = 0;
      std::atomic<bool> fault = false;
      std::vector<std::atomic<bool>> token_used(plan.tokens);
      std::vector<std::atomic<bool>> worker_used(plan.workers);
      std::vector<std::atomic<int>> written(plan.items);
      std::size_t next = 0;
      plan.work = [&](std::size_t, std::size_t worker, std::size_t token) {
        if (++in_flight > 5 || ++working > 3) fault = true;
        most_in_flight = std::max(most_in_flight.load(), in_flight.load());
        if (token_used.at(token).exchange(true) || worker_used.at(worker).exchange(true)) fault = true;
        worker_used[worker] = false;
        --working;
      };
      plan.write = [&](std::size_t item, std::size_t token) {
        ++written[item];
        if (in_order && item != next++) fault = true;
        if (!token_used[token].exchange(false)) fault = true;
        --in_flight;
      };
      run_token_graph(plan);
      CHECK(!fault);
      CHECK(in_flight == 0);
      CHECK(most_in_flight >= 1);
      CHECK(std::all_of(written.begin(), written.end(), [](const auto& times) { return times == 1; }));
    }
  }
}

}  // namespace unweave
