// tests/engine/sweep/sweep_test.cpp - one level against plain sums; both widths of a tile, threads,
// masks and failures.
#include "engine/sweep/sweep.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/csr_graph.h"
#include "support/graphs.h"
#include "support/special_values.h"

namespace unweave {
namespace {

using testing::kPlenty;

std::vector<std::int32_t> random_tile(std::size_t elements, std::uint32_t seed) {
  std::vector<std::int32_t> tile(elements + kTilePadding, 99);
  std::mt19937 random(seed);
  // Signs with a drift, so that hubs have sums beyond int32.
  for (std::size_t i = 0; i < elements; ++i) tile[i] = static_cast<std::int32_t>(random() % (3U << 23)) - (1 << 23);
  return tile;
}

/// The numbers of a tile in 16 bits, made small enough for its scale.
std::vector<std::int16_t> shortened(const std::vector<std::int32_t>& tile) {
  std::vector<std::int16_t> small(tile.size());
  std::transform(tile.begin(), tile.end(), small.begin(),
                 [](std::int32_t one) { return static_cast<std::int16_t>(one % ((1 << kMaxShortScaleBits) + 1)); });
  return small;
}

/// Sums of all handed-over rows (others hold kAbsent), checked for shape.
constexpr std::int64_t kAbsent = -1'000'000'000'000'000;

struct Collected {
  std::vector<std::int64_t> sums;
  std::vector<std::int32_t> quotients;
  std::size_t wide = 0;
};

template <class T>
Collected sweep(const testing::CsrGraph& graph, const std::vector<T>& t, std::size_t width, const RowMask* wanted,
                const RowRanks* input_rows = nullptr) {
  constexpr int kScaleBits = sizeof(T) == 2 ? kMaxShortScaleBits : 24;
  Collected out;
  out.sums.assign(graph.num_nodes() * width, kAbsent);
  const RowRanks ranks(wanted == nullptr ? RowMask(0) : *wanted);
  const std::size_t values = (wanted == nullptr ? graph.num_nodes() : ranks.size()) * width;
  // On a cache line, so that the widths that can pass by the caches do; one row more, which nobody
  // may write.
  constexpr T kUntouched = -5'555;
  MemoryBudget memory(kPlenty);
  const HugeBuffer buffer((values + width) * sizeof(T), memory, "quotients");
  const std::span<T> quotients(buffer.as<T>(), values + width);
  std::fill(quotients.begin(), quotients.end(), kUntouched);
  const SweepLevel level{SweepTile<T>{{t.data(), width, kScaleBits}, quotients.data()}, wanted, input_rows,
                         wanted == nullptr ? nullptr : &ranks};
  MemoryBudget budget(kPlenty);
  std::mutex mutex;
  sweep_level(block_source(graph), level, budget, [&](const SumRows& rows) {
    const std::lock_guard lock(mutex);
    CHECK(rows.width == width);
    CHECK(!rows.nodes.empty());
    CHECK(std::is_sorted(rows.nodes.begin(), rows.nodes.end()));
    out.wide += rows.wide_nodes.size();
    for (std::size_t i = 0; i < rows.nodes.size(); ++i) {
      CHECK(rows.nodes[i] / kBlockNodes >= rows.block);
      CHECK(rows.nodes[i] / kSweepRangeRows == rows.block / kSweepRangeBlocks);
      CHECK(out.sums[rows.nodes[i] * width] == kAbsent);  // each row once
      std::copy_n(rows.sums + i * width, width, &out.sums[rows.nodes[i] * width]);
    }
    for (std::size_t k = 0; k < rows.wide_nodes.size(); ++k) {
      std::copy_n(rows.wide_sums + k * width, width, &out.sums[rows.nodes[rows.wide_nodes[k]] * width]);
    }
  });
  CHECK(budget.used() == 0);
  CHECK(std::all_of(&quotients[values], &quotients[values] + width, [](T one) { return one == kUntouched; }));
  out.quotients.assign(&quotients[0], &quotients[values]);
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("sweep_level equals plain sums on every family, for any threads, order and mask") {
    for (const testing::NamedGraph& sample : testing::graph_family()) {
      CAPTURE(sample.name);
      const testing::CsrGraph graph = sample.csr();
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
        std::vector<std::int32_t> wanted_quotients;
        for (std::size_t i = 0; i < sums.size(); ++i) {
          const auto u = static_cast<NodeId>(i / width);
          if (mask != nullptr && !mask->contains(u)) {
            wanted_sums[i] = kAbsent;
          } else {
            wanted_quotients.push_back(static_cast<std::int32_t>(testing::plain_quotient(sums[i], degrees[u])));
          }
        }
        for (const std::size_t threads : {1, 2, 4}) {
          const ThreadLimit limit(threads);
          const Collected got = sweep(graph, t, width, mask);
          CHECK(got.sums == wanted_sums);
          CHECK(got.quotients == wanted_quotients);
          if (mask == nullptr) CHECK(got.wide == wide);
        }
      }
    }
  }

