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

nlohmann::ordered_json to_json(const StreamBench& result) {
  return {{"bench", "stream"},
          {"nodes", result.nodes},
          {"arcs", result.arcs},
          {"features", result.features},
          {"hops", result.hops},
          {"threads", result.threads},
          {"batch", result.batch},
          {"batch_seconds", result.batch_seconds},
          {"plans", result.plans},
          {"deliver_seconds", result.deliver_seconds},
          {"checkpoint_seconds", result.checkpoint_seconds},
          {"rows_touched", result.rows_touched},
          {"arcs_visited", result.arcs_visited},
          {"seconds", result.seconds()},
          {"seconds_per_batch", result.seconds_per_batch()},
          {"arcs_per_second", result.arcs_per_second()},
          {"limit_arc_features_per_second", result.gather_per_second},
          {"limit_rows_per_second", result.copies_per_second},
          {"limit_seconds", result.limit_seconds()},
          {"limit_arcs_per_second", result.limit_per_second()},
          {"ratio", result.ratio()}};
}

Table to_table(const StreamBench& result) {
  Table table({"stream", ""});
  table.add_row({"nodes", count_text(result.nodes)});
  table.add_row({"arcs", count_text(result.arcs)});
  table.add_row({"features", count_text(result.features)});
  table.add_row({"hops", count_text(result.hops)});
  table.add_row({"threads", count_text(result.threads)});
  for (std::size_t i = 0; i < result.batch_seconds.size(); ++i)
    table.add_row({"batch " + count_text(i + 1) + " of " + count_text(result.batch) + " edges: " + result.plans[i],
                   seconds_text(result.batch_seconds[i])});
  table.add_row({"the last level of all of them", seconds_text(result.deliver_seconds)});
  table.add_row({"checkpoint, not counted", seconds_text(result.checkpoint_seconds)});
  table.add_row({"rows touched", count_text(result.rows_touched)});
  table.add_row({"arcs visited", count_text(result.arcs_visited)});
  table.add_row({"a batch, its share of the last level included", seconds_text(result.seconds_per_batch())});
  table.add_row({"arcs visited a second", number_text(result.arcs_per_second())});
  table.add_row({"uncompressed gather on this graph, arc features a second", number_text(result.gather_per_second)});
  table.add_row({"random rows copied a second", number_text(result.copies_per_second)});
  table.add_row({"limit: these arcs gathered and these rows copied", seconds_text(result.limit_seconds())});
  table.add_row({"arcs a second at the limit", number_text(result.limit_per_second())});
  table.add_row({"ratio", number_text(result.ratio())});
  return table;
}

}  // namespace unweave
