// tests/algorithms/propagation/propagation_sweep_test.cpp - all levels against plain integers,
// float64 algebra and a known digest.
#include "algorithms/propagation/propagation_sweep.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/csr_graph.h"
#include "support/graphs.h"
#include "support/special_values.h"

namespace unweave {
namespace {

using testing::kPlenty;
constexpr std::int64_t kAbsent = -1'000'000'000'000'000;

using Integers = std::vector<std::int64_t>;  // nodes x features

/// What a test says of a sweep beside its specification.
struct Way {
  TileBuffers buffers = TileBuffers::two;
  bool waits = false;  ///< the fill does
};

/// Keeps S^1..S^L as propagation_sweep hands them over; rows that it does not hand over hold
/// kAbsent.
class TestSink final : public LevelSink {
 public:
  TestSink(const testing::CsrGraph& graph, const Integers& t0, const SweepSpec& sweep)
      : graph_(graph), columns_(sweep.columns.count), sums_(sweep.levels, Integers(t0.size(), kAbsent)) {}

  void put(std::uint32_t level, TileColumns columns, const SumRows& rows) override {
    const std::lock_guard lock(mutex_);
    Integers& to = sums_.at(level - 1);
    const auto row = [&](std::size_t i) { return &to[rows.nodes[i] * columns_ + columns.first]; };
    for (std::size_t i = 0; i < rows.nodes.size(); ++i) {
      CHECK(*row(i) == kAbsent);  // each row once
      std::copy_n(rows.sums + i * rows.width, rows.width, row(i));
    }
    for (std::size_t k = 0; k < rows.wide_nodes.size(); ++k)
      std::copy_n(rows.wide_sums + k * rows.width, rows.width, row(rows.wide_nodes[k]));
  }
  void end(std::uint32_t level, TileColumns columns, const LevelProof& /*proof*/) override {
    CHECK(level <= sums_.size());
    CHECK(columns.first + columns.count <= columns_);
    ++ended;
  }
  [[nodiscard]] TileFill refill(std::uint32_t level, TileColumns /*columns*/) override {
    return [this, level](TileColumns columns, NodeRange rows, std::int32_t* out) {
      for (NodeId u = rows.first; u < rows.last; ++u, out += columns.count)
        round_quotients(std::span<const std::int64_t>(&sums_[level - 1][u * columns_ + columns.first], columns.count),
                        graph_.counts()[u] + 1, out);
    };
  }
  [[nodiscard]] std::vector<Integers> take() { return std::move(sums_); }
  std::size_t ended = 0;