  TEST_CASE("a tile of some rows gives the sums that a tile of all rows gives, in 32 bits and in 16") {
    for (const testing::NamedGraph& sample : testing::graph_family()) {
      CAPTURE(sample.name);
      const testing::CsrGraph graph = sample.csr();
      RowMask wanted(sample.nodes), read(sample.nodes);
      for (NodeId u = 0; u < sample.nodes; u += 1 + u % 9) {
        wanted.insert(u);
        read.insert(u);
        for (ArcIndex arc = graph.offsets()[u]; arc < graph.offsets()[u + 1]; ++arc) read.insert(graph.targets()[arc]);
      }
      const RowRanks ranks(read);
      const auto check = [&](const auto& t, std::size_t width) {
        std::decay_t<decltype(t)> some;
        for (NodeId u = 0; u < sample.nodes; ++u) {
          CHECK(ranks.before(u) * width == some.size());
          if (read.contains(u)) some.insert(some.end(), &t[u * width], &t[u * width] + width);
        }
        CHECK(ranks.before(sample.nodes) == ranks.size());
        some.resize(some.size() + kTilePadding);
        const Collected expected = sweep(graph, t, width, &wanted);
        const Collected got = sweep(graph, some, width, &wanted, &ranks);
        CHECK(got.sums == expected.sums);
        CHECK(got.quotients == expected.quotients);
      };
      for (const std::size_t width : {9U, 32U}) {
        const auto t = random_tile(graph.num_nodes() * width, 5);
        check(t, width);
        check(shortened(t), width);
      }
    }
  }

  TEST_CASE("all rows of a tile whose rows are given by ranks") {
    const testing::NamedGraph sample = testing::random_graph_with_hub(2000, 3000, 1);
    const testing::CsrGraph graph = sample.csr();
    constexpr std::size_t kWidth = 16;
    const auto t = random_tile(graph.num_nodes() * kWidth, 5);
    RowMask all(sample.nodes);
    for (NodeId u = 0; u < sample.nodes; ++u) all.insert(u);
    const RowRanks ranks(all);
    const Collected expected = sweep(graph, t, kWidth, nullptr);
    const Collected got = sweep(graph, t, kWidth, nullptr, &ranks);
    CHECK(got.sums == expected.sums);
    CHECK(got.quotients == expected.quotients);
  }

