#include "algorithms/propagate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "algorithms/density.h"
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

/// Sums of columns of absolute features, each row weighted by sqrt(d) and by 1.
struct ColumnSums {
  std::vector<double> by_degree, plain;

  ColumnSums& operator+=(const ColumnSums& other) {
    for (std::size_t c = 0; c < plain.size(); ++c) {
      by_degree[c] += other.by_degree[c];
      plain[c] += other.plain[c];
    }
    return *this;
  }
};

void measure_columns(const Contents& contents, PropagationSpec& spec) {
  constexpr std::size_t kRows = 4096;
  const std::uint32_t columns = contents.features().columns();
  const ColumnSums zero{std::vector<double>(columns), std::vector<double>(columns)};
  const std::size_t batches = (std::size_t{contents.num_nodes()} + kRows - 1) / kRows;
  // Partial sums of a bounded number of blocks at a time, always added in order.
  constexpr std::size_t kGroup = 256;
  ColumnSums total = zero;
  for (std::size_t group = 0; group < batches; group += kGroup) {
    const std::size_t first_row = group * kRows;
    const std::size_t rows = std::min<std::size_t>(contents.num_nodes() - first_row, kGroup * kRows);
    total = ordered_sum(rows, kRows, total, [&](std::size_t first, std::size_t last) {
      ColumnSums part = zero;
      std::vector<float> x(columns);
      contents.features().read_ahead({static_cast<NodeId>(first_row + first), static_cast<NodeId>(first_row + last)}, 0,
                                     columns);
      for (std::size_t row = first_row + first; row < first_row + last; ++row) {
        const auto node = static_cast<NodeId>(row);
        contents.features().read({node, node + 1}, 0, columns, x.data());
        const double root = std::sqrt(static_cast<double>(contents.graph().degree(node)));
        for (std::uint32_t c = 0; c < columns; ++c) {
          const double magnitude = std::fabs(static_cast<double>(x[c]));
          part.by_degree[c] += root * magnitude;
          part.plain[c] += magnitude;
        }
      }
      return part;
    });
  }
  spec.column_norms = total.by_degree;
  spec.code_norm = 0;
  for (const double sum : total.plain) spec.code_norm += sum / columns;
}

/// Rows kept at levels 1..L, as masks [level - 1], and the reference counts of the levels below L.
std::vector<RowMask> backward_cone(const LiveStore& store, std::uint32_t levels, std::vector<LevelFiles>& files) {
  const Contents& contents = store.contents();
  const NodeId nodes = contents.num_nodes();
  std::vector<RowMask> masks(levels, RowMask(nodes));
  std::vector<bool> readers(nodes);
  for (NodeId node = 0; node < nodes; ++node) {
    readers[node] = contents.label(node) != kNoLabel;
    if (readers[node]) masks[levels - 1].insert(node);
  }
  for (std::uint32_t level = levels - 1; level >= 1; --level) {
    const std::vector<std::uint32_t> counts = count_readers(contents, readers);
    files[level].counts = write_counts(store.path(), level, counts);
    for (NodeId node = 0; node < nodes; ++node) {
      readers[node] = counts[node] > 0;
      if (readers[node]) masks[level - 1].insert(node);
    }
  }
  return masks;
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
    if (!spec.all_rows) job.wanted = backward_cone(store, spec.levels, files);
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