 private:
  const testing::CsrGraph& graph_;
  std::size_t columns_;
  std::mutex mutex_;
  std::vector<Integers> sums_;
};

std::vector<Integers> propagate(const testing::CsrGraph& graph, const Integers& t0, const SweepSpec& sweep,
                                MemoryBudget& budget, const Way& way = {}) {
  const std::size_t columns = sweep.columns.count;
  const BlockSource source = block_source(graph);
  const TilePlan plan = plan_tiles(source, sweep, budget.available(), way.buffers);
  std::optional<SumCheck> check;
  if (sweep.levels > 0) check.emplace(graph.num_nodes(), columns, sweep.levels, sweep.wanted, budget);
  TestSink sink(graph, t0, sweep);
  const LevelSource below{[&](TileColumns tile, NodeRange rows, std::int32_t* out) {
                            for (NodeId u = rows.first; u < rows.last; ++u)
                              for (std::size_t c = 0; c < tile.count; ++c)
                                *out++ = static_cast<std::int32_t>(t0[u * columns + tile.first + c]);
                          },
                          way.waits};
  propagation_sweep(source, sweep, plan, budget, below, sink, check ? &*check : nullptr);
  CHECK(sink.ended == (graph.num_nodes() > 0 ? plan.tiles * sweep.levels : 0));
  check.reset();
  CHECK(budget.used() == 0);
  return sink.take();
}

std::vector<Integers> plain_propagation(const testing::NamedGraph& graph, Integers t, std::size_t features, int hops) {
  const Integers degrees = testing::plain_degrees(graph);
  std::vector<Integers> sums;
  for (int level = 1; level <= hops; ++level) {
    sums.push_back(testing::plain_sums(graph, t, features));
    for (std::size_t i = 0; i < t.size(); ++i) t[i] = testing::plain_quotient(sums.back()[i], degrees[i / features]);
  }
  return sums;
}

Integers random_densities(std::size_t elements, std::int64_t bound, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::int64_t> value(-bound / 4, bound);
  Integers t(elements);
  for (std::int64_t& one : t) one = value(random);
  return t;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the path 0-1-2 has the digest of the executable reference") {
    const testing::CsrGraph path(3, {{0, 1}, {1, 2}});
    const Integers t0{11863283, 4843165, -2965821};
    MemoryBudget budget(kPlenty);
    SweepSpec sweep;
    sweep.columns.count = 1;
    sweep.levels = 2;
    const auto sums = propagate(path, t0, sweep, budget);
    CHECK(sums[0] == Integers{16706448, 13740627, 1877344});
    CHECK(sums[1] == Integers{12933433, 13872105, 5518881});
    const std::vector<std::uint32_t> degrees{2, 3, 2};
    const std::vector<std::vector<std::int32_t>> expected{{8353224, 4580209, 938672}, {6466716, 4624035, 2759440}};
    for (std::size_t level = 0; level < 2; ++level) {
      for (std::size_t u = 0; u < 3; ++u) {
        std::int32_t t = 0;
        round_quotients(std::span<const std::int64_t>(&sums[level][u], 1), degrees[u], &t);
        CHECK(t == expected[level][u]);
      }
    }
  }

  TEST_CASE("equals plain integers on every family for L = 0..4, any threads and tile width") {
    for (const testing::NamedGraph& sample : testing::graph_family()) {
      CAPTURE(sample.name);
      const testing::CsrGraph graph = sample.csr();
      constexpr std::size_t kFeatures = 19;
      const Integers t0 = random_densities(sample.nodes * kFeatures, 1 << 24, 4);
      for (int hops = 0; hops <= 4; ++hops) {
        CAPTURE(hops);
        if (hops == 3 && sample.nodes > 1000) continue;  // plain sums are quadratic
        const auto expected = plain_propagation(sample, t0, kFeatures, hops);
        for (const std::size_t threads : {1, 2, 4}) {
          const ThreadLimit limit(threads);
          SweepSpec sweep;
          sweep.columns.count = kFeatures;
          sweep.levels = static_cast<std::uint32_t>(hops);
          MemoryBudget budget(kPlenty);
          CHECK(propagate(graph, t0, sweep, budget) == expected);
          // Each level from the sums of the one before, and level 0 by more threads.
          CHECK(propagate(graph, t0, sweep, budget, {TileBuffers::one, true}) == expected);
        }
      }
    }
  }

  TEST_CASE("a fill that waits is called by more threads than there are processors, where tiles are narrow") {
    const ThreadLimit limit(1);
    const testing::CsrGraph graph(20'000, {{0, 1}});
    for (const auto& one : {std::pair(false, 1), {true, 1}, {true, 33}}) {
      const bool waits = one.first;
      const int columns = one.second;
      CAPTURE(waits);
      CAPTURE(columns);
      SweepSpec sweep;
      sweep.columns.count = static_cast<std::size_t>(columns);
      sweep.levels = 1;
      MemoryBudget budget(kPlenty);
      const BlockSource source = block_source(graph);
      std::atomic<int> inside = 0, most = 0;
      const LevelSource below{[&](TileColumns tile, NodeRange rows, std::int32_t* out) {
                                const int now = ++inside;
                                for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
                                }
                                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                                std::fill_n(out, rows.size() * tile.count, 1);
                                --inside;
                              },
                              waits};
      SinkOf sink([](std::uint32_t, TileColumns, const SumRows&) {});
      propagation_sweep(source, sweep, plan_tiles(source, sweep, budget.available()), budget, below, sink);
      CHECK((most > 1) == (waits && columns <= 32));
    }
  }