  TEST_CASE("a tile that lacks the row of a wanted node or of a neighbour is refused") {
    const testing::NamedGraph path{"path", 40, {{3, 4}, {4, 5}}};
    const testing::CsrGraph graph = path.csr();
    RowMask wanted(path.nodes);
    wanted.insert(4);
    for (const NodeId missing : {3U, 4U, 5U, 39U}) {
      RowMask rows(path.nodes);
      for (NodeId node = 3; node < path.nodes; ++node)
        if (node != missing) rows.insert(node);
      const RowRanks ranks(rows);
      const auto t = random_tile(ranks.size() * 4, 7);
      if (missing == 39)
        CHECK_NOTHROW(sweep(graph, t, 4, &wanted, &ranks));
      else
        CHECK_THROWS_AS(sweep(graph, t, 4, &wanted, &ranks), DataError);
    }
  }

  TEST_CASE("quotients need the ranks of the wanted rows where not all are wanted, and no others") {
    const testing::CsrGraph graph(3, {{0, 1}, {1, 2}});
    const auto t = random_tile(3, 1);
    std::vector<std::int32_t> quotients(3);
    RowMask wanted(3);
    wanted.insert(1);
    const RowRanks ranks(wanted);
    const SweepTile<std::int32_t> tile{{t.data(), 1, 24}, quotients.data()};
    MemoryBudget budget(kPlenty);
    const auto nothing = [](const SumRows&) {};
    CHECK_THROWS_AS(sweep_level(block_source(graph), {tile, &wanted}, budget, nothing), UsageError);
    CHECK_THROWS_AS(sweep_level(block_source(graph), {tile, nullptr, nullptr, &ranks}, budget, nothing), UsageError);
    CHECK(quotients == std::vector<std::int32_t>(3));
  }

  TEST_CASE("16-bit tiles give the sums and quotients of the same numbers in 32 bits") {
    for (const testing::NamedGraph& sample : testing::graph_family()) {
      CAPTURE(sample.name);
      const testing::CsrGraph graph = sample.csr();
      RowMask few(sample.nodes);
      for (NodeId u = 0; u < sample.nodes; u += 1 + u % 5) few.insert(u);
      for (const std::size_t width : {1U, 9U, 32U}) {
        const auto t = shortened(random_tile(graph.num_nodes() * width, 3));
        const std::vector<std::int32_t> same(t.begin(), t.end());
        for (const RowMask* mask : {static_cast<const RowMask*>(nullptr), static_cast<const RowMask*>(&few)}) {
          const Collected expected = sweep(graph, same, width, mask);
          const Collected got = sweep(graph, t, width, mask);
          CHECK(got.sums == expected.sums);
          CHECK(got.quotients == expected.quotients);
        }
      }
    }
  }

  TEST_CASE("blocks without wanted rows are not decoded") {
    const testing::CsrGraph graph = testing::random_graph_with_hub(2000, 3000, 1).csr();
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
    const ThreadLimit limit(1);  // ranges in ascending order
    sweep_level(source, {SweepTile<std::int32_t>{{t.data(), 1, 24}, nullptr}, &wanted}, budget,
                [&](const SumRows& rows) { nodes.insert(nodes.end(), rows.nodes.begin(), rows.nodes.end()); });
    CHECK(nodes == std::vector<NodeId>{33, 40, 1000, 1999});
    std::sort(decoded.begin(), decoded.end());
    CHECK(decoded == std::vector<std::size_t>{1, 31, 62});
  }

