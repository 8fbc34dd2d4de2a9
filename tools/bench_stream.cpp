#include "tools/bench_stream.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>

#include "algorithms/counter_random.h"
#include "algorithms/live_store.h"
#include "algorithms/permutation.h"
#include "algorithms/propagate.h"
#include "algorithms/rmat.h"
#include "engine/clock.h"
#include "engine/parallel.h"
#include "storage/error.h"
#include "tools/bench_propagate.h"

namespace unweave {
namespace {

constexpr std::uint64_t kCopyBytes = std::uint64_t{1} << 28;  // far more than any cache holds
constexpr std::uint64_t kDrawUse = 21;                        // of the seed, for the draw
constexpr std::uint64_t kFromUse = 22, kToUse = 23;           // for the places of rows

/// Distinct edges of the graph, drawn uniformly from those that were drawn for it.
class EdgeDraw {
 public:
  explicit EdgeDraw(const StreamBenchOptions& options)
      : options_(options), edges_(options.edge_factor << options.scale), key_(random_key(options.seed, kDrawUse)) {}

  std::vector<Request> next_batch() {
    std::vector<Request> batch;
    while (batch.size() < options_.batch) {
      const std::uint64_t index = bits_below(random_bits(key_, drawn_++), edges_);
      Edge edge = rmat_edge(options_.seed, index, options_.scale);
      if (edge.u > edge.v) std::swap(edge.u, edge.v);
      if (edge.u != edge.v && seen_.insert(edge).second) batch.push_back({RequestKind::remove_edge, edge.u, edge.v});
    }
    return batch;
  }

 private:
  const StreamBenchOptions& options_;
  std::uint64_t edges_;
  std::uint64_t key_;
  std::uint64_t drawn_ = 0;
  std::set<Edge> seen_;
};

struct Place {
  std::uint32_t from = 0, to = 0;
};

/// Rows of `columns` 32-bit sums copied a second, on all threads.
double copy_rate(NodeId nodes, std::uint32_t columns, int repeats, MemoryBudget& budget) {
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
  double seconds = std::numeric_limits<double>::max();
  for (int run = 0; run <= repeats; ++run) {
    const Clock::time_point start = Clock::now();
    parallel_ranges(0, rows, 1024, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        std::memcpy(to.data() + places[i].to * row_bytes, from.data() + places[i].from * row_bytes, row_bytes);
    });
    if (run > 0) seconds = std::min(seconds, seconds_since(start));  // the first run commits the pages
  }
  return static_cast<double>(rows) / seconds;
}

std::string plan_text(const UpdateReport& report) {
  std::string text;
  for (const std::string& level : report.plan) text += (text.empty() ? "" : " ") + level;
  return text;
}

void remove_edges(const std::filesystem::path& store, const StreamBenchOptions& options, MemoryBudget& budget,
                  StreamBench& result) {
  LiveStore live(store, Access::write, budget);
  result.nodes = live.manifest().nodes;
  result.arcs = live.contents().graph().num_arcs();
  result.features = live.manifest().features;
  // Few draws meet an edge that was drawn before, as long as most edges stay.
  if (UInt128{options.batch} * options.batches > result.arcs / 4)
    throw UsageError("bench stream: " + std::to_string(options.batches) + " batches of " +
                     std::to_string(options.batch) + " are more than half of the " + std::to_string(result.arcs / 2) +
                     " edges; take a larger --scale");
  static_cast<void>(propagate(live, bench_spec(options.hops), budget, {}));
  EdgeDraw draw(options);
  const auto count = [&](const UpdateReport& update) {
    result.rows_touched += update.rows_touched;
    result.arcs_visited += update.arcs_visited;
  };
  for (std::uint64_t i = 0; i < options.batches; ++i) {
    const std::vector<Request> requests = draw.next_batch();
    const Clock::time_point start = Clock::now();
    const BatchReport report = live.apply(requests, live.resolve(requests), {}, LastLevel::deferred);
    result.batch_seconds.push_back(seconds_since(start));
    result.plans.push_back(plan_text(report.update));
    count(report.update);
  }
  const Clock::time_point last = Clock::now();
  count(live.deliver());
  result.deliver_seconds = seconds_since(last);
  const Clock::time_point end = Clock::now();
  live.checkpoint();
  result.checkpoint_seconds = seconds_since(end);
}

}  // namespace

double StreamBench::seconds() const {
  return std::accumulate(batch_seconds.begin(), batch_seconds.end(), deliver_seconds);
}

double StreamBench::limit_seconds() const {
  return static_cast<double>(arcs_visited) * static_cast<double>(features) / gather_per_second +
         static_cast<double>(rows_touched) / copies_per_second;
}

StreamBench run_bench_stream(const std::filesystem::path& store, const StreamBenchOptions& options,
                             MemoryBudget& budget) {
  StreamBench result;
  result.hops = options.hops;
  result.batch = options.batch;
  result.threads = active_threads();
  remove_edges(store, options, budget, result);
  result.gather_per_second = store_gather_limit(store, result.features, options.repeats, budget);
  result.copies_per_second = copy_rate(result.nodes, result.features, options.repeats, budget);
  return result;
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
                 result.gather_per_second);
  figures.number("limit_rows_per_second", "random rows copied a second", result.copies_per_second);
  figures.seconds("limit_seconds", "limit: these arcs gathered and these rows copied", result.limit_seconds());
  figures.number("limit_arcs_per_second", "arcs a second at the limit", result.limit_per_second());
  figures.number("ratio", "ratio", result.ratio());
  return figures;
}

}  // namespace unweave