  TEST_CASE("stays within half a unit a level of float64 algebra") {
    for (const int hops : {1, 2, 3}) {
      const testing::NamedGraph sample = testing::random_graph_with_hub(80, 250, static_cast<std::uint32_t>(hops));
      const Integers degrees = testing::plain_degrees(sample);
      constexpr std::size_t kFeatures = 5;
      constexpr double kScale = 1 << 24;
      std::mt19937 random(6);
      std::normal_distribution<double> normal;
      std::vector<double> z(sample.nodes * kFeatures);
      for (std::size_t u = 0; u < sample.nodes; ++u) {
        double norm = 0;
        for (std::size_t c = 0; c < kFeatures; ++c) {
          z[u * kFeatures + c] = normal(random);
          norm += z[u * kFeatures + c] * z[u * kFeatures + c];
        }
        for (std::size_t c = 0; c < kFeatures; ++c) z[u * kFeatures + c] /= std::max(1.0, std::sqrt(norm));
      }
      const auto root = [&](std::size_t u) { return std::sqrt(static_cast<double>(degrees[u])); };
      Integers t0(z.size());
      for (std::size_t i = 0; i < z.size(); ++i) t0[i] = std::llrint(kScale * z[i] / root(i / kFeatures));
      // Z = (D^-1/2 A D^-1/2)^L X with a dense A.
      std::vector<std::vector<double>> walk(sample.nodes, std::vector<double>(sample.nodes, 0));
      const auto join = [&](std::size_t u, std::size_t v) { walk[u][v] = walk[v][u] = 1 / (root(u) * root(v)); };
      for (const Edge& edge : sample.edges) join(edge.u, edge.v);
      for (std::size_t u = 0; u < sample.nodes; ++u) join(u, u);
      for (int level = 0; level < hops; ++level) {
        std::vector<double> next(z.size(), 0);
        for (std::size_t u = 0; u < sample.nodes; ++u) {
          for (std::size_t v = 0; v < sample.nodes; ++v) {
            for (std::size_t c = 0; c < kFeatures; ++c) next[u * kFeatures + c] += walk[u][v] * z[v * kFeatures + c];
          }
        }
        z = next;
      }
      SweepSpec sweep;
      sweep.columns.count = kFeatures;
      sweep.levels = static_cast<std::uint32_t>(hops);
      MemoryBudget budget(kPlenty);
      const Integers sums = propagate(sample.csr(), t0, sweep, budget).back();
      double worst = 0;
      for (std::size_t i = 0; i < z.size(); ++i) {
        const auto d = degrees[i / kFeatures];
        const auto t = static_cast<double>(testing::plain_quotient(sums[i], d));
        worst = std::max(worst, std::abs(root(i / kFeatures) * t / kScale - z[i]));
      }
      const auto hub = static_cast<double>(*std::max_element(degrees.begin(), degrees.end()));
      CHECK(worst <= (hops + 1) * std::sqrt(hub) / 2 / kScale);
      CHECK(worst > 0);
    }
  }

  TEST_CASE("16-bit and 32-bit transport are the same function of the scale's densities") {
    for (const testing::NamedGraph& sample : testing::graph_family()) {
      CAPTURE(sample.name);
      if (sample.nodes > 1000) continue;  // plain sums are quadratic
      const testing::CsrGraph graph = sample.csr();
      constexpr std::size_t kFeatures = 35;
      for (const std::uint32_t scale_bits : {8, 13, 14, 15, 16}) {
        CAPTURE(scale_bits);
        Integers t0 = random_densities(sample.nodes * kFeatures, std::int64_t{1} << scale_bits, 4);
        std::fill_n(t0.begin(), kFeatures, std::int64_t{1} << scale_bits);  // the bound itself
        const auto expected = plain_propagation(sample, t0, kFeatures, 3);
        SweepSpec sweep;
        sweep.columns.count = kFeatures;
        sweep.levels = 3;
        sweep.scale_bits = scale_bits;
        for (const std::size_t most_columns : {0, 32}) {
          sweep.most_columns = most_columns;
          MemoryBudget budget(kPlenty);
          CHECK(propagate(graph, t0, sweep, budget) == expected);
        }
      }
    }
  }

