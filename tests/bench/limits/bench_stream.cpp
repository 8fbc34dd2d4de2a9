// tests/bench/limits/bench_stream.cpp - times batches of removals, and what bounds them: sums, and
// copies of rows.
#include "bench/limits/bench_stream.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "algorithms/live/live_store.h"
#include "algorithms/live/propagate.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/random/counter_random.h"
#include "algorithms/random/permutation.h"
#include "bench/limits/bench_propagate.h"
#include "engine/resources/clock.h"
#include "engine/resources/parallel.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kCopyBytes = std::uint64_t{1} << 28;  // far more than any cache holds
constexpr std::uint64_t kPickUse = 21, kOrderUse = 22;        // uses of the seed, for the draw
constexpr std::uint64_t kFromUse = 23, kToUse = 24;           // for the places of rows

struct Place {
  std::uint32_t from = 0, to = 0;
};

/// Rows of `columns` 32-bit sums copied a second, on all threads.
double copy_rate(NodeId nodes, std::uint32_t columns, MemoryBudget& budget) {
  const std::uint64_t row_bytes = columns * sizeof(std::int32_t);
  const std::uint64_t rows = std::max<std::uint64_t>(1, std::min<std::uint64_t>(nodes, kCopyBytes / row_bytes));
  const HugeBuffer from(rows * row_bytes, budget, "rows to copy");
  const HugeBuffer to(rows * row_bytes, budget, "copied rows");
  const Permutation sources(rows, random_key(0, kFromUse)), targets(rows, random_key(0, kToUse));
  const Reservation memory = budget.reserve(rows * sizeof(Place), "places of rows to copy");
  std::vector<Place> places(rows);
  for (std::uint64_t i = 0; i < rows; ++i)
    places[i] = {static_cast<std::uint32_t>(sources.at(i)), static_cast<std::uint32_t>(targets.at(i))};
  std::memset(from.data(), 1, rows * row_bytes);
  double seconds = 0;
  for (int run = 0; run < 2; ++run) {  // the first run commits the pages
    const Clock::time_point start = Clock::now();
    parallel_ranges(0, rows, 1024, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        std::memcpy(to.data() + places[i].to * row_bytes, from.data() + places[i].from * row_bytes, row_bytes);
    });
    seconds = seconds_since(start);
  }
  return static_cast<double>(rows) / seconds;
}

std::string plan_text(const UpdateReport& report) {
  std::string text;
  for (const std::string& level : report.plan) text += (text.empty() ? "" : " ") + level;
  return text;
}

StreamBench remove_edges(const std::filesystem::path& store, const StreamBenchOptions& options, MemoryBudget& budget) {
  StoreWriter live(store, budget);
  StreamBench result;
  result.hops = options.hops;
  result.batch = options.batch;
  result.threads = active_threads();
  result.nodes = live.manifest().nodes;
  result.arcs = live.contents().graph().num_arcs();
  result.features = live.manifest().features;
  static_cast<void>(propagate(live, bench_spec(options.hops), budget, {}));
  const std::uint64_t count = options.batch * options.batches;
  const Reservation memory = budget.reserve(count * sizeof(Request), "requests of the benchmark");
  const std::vector<Request> requests = draw_edges(live.contents(), count, options.seed);
  const auto add = [&](const UpdateReport& update) {
    result.rows_touched += update.rows_touched;
    result.arcs_visited += update.arcs_visited;
    result.arcs_summed += update.arcs_summed;
  };
  for (std::uint64_t i = 0; i < options.batches; ++i) {
    const auto batch = std::span(requests).subspan(i * options.batch, options.batch);
    const Clock::time_point start = Clock::now();
    const BatchReport report = live.apply(batch, live.resolve(batch), {}, LastLevel::deferred);
    result.batch_seconds.push_back(seconds_since(start));
    result.plans.push_back(plan_text(report.update));
    add(report.update);
  }
  const Clock::time_point last = Clock::now();
  add(live.settle());
  result.deliver_seconds = seconds_since(last);
  const Clock::time_point end = Clock::now();
  live.checkpoint();
  result.checkpoint_seconds = seconds_since(end);
  return result;
}

}  // namespace

double StreamBench::seconds() const {
  return std::accumulate(batch_seconds.begin(), batch_seconds.end(), deliver_seconds);
}

StreamLimit measure_stream_limit(const std::filesystem::path& store, int repeats, MemoryBudget& budget) {
  const Manifest manifest = read_manifest(store);
  StreamLimit limit{manifest.features, 0, 0};
  for (int run = 0; run < repeats; ++run) {
    limit.gather_per_second = std::max(limit.gather_per_second, store_gather_limit(store, manifest.features, budget));
    limit.copies_per_second = std::max(limit.copies_per_second, copy_rate(manifest.nodes, manifest.features, budget));
  }
  return limit;
}

