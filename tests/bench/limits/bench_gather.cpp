// tests/bench/limits/bench_gather.cpp - times bare sums over plain lists and a sweep over the same
// graph.
#include "bench/limits/bench_gather.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <vector>

#include "algorithms/propagation/propagation_sweep.h"
#include "algorithms/synthetic/rmat.h"
#include "engine/resources/clock.h"
#include "engine/resources/parallel.h"
#include "engine/sweep/gather.h"
#include "engine/sweep/sweep.h"
#include "support/csr_graph.h"

namespace unweave {
namespace {

testing::CsrGraph make_graph(const GatherBenchOptions& options) {
  std::vector<Edge> edges(options.edge_factor << options.scale);
  parallel_ranges(0, edges.size(), 1 << 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) edges[i] = rmat_edge(options.seed, i, options.scale);
  });
  return testing::CsrGraph(NodeId{1} << options.scale, edges);
}

constexpr int kScaleBits = 24;

/// While the graph is made: edges, and arcs as they are sorted and as they stay.
std::uint64_t graph_bytes(const GatherBenchOptions& options) {
  return (options.edge_factor << options.scale) * (sizeof(Edge) + 2 * (sizeof(std::uint64_t) + sizeof(NodeId)));
}

std::uint64_t tile_bytes(NodeId nodes, std::size_t columns) {
  return (std::uint64_t{nodes} * columns + kTilePadding) * sizeof(std::int32_t);
}

std::uint64_t tile_bytes(const GatherBenchOptions& options) {
  return tile_bytes(NodeId{1} << options.scale, options.features);
}

/// Densities of a dense feature matrix: numbers spread over [-2^scale_bits, 2^scale_bits).
void fill_rows(TileColumns columns, NodeRange rows, int scale_bits, std::int32_t* out) {
  for (NodeId u = rows.first; u < rows.last; ++u) {
    for (std::size_t c = columns.first; c < columns.first + columns.count; ++c) {
      const auto mixed = static_cast<std::uint32_t>((u * std::size_t{131} + c) * 2'654'435'761U);
      *out++ = static_cast<std::int32_t>(mixed >> (31 - scale_bits)) - (1 << scale_bits);
    }
  }
}

/// STREAM's triad on three arrays far larger than any cache.
double triad(const GatherBenchOptions& options, MemoryBudget& budget) {
  constexpr std::size_t kItems = std::size_t{1} << 25;
  HugeBuffer memory(3 * kItems * sizeof(double), budget, "arrays of the triad");
  auto* const a = memory.as<double>();
  double* const b = a + kItems;
  double* const c = b + kItems;
  double best = std::numeric_limits<double>::max();
  for (int run = 0; run <= options.repeats; ++run) {
    const auto start = Clock::now();
    parallel_ranges(0, kItems, 1 << 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) a[i] = b[i] + 3.0 * c[i];
    });
    if (run > 0) best = std::min(best, seconds_since(start));  // the first run commits the pages
  }
  return 3.0 * kItems * sizeof(double) / best;
}

/// Seconds of one pass of the bare kernel over all lists, results dropped.
double gather_once(const testing::CsrGraph& graph, const Tile& tile) {
  std::vector<NodeId> ids(graph.num_nodes());
  std::iota(ids.begin(), ids.end(), NodeId{0});
  const auto start = Clock::now();
  parallel_ranges(0, graph.num_blocks(), 16, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> sums(std::size_t{kBlockNodes} * tile.width);
    std::vector<std::int64_t> wide_sums(std::size_t{kBlockNodes} * tile.width);
    std::vector<std::uint32_t> wide_nodes(kBlockNodes);
    const std::size_t last = std::min<std::size_t>(end * kBlockNodes, graph.num_nodes());
    for (std::size_t u = begin * kBlockNodes; u < last; u += kBlockNodes) {
      const std::size_t nodes = std::min<std::size_t>(kBlockNodes, last - u);
      const ArcIndex from = graph.offsets()[u];
      const ArcIndex to = graph.offsets()[u + nodes];
      const NodeId* const targets = graph.targets().data();
      gather_lists(tile,
                   {std::span(ids.data() + u, nodes),
                    graph.counts().data() + u,
                    targets + from,
                    to - from,
                    {targets + to, static_cast<std::size_t>(graph.offsets()[last] - to)}},
                   {sums.data(), wide_sums.data(), wide_nodes.data(), nullptr});
    }
  });
  return seconds_since(start);
}

