#include "algorithms/propagate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>
#include <string>

#include "algorithms/density.h"
#include "algorithms/propagation_plan.h"
#include "algorithms/state_builder.h"
#include "engine/parallel.h"
#include "storage/error.h"
#include "storage/run_file.h"

namespace unweave {
namespace {

constexpr std::uint64_t kReadRows = std::uint64_t{1} << 16;  // of features, asked for at a time

void check(const LiveStore& store, const PropagationSpec& spec) {
  if (store.manifest().features == 0)
    throw DataError(store.path().string() + ": has no features to propagate; import it with --features");
  if (!(spec.rho >= 0 && spec.rho <= 1)) throw UsageError("--rho must lie between 0 and 1");
  if (spec.scale_bits < 8 || spec.scale_bits > 29) throw UsageError("--scale-bits must lie between 8 and 29");
  if (!spec.all_rows && !store.contents().has_labels())
    throw UsageError("--rows labelled: this store has no labels; use --rows all");
}

constexpr std::size_t kNormRows = 4096;
constexpr int kNormBits = 36;  // |x| sqrt(d) < 2^14.5 (d < 2^29), so that kNormRows terms stay below 2^63

/// Sums of columns of absolute features, each row weighted by sqrt(d) and by 1, in units of 2^-kNormBits: thresholds
/// are contents, which must not depend on the order of the nodes.
template <class Sum>
struct ColumnSums {
  explicit ColumnSums(std::size_t columns = 0) : by_degree(columns), plain(columns) {}
  std::vector<Sum> by_degree, plain;

  template <class Other>
  ColumnSums& operator+=(const ColumnSums<Other>& other) {
    for (std::size_t c = 0; c < plain.size(); ++c) {
      by_degree[c] += other.by_degree[c];
      plain[c] += other.plain[c];
    }
    return *this;
  }
};

ColumnSums<std::int64_t> measure_rows(const Contents& contents, NodeRange rows) {
  const std::uint32_t columns = contents.features().columns();
  constexpr double kUnits = std::int64_t{1} << kNormBits;
  ColumnSums<std::int64_t> sums(columns);
  std::vector<float> x(columns);
  contents.features().read_ahead(rows, 0, columns);
  for (NodeId node = rows.first; node < rows.last; ++node) {
    contents.features().read({node, node + 1}, 0, columns, x.data());
    const double root = std::sqrt(static_cast<double>(contents.graph().degree(node)));
    for (std::uint32_t c = 0; c < columns; ++c) {
      const double magnitude = std::fabs(static_cast<double>(x[c])) * kUnits;
      sums.by_degree[c] += std::llround(root * magnitude);
      sums.plain[c] += std::llround(magnitude);
    }
  }
  return sums;
}

void measure_columns(const Contents& contents, PropagationSpec& spec) {
  const std::uint32_t columns = contents.features().columns();
  ColumnSums<Int128> total(columns);
  std::mutex mutex;
  parallel_ranges(0, contents.num_nodes(), kNormRows, [&](std::size_t first, std::size_t last) {
    const ColumnSums<std::int64_t> part =
        measure_rows(contents, {static_cast<NodeId>(first), static_cast<NodeId>(last)});
    const std::scoped_lock lock(mutex);
    total += part;
  });
  const auto value = [](Int128 sum) { return std::ldexp(static_cast<double>(sum), -kNormBits); };
  spec.column_norms.clear();
  for (const Int128 sum : total.by_degree) spec.column_norms.push_back(value(sum));
  spec.code_norm = value(std::accumulate(total.plain.begin(), total.plain.end(), Int128{0})) / columns;
}

}  // namespace

PropagateReport propagate(LiveStore& store, PropagationSpec spec, MemoryBudget& budget,
                          const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  check(store, spec);
  store.forget_embedding();
  const Contents& contents = store.contents();
  const NodeId nodes = contents.num_nodes();
  const std::uint32_t columns = contents.features().columns();
  measure_columns(contents, spec);

  PropagateReport report;
  std::vector<LevelFiles> files(spec.levels + std::size_t{1});
  if (spec.levels > 0) {
    SweepJob job;
    job.first_level = 1;
    job.last_level = spec.levels;
    job.columns = columns;
    job.scale_bits = spec.scale_bits;
    Reservation masks;
    if (!spec.all_rows) {
      masks = budget.reserve((std::uint64_t{spec.levels} + 1) * (nodes / 8 + 1), "masks of the rows to keep");
      job.wanted =
          backward_cone(contents, spec.levels, [&](std::uint32_t level, std::span<const std::uint32_t> counts) {
            files[level].counts = write_counts(store.path(), level, counts);
          });
    }
    std::uint64_t total = 0;
    for (std::uint32_t l = 0; l < spec.levels; ++l) total += spec.all_rows ? nodes : job.wanted[l].size();
    const DegreePower power(spec.rho);
    job.fill = [&](TileColumns tile, NodeRange rows, std::int32_t* out) {
      const Features& features = contents.features();
      // Fills come in ascending order: at the beginning of a piece, the one after the next is asked for.
      if (rows.first % kReadRows < rows.size()) {
        const std::uint64_t from = rows.first / kReadRows * kReadRows + (rows.first < kReadRows ? 0 : kReadRows);
        const std::uint64_t to = (rows.first / kReadRows + 2) * kReadRows;
        if (from < nodes)
          features.read_ahead({static_cast<NodeId>(from), static_cast<NodeId>(std::min<std::uint64_t>(to, nodes))},
                              static_cast<std::uint32_t>(tile.first), static_cast<std::uint32_t>(tile.count));
      }
      std::vector<float> x(std::size_t{rows.size()} * tile.count);
      features.read(rows, static_cast<std::uint32_t>(tile.first), static_cast<std::uint32_t>(tile.count), x.data());
      for (NodeId node = rows.first; node < rows.last; ++node) {
        const std::size_t at = std::size_t{node - rows.first} * tile.count;
        power.level0({&x[at], tile.count}, contents.graph().degree(node), spec.scale_bits, out + at);
      }
    };
    std::uint64_t done = 0;
    if (progress)
      job.progress = [&](std::uint64_t rows, std::uint64_t tiles) { progress(done += rows, total * tiles); };
    SweepResult result = build_state(store.path(), contents, job, budget);
    for (std::uint32_t l = 1; l <= spec.levels; ++l) files[l].partitions = std::move(result.partitions[l - 1]);
    report.rows = result.rows;
    report.tiles = result.tiles;
    report.tile_width = result.tile_width;
    report.sweep_seconds = result.seconds;
    report.sync_seconds = result.drain_seconds;
    if (result.seconds > 0)
      report.arc_features_per_second =
          static_cast<double>(contents.graph().num_arcs() + nodes) * columns * spec.levels / result.seconds;
  }
  const auto start = std::chrono::steady_clock::now();
  store.commit_propagation(spec, std::move(files));
  report.sync_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace unweave