  TEST_CASE("failures of decode and sink stop the sweep and come out") {
    const testing::CsrGraph graph = testing::random_graph_with_hub(20'000, 1000, 1).csr();
    const auto t = random_tile(graph.num_nodes(), 1);
    BlockSource source = block_source(graph);
    source.decode = [inner = source.decode](std::size_t block, std::size_t slot, DecodedBlock& out) {
      if (block == 100) throw DataError("block 100 is broken");
      inner(block, slot, out);
    };
    for (const std::size_t threads : {1, 4}) {
      const ThreadLimit limit(threads);
      MemoryBudget budget(kPlenty);
      const SweepLevel level{SweepTile<std::int32_t>{{t.data(), 1, 24}, nullptr}, nullptr};
      CHECK_THROWS_WITH_AS(sweep_level(source, level, budget, [](const SumRows&) {}), "block 100 is broken", DataError);
      CHECK_THROWS_WITH_AS(sweep_level(block_source(graph), level, budget,
                                       [](const SumRows& rows) {
                                         if (rows.nodes.front() <= 5000 && rows.nodes.back() >= 5000)
                                           throw ResourceError("disk full");
                                       }),
                           "disk full", ResourceError);
      CHECK(budget.used() == 0);
    }
  }

  TEST_CASE("a short budget means fewer workers, and none at all an error") {
    const testing::CsrGraph graph = testing::random_graph_with_hub(20'000, 1000, 1).csr();
    const BlockSource source = block_source(graph);
    const auto t = random_tile(graph.num_nodes() * 4, 1);
    const SweepLevel level{SweepTile<std::int32_t>{{t.data(), 4, 24}, nullptr}, nullptr};
    const ThreadLimit limit(4);
    MemoryBudget two(2 * sweep_worker_bytes(source, 4) + 5);
    std::atomic<NodeId> rows_seen = 0;
    sweep_level(source, level, two, [&](const SumRows& rows) { rows_seen += static_cast<NodeId>(rows.nodes.size()); });
    CHECK(rows_seen == graph.num_nodes());
    CHECK(two.peak() == 2 * sweep_worker_bytes(source, 4));
    MemoryBudget none(sweep_worker_bytes(source, 4) - 1);
    CHECK_THROWS_AS(sweep_level(source, level, none, [](const SumRows&) {}), ResourceError);
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
    const auto nothing = [](const SumRows&) {};
    const std::int16_t short_t[1 + kTilePadding]{};
    CHECK_THROWS_AS(sweep_level(source, {SweepTile<std::int32_t>{{t.data(), 1, 24}}, nullptr}, budget, nothing),
                    DataError);
    CHECK_THROWS_AS(sweep_level(source, {SweepTile<std::int32_t>{{t.data(), 1, 31}}, nullptr}, budget, nothing),
                    UsageError);
    CHECK_THROWS_AS(sweep_level(source, {SweepTile<std::int16_t>{{short_t, 1, 15}}, nullptr}, budget, nothing),
                    UsageError);
  }

  TEST_CASE("run_items: every item once, begun in ascending order, workers never shared, failures come out") {
    for (const std::size_t threads : {1, 4}) {
      const ThreadLimit limit(threads);
      constexpr std::size_t kItems = 3000, kWorkers = 3;
      std::atomic<bool> fault = false;
      std::vector<std::atomic<bool>> used(kWorkers);
      std::vector<std::atomic<int>> done(kItems);
      std::vector<std::size_t> last(kWorkers, 0);
      run_items(kItems, kWorkers, [&](std::size_t item, std::size_t worker) {
        if (used.at(worker).exchange(true) || item < last[worker]) fault = true;
        last[worker] = item;
        ++done.at(item);
        used[worker] = false;
      });
      CHECK(!fault);
      CHECK(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; }));
      CHECK_THROWS_WITH_AS(run_items(kItems, kWorkers,
                                     [](std::size_t item, std::size_t) {
                                       if (item == 700) throw std::runtime_error("item 700");
                                     }),
                           "item 700", std::runtime_error);
      std::atomic<std::size_t> waiting = 0;
      run_waiting_items(kItems, kWorkers, [&](auto&& next_item) {
        for (std::size_t item = next_item(); item < kItems; item = next_item()) ++waiting;
      });
      CHECK(waiting == kItems);
      CHECK_THROWS_WITH_AS(run_waiting_items(kItems, kWorkers,
                                             [](auto&& next_item) {
                                               for (std::size_t item = next_item(); item < kItems; item = next_item())
                                                 if (item == 700) throw std::runtime_error("item 700");
                                             }),
                           "item 700", std::runtime_error);
    }
  }
}

}  // namespace unweave