SweepSpec sweep_spec(const GatherBenchOptions& options, int scale_bits) {
  SweepSpec sweep;
  sweep.levels = static_cast<std::uint32_t>(options.hops);
  sweep.columns.count = options.features;
  sweep.scale_bits = static_cast<std::uint32_t>(scale_bits);
  return sweep;
}

struct SweepSeconds {
  double all = std::numeric_limits<double>::max();
  double sums = std::numeric_limits<double>::max();  ///< without the filling of the tiles
  void keep_best(const SweepSeconds& other) {
    all = std::min(all, other.all);
    sums = std::min(sums, other.sums);
  }
};

/// Times a propagation; its sums go to `kept` (nodes x features). They prove themselves if
/// `is_checked`.
SweepSeconds sweep_once(const testing::CsrGraph& graph, const GatherBenchOptions& options, int scale_bits,
                        bool is_checked, MemoryBudget& budget, std::int32_t* kept) {
  const BlockSource source = block_source(graph);
  const SweepSpec sweep = sweep_spec(options, scale_bits);
  std::optional<SumCheck> check;
  if (is_checked) check.emplace(source.num_nodes, options.features, sweep.levels, std::span<const RowMask>(), budget);
  std::mutex mutex;
  std::optional<Clock::time_point> filling_since;
  double filling = 0;
  const LevelSource below{[&](TileColumns columns, NodeRange rows, std::int32_t* out) {
    {
      const std::scoped_lock lock(mutex);
      if (!filling_since) filling_since = Clock::now();
    }
    fill_rows(columns, rows, scale_bits, out);
  }};
  SinkOf sink([&](std::uint32_t /*level*/, TileColumns columns, const SumRows& rows) {
    {
      const std::scoped_lock lock(mutex);
      if (filling_since) filling += seconds_since(*filling_since);
      filling_since.reset();
    }
    for (std::size_t i = 0; i < rows.nodes.size(); ++i)
      std::copy_n(rows.sums + i * rows.width, rows.width, kept + rows.nodes[i] * options.features + columns.first);
  });
  const auto start = Clock::now();
  propagation_sweep(source, sweep, plan_tiles(source, sweep, budget.available()), budget, below, sink,
                    check ? &*check : nullptr);
  const double all = seconds_since(start);
  return {all, all - filling};
}

}  // namespace

double gather_limit(const testing::CsrGraph& graph, std::size_t columns, MemoryBudget& budget) {
  const HugeBuffer input(tile_bytes(graph.num_nodes(), columns), budget, "tile of the benchmark");
  parallel_ranges(0, graph.num_nodes(), 4096, [&](std::size_t begin, std::size_t end) {
    fill_rows({0, columns}, {static_cast<NodeId>(begin), static_cast<NodeId>(end)}, kScaleBits,
              input.as<std::int32_t>() + begin * columns);
  });
  const double seconds = gather_once(graph, {input.as<std::int32_t>(), columns, kScaleBits});
  return static_cast<double>(graph.num_terms()) * static_cast<double>(columns) / seconds;
}

GatherBench run_bench_gather(const GatherBenchOptions& options, MemoryBudget& budget) {
  GatherBench result;
  result.threads = active_threads();
  result.vector_target = gather_instructions();
  result.triad_bytes_per_second = triad(options, budget);

  const Reservation graph_memory = budget.reserve(graph_bytes(options), "graph of the benchmark");
  const testing::CsrGraph graph = make_graph(options);
  result.nodes = graph.num_nodes();
  result.arcs = graph.num_arcs();
  const double work = static_cast<double>(result.arcs + result.nodes) * static_cast<double>(options.features);

  SweepSeconds bare, checked, narrow;
  const HugeBuffer kept(tile_bytes(options), budget, "sums of the benchmark");
  result.tile_width = plan_tiles(block_source(graph), sweep_spec(options, kScaleBits), budget.available()).width;
  for (int run = 0; run < options.repeats; ++run) {
    result.limit_per_second = std::max(result.limit_per_second, gather_limit(graph, options.features, budget));
    auto* const sums = kept.as<std::int32_t>();
    bare.keep_best(sweep_once(graph, options, kScaleBits, false, budget, sums));
    checked.keep_best(sweep_once(graph, options, kScaleBits, true, budget, sums));
    narrow.keep_best(sweep_once(graph, options, kMaxShortScaleBits, false, budget, sums));
  }
  result.sweep_seconds = bare.sums;
  result.check_ratio = checked.all / bare.all;
  result.sweep_per_second = work * options.hops / bare.sums;
  result.short_sweep_per_second = work * options.hops / narrow.sums;
  return result;
}

}  // namespace unweave