  TEST_CASE("levels filled anew in 16 bits, and sums beyond 32 bits that they are made of, are those of two buffers") {
    const testing::NamedGraph sample = testing::random_graph_with_hub(9000, 20'000, 3);
    const testing::CsrGraph graph = sample.csr();
    for (const std::uint32_t scale_bits : {14, 24, 29}) {
      CAPTURE(scale_bits);
      SweepSpec sweep;
      sweep.columns.count = 37;
      sweep.levels = 3;
      sweep.scale_bits = scale_bits;
      const Integers t0 = random_densities(sample.nodes * sweep.columns.count, std::int64_t{1} << scale_bits, 4);
      MemoryBudget budget(kPlenty);
      const auto expected = propagate(graph, t0, sweep, budget);
      sweep.most_columns = 32;
      CHECK(propagate(graph, t0, sweep, budget, {.buffers = TileBuffers::one}) == expected);
    }
  }

  TEST_CASE("tiles of very many columns are turned into 16 bits a few rows at a time") {
    constexpr std::size_t kFeatures = 9000, kNodes = 100;
    testing::NamedGraph path;
    path.nodes = kNodes;
    for (NodeId node = 1; node < kNodes; ++node) path.edges.push_back({node - 1, node});
    const Integers t0 = random_densities(kNodes * kFeatures, 1 << 14, 6);
    SweepSpec sweep;
    sweep.columns.count = kFeatures;
    sweep.levels = 1;
    sweep.scale_bits = 14;
    MemoryBudget budget(kPlenty);
    CHECK(propagate(path.csr(), t0, sweep, budget) == plain_propagation(path, t0, kFeatures, 1));
  }

  TEST_CASE("a backward cone of masks gives the rows of the full sweep and no others") {
    const testing::NamedGraph sample = testing::random_graph_with_hub(1500, 3000, 8);
    const testing::CsrGraph graph = sample.csr();
    constexpr int kHops = 3;
    std::vector<RowMask> cone(kHops, RowMask(sample.nodes));
    for (NodeId u = 700; u < sample.nodes; u += 200) cone.back().insert(u);
    for (std::size_t level = kHops - 1; level > 0; --level) {
      for (NodeId u = 0; u < sample.nodes; ++u) {
        if (!cone[level].contains(u)) continue;
        cone[level - 1].insert(u);
        for (ArcIndex i = graph.offsets()[u]; i < graph.offsets()[u + 1]; ++i)
          cone[level - 1].insert(graph.targets()[i]);
      }
    }
    CHECK(cone[0].size() < sample.nodes);
    const Integers t0 = random_densities(sample.nodes * 3, 1 << 24, 4);
    auto expected = plain_propagation(sample, t0, 3, kHops);
    for (std::size_t level = 0; level < kHops; ++level) {
      for (std::size_t i = 0; i < t0.size(); ++i) {
        if (!cone[level].contains(static_cast<NodeId>(i / 3))) expected[level][i] = kAbsent;
      }
    }
    SweepSpec sweep;
    sweep.columns.count = 3;
    sweep.levels = kHops;
    sweep.wanted = cone;
    MemoryBudget budget(kPlenty);
    CHECK(propagate(graph, t0, sweep, budget) == expected);
    // Tiles take turns with the buffers: an even number of levels and an odd one.
    sweep.most_columns = 1;
    CHECK(propagate(graph, t0, sweep, budget) == expected);
    SweepSpec fewer = sweep;
    fewer.levels = 2;
    fewer.wanted = std::span(cone).first(2);
    CHECK(propagate(graph, t0, fewer, budget) == std::vector<Integers>(expected.begin(), expected.begin() + 2));
    sweep.wanted = std::span(cone).first(2);
    CHECK_THROWS_AS(propagate(graph, t0, sweep, budget), UsageError);
    sweep.wanted = cone;
    CHECK_THROWS_AS(propagate(graph, t0, sweep, budget, {.buffers = TileBuffers::one}), UsageError);
  }

  TEST_CASE("tiles are planned from the budget, give the same sums and stay within it") {
    const testing::NamedGraph sample = testing::random_graph_with_hub(40'000, 60'000, 2);
    const testing::CsrGraph graph = sample.csr();
    const BlockSource source = block_source(graph);
    const ThreadLimit limit(2);
    SweepSpec sweep;
    sweep.columns.count = 70;
    sweep.levels = 2;
    const Integers t0 = random_densities(sample.nodes * sweep.columns.count, 1 << 24, 4);
    MemoryBudget plenty(kPlenty);
    CHECK(plan_tiles(source, sweep, kPlenty).width == 70);
    const auto expected = propagate(graph, t0, sweep, plenty);

    const auto needed = [&](std::size_t width, std::uint64_t tiles, std::uint64_t ranges) {
      return tiles * HugeBuffer::charge(sample.nodes * width * 4 + 4 * kTilePadding) +
             ranges * sweep_worker_bytes(source, width) +
             SumCheck::bytes(sample.nodes, sweep.columns.count, 2, {}, sample.nodes);
    };
    struct Case {
      std::uint64_t bytes;
      std::size_t width, tiles;
    };
    for (const Case& one :
         {Case{needed(70, 2, 2), 70, 1}, Case{needed(70, 2, 2) - 1, 48, 2}, Case{needed(32, 2, 2), 32, 3},
          Case{needed(16, 2, 2), 16, 5}, Case{needed(1, 2, 1), 1, 70}}) {
      CAPTURE(one.bytes);
      MemoryBudget budget(one.bytes);
      const TilePlan plan = plan_tiles(source, sweep, one.bytes);
      CHECK(plan.memory_bytes() <= one.bytes);
      CHECK(plan.width == one.width);
      CHECK(plan.tiles == one.tiles);
      if (plan.width > 1) CHECK(propagate(graph, t0, sweep, budget) == expected);
      CHECK(budget.peak() <= one.bytes);
    }
    const std::uint64_t small = needed(1, 2, 1) - 1;
    CHECK_FALSE(plan_tiles(source, sweep, small).fits());
    CHECK_THROWS_AS((void)plan_tiles(source, sweep, small).require(), ResourceError);
    // One buffer, and tiles of the same widths fit about half the bytes.
    const auto one_buffer = [&](std::uint64_t bytes) { return plan_tiles(source, sweep, bytes, TileBuffers::one); };
    for (const std::size_t width : {70, 48, 32, 16}) {
      CAPTURE(width);
      sweep.most_columns = width;
      const std::uint64_t bytes = one_buffer(kPlenty).memory_bytes();
      sweep.most_columns = 0;
      MemoryBudget budget(bytes);
      const TilePlan plan = one_buffer(bytes);
      CHECK(plan.refills);
      CHECK(plan.width == width);
      CHECK(plan.tile_bytes == HugeBuffer::charge(sample.nodes * width * 4 + 4 * kTilePadding));
      CHECK(plan.memory_bytes() == bytes);
      CHECK(propagate(graph, t0, sweep, budget, {.buffers = TileBuffers::one}) == expected);
      CHECK(budget.peak() <= bytes);
      CHECK(one_buffer(bytes - 1).width < width);
    }
    sweep.levels = 1;  // one buffer is enough
    CHECK(one_buffer(small).width >= 1);
    CHECK_FALSE(one_buffer(small).refills);
  }
}

}  // namespace unweave