// Selection sampling and shuffling: Knuth, The Art of Computer Programming 2, 3.4.2, algorithms S
// and P.
std::vector<Request> draw_edges(const Contents& contents, std::uint64_t count, std::uint64_t seed) {
  const Graph& graph = contents.graph();
  const std::uint64_t picks = random_key(seed, kPickUse), order = random_key(seed, kOrderUse);
  std::vector<Request> requests;
  requests.reserve(count);
  std::uint64_t left = graph.num_arcs() / 2;  // edges to come
  Graph::BlockBuffer buffer;
  DecodedBlock block;
  for (std::size_t b = 0; b < graph.num_blocks(); ++b) {
    graph.decode(b, buffer, block);
    const NodeId* target = block.targets;
    for (NodeId i = 0; i < block.nodes; ++i)
      for (const NodeId* const end = target + block.counts[i]; target < end; ++target) {
        const NodeId node = block.first + i;
        if (*target < node) continue;  // comes from its other end
        if (bits_below(random_bits(picks, left), left) < count - requests.size())
          requests.push_back({RequestKind::remove_edge, contents.order().user(node), contents.order().user(*target)});
        --left;
      }
  }
  for (std::uint64_t i = count; i > 1; --i) std::swap(requests[i - 1], requests[bits_below(random_bits(order, i), i)]);
  return requests;
}

StreamBench run_bench_stream(const std::filesystem::path& from, const std::filesystem::path& store,
                             const StreamBenchOptions& options, MemoryBudget& budget) {
  const Manifest manifest = read_manifest(from);
  if (UInt128{options.batch} * options.batches > manifest.edges)
    throw UsageError("bench stream: " + std::to_string(options.batches) + " batches of " +
                     std::to_string(options.batch) + " are more than the " + std::to_string(manifest.edges) +
                     " edges; take a larger --scale");
  StreamBench best;
  StreamLimit limit;
  for (int run = 0; run < options.repeats; ++run) {
    remove_tree(store);
    link_store(from, store, budget);
    const StreamLimit now = measure_stream_limit(store, 1, budget);
    limit = {now.columns, std::max(limit.gather_per_second, now.gather_per_second),
             std::max(limit.copies_per_second, now.copies_per_second)};
    StreamBench result = remove_edges(store, options, budget);
    if (run == 0 || result.seconds() < best.seconds()) best = std::move(result);
  }
  best.limit = limit;
  return best;
}

Figures figures_of(const StreamBench& result) {
  Figures figures{{{"bench", "stream"}}, Table({"stream", ""})};
  figures.count("nodes", "nodes", result.nodes);
  figures.count("arcs", "arcs", result.arcs);
  figures.count("features", "features", result.features);
  figures.count("hops", "hops", result.hops);
  figures.count("threads", "threads", result.threads);
  figures.count("batch", "edges of a batch", result.batch);
  figures.json["batch_seconds"] = result.batch_seconds;
  figures.json["plans"] = result.plans;
  for (std::size_t i = 0; i < result.batch_seconds.size(); ++i)
    figures.table.add_row(
        {"batch " + count_text(i + 1) + ": " + result.plans[i], seconds_text(result.batch_seconds[i])});
  figures.seconds("deliver_seconds", "the last level of all of them", result.deliver_seconds);
  figures.seconds("checkpoint_seconds", "checkpoint, not counted", result.checkpoint_seconds);
  figures.count("rows_touched", "rows touched", result.rows_touched);
  figures.count("arcs_visited", "arcs visited", result.arcs_visited);
  figures.seconds("seconds", "all batches and their last level", result.seconds());
  figures.seconds("seconds_per_batch", "a batch, its share of the last level included", result.seconds_per_batch());
  figures.number("arcs_per_second", "arcs visited a second", result.arcs_per_second());
  figures.number("limit_arc_features_per_second", "uncompressed gather on this graph, arc features a second",
                 result.limit.gather_per_second);
  figures.number("limit_rows_per_second", "random rows copied a second", result.limit.copies_per_second);
  figures.seconds("limit_seconds", "limit: these arcs gathered and these rows copied", result.limit_seconds());
  figures.number("limit_arcs_per_second", "arcs a second at the limit", result.limit_per_second());
  figures.number("ratio", "ratio", result.ratio());
  return figures;
}

}  // namespace unweave
