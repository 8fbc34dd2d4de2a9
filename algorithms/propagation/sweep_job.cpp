// algorithms/propagation/sweep_job.cpp - shares memory between tiles and write buffers, and runs and times sweeps.
#include "algorithms/propagation/sweep_job.h"

#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "algorithms/propagation/row_share.h"
#include "engine/resources/clock.h"
#include "engine/state/level_image.h"
#include "engine/sweep/gather.h"
#include "engine/sweep/graph_stream.h"
#include "engine/sweep/level_tile.h"
#include "storage/formats/state_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"
#include "storage/io/readable_bytes.h"

namespace unweave {
namespace {

// In memory tiles cost nothing to put together, and a decoded graph little. Memory that was never touched before costs
// more than either: with 2^20 nodes x 128 features the first recomputation took 1.2 to 1.8 sweeps with tiles of 64
// columns and 0.9 to 1.4 with tiles of 32; later ones, 0.8 to 1.1, did not differ.
constexpr std::size_t kMostColumns = 32;

/// Reports progress from many threads, one call at a time: a thread that would wait leaves its rows to a later call.
class ProgressMeter {
 public:
  ProgressMeter(const SweepJob& job, std::uint64_t tiles) : job_(job), tiles_(tiles) {}
  void add(std::uint64_t rows) {
    pending_ += rows;
    report();
  }
  /// What is still to be reported. Like add(), it may end the work by what the report throws.
  void report() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock() && job_.progress) job_.progress(pending_.exchange(0), tiles_);
  }

 private:
  const SweepJob& job_;
  std::uint64_t tiles_;
  std::atomic<std::uint64_t> pending_ = 0;
  std::mutex mutex_;
};

/// Bytes of the partitions of a level whose sums all fit 32 bits.
std::uint64_t partition_bytes(NodeId nodes, std::uint32_t columns, const RowMask* wanted) {
  std::uint64_t bytes = 0;
  for (std::size_t span = 0; span < num_spans(nodes); ++span) {
    const NodeRange range = span_range(nodes, span);
    const std::uint64_t rows = wanted == nullptr ? range.size() : wanted->size(range);
    bytes += sealed_file_bytes(StateLayout{range, columns, rows}.bytes(0));
  }
  return bytes;
}

/// Bytes that sums in such tiles move: through files, and from memory, which gives kMemoryRate of them in the time in which
/// a disk gives one.
double moved_bytes(const Contents& contents, const PropagationOptions& options, const TilePlan& plan) {
  constexpr double kMemoryRate = 10;
  constexpr std::size_t kCacheLine = 64;
  const std::size_t row_bytes = plan.width * value_bytes(options.scale_bits);
  const std::size_t fetched = (row_bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  const double pass = static_cast<double>(contents.graph().file_bytes()) +
                      static_cast<double>(contents.graph().num_terms() * fetched) / kMemoryRate;
  const double sums = static_cast<double>(contents.num_nodes() * options.features * sizeof(std::int32_t));
  const double levels = options.hops;
  return static_cast<double>(plan.tiles) * levels * pass + (plan.tiles > 1 ? 2 * levels * sums : 0) +
         (plan.refills ? (levels - 1) * sums : 0);
}

/// Buffers as suits `written` bytes of sums, unless small ones save passes over the graph, and the tiles that fit beside
/// them. Throws ResourceError.
void share_memory(const Contents& contents, const PropagationOptions& options, std::uint64_t written,
                  std::uint64_t available, StatePlan& plan) {
  constexpr std::uint64_t kSmall = std::uint64_t{256} << 20;
  const auto tiles_beside = [&](std::uint64_t buffers) {
    return plan_sum_tiles(contents, options, available - std::min(available, WriteBuffers::charge(buffers)));
  };
  plan.write_buffers = WriteBuffers::size_for(std::min(written, kSmall), available);
  plan.tiles = tiles_beside(plan.write_buffers);
  const std::uint64_t ample = WriteBuffers::size_for(written, available);
  try {
    const TilePlan tiles = tiles_beside(ample);
    if (moved_bytes(contents, options, tiles) > moved_bytes(contents, options, plan.tiles)) return;
    plan.write_buffers = ample;
    plan.tiles = tiles;
  } catch (const ResourceError&) {
    // The ample buffers leave no room for a tile, so the small ones stay.
  }
}

/// The graph; where memory does not hold it beside the tiles, the sweep reads it past the page cache, or lets go of what it
/// has gone through if the budget has no room for that.
BlockSource graph_source(const Contents& contents, const TilePlan& plan, MemoryBudget& budget) {
  const Graph& graph = contents.graph();
  // Features and what is written pass through the page cache beside it.
  const std::uint64_t taken = budget.limit() - budget.available() + plan.memory_bytes();
  if (taken + graph.file_bytes() <= system_memory() / 8 * 7) return block_source(graph);
  if (plan.memory_bytes() + GraphStream::bytes(graph) <= budget.available()) return streamed_source(graph, budget);
  BlockSource source = block_source(graph);
  source.forget = [&graph](std::size_t first, std::size_t last) { graph.forget(first, last); };
  return source;
}

}  // namespace

const RowMask* SweepJob::mask(std::size_t index) const noexcept {
  if (share != nullptr) return &share->mask();
  return wanted.empty() ? nullptr : &wanted[index];
}

std::uint64_t SweepJob::rows(const Contents& contents, std::size_t index) const noexcept {
  const RowMask* const some = mask(index);
  return some == nullptr ? contents.num_nodes() : some->size();
}

PropagationOptions SweepJob::options(std::size_t skip) const {
  PropagationOptions all;
  all.features = columns;
  all.hops = static_cast<int>(levels() - skip);
  all.scale_bits = static_cast<int>(scale_bits);
  all.wanted = std::span(wanted);
  if (!wanted.empty()) all.wanted = all.wanted.subspan(skip);
  all.fill_waits = fill_waits;
  all.last_lists = last_lists;
  all.share = share;
  all.most_columns = most_columns;
  return all;
}

std::uint64_t StatePlan::buffer_bytes() const {
  return row_bytes + (write_buffers == 0 ? 0 : WriteBuffers::charge(write_buffers));
}

TilePlan plan_in_memory(const Contents& contents, const SweepJob& job, std::uint64_t available) {
  PropagationOptions options = job.options();
  options.most_columns = kMostColumns;
  return plan_tiles(block_source(contents.graph()), options, available);
}

TilePlan plan_tiles_of(const Contents& contents, const SweepJob& job, std::uint64_t available) {
  return plan_tiles(block_source(contents.graph()), job.options(), available);
}

TilePlan plan_sum_tiles(const Contents& contents, const PropagationOptions& options, std::uint64_t available) {
  const BlockSource source = block_source(contents.graph());
  if (options.hops < 2 || options.features == 0 || !options.wanted.empty() || options.share != nullptr)
    return plan_tiles(source, options, available);
  PropagationOptions refilled = options;
  refilled.refills = true;
  const TilePlan one = plan_tiles(source, refilled, available);  // takes less memory
  try {
    const TilePlan two = plan_tiles(source, options, available);
    return moved_bytes(contents, options, one) < moved_bytes(contents, options, two) ? one : two;
  } catch (const ResourceError&) {
    return one;
  }
}

StatePlan plan_state(const Contents& contents, const SweepJob& job, std::uint64_t available) {
  StatePlan plan;
  std::uint64_t largest = 0, written = 0;
  for (std::size_t index = 0; index <= job.last_level - job.first_level; ++index) {
    const std::uint64_t bytes = job.rows(contents, index) * job.columns * sizeof(std::int32_t);
    plan.state_bytes += partition_bytes(contents.num_nodes(), job.columns, job.mask(index));
    largest = std::max(largest, bytes);
    written += bytes;
  }
  share_memory(contents, job.options(), written, available, plan);
  if (plan.tiles.tiles > 1) {
    const std::uint64_t join = plan.buffer_bytes() + SumJoin::least_bytes(contents.num_nodes(), job.columns,
                                                                          plan.tiles.tiles, plan.tiles.width);
    if (join > available)
      throw ResourceError("propagation: rows of " + std::to_string(plan.tiles.tiles) + " tiles are put together in " +
                          readable_bytes(join) + " of memory, " + readable_bytes(available) + " available; raise " +
                          option("memory"));
  }
  // The tiles of a level are removed when its rows have been put together.
  plan.disk_bytes = plan.tiles.tiles > 1 ? plan.state_bytes + largest : plan.state_bytes;
  plan.spooled_bytes = plan.tiles.tiles > 1 ? written : 0;
  if (plan.tiles.refills)
    plan.refill_bytes = written - job.rows(contents, job.levels() - 1) * job.columns * sizeof(std::int32_t);
  return plan;
}

SumCheck check_of(const Contents& contents, const SweepJob& job, const PropagationOptions& options,
                  std::uint32_t first_level, MemoryBudget& budget) {
  const NodeRange formed = job.share != nullptr ? job.share->own() : NodeRange{0, contents.num_nodes()};
  return {contents.num_nodes(), job.columns, static_cast<std::uint32_t>(options.hops), options.wanted, budget,
          first_level,          formed};
}
SweepResult run_sweep(const Contents& contents, const SweepJob& job, PropagationOptions options, SumCheck& check,
                      const TilePlan& plan, MemoryBudget& budget, const TileFill& fill, std::uint64_t meter_tiles,
                      const LevelSink& sink, const std::function<void()>& finish) {
  const Clock::time_point start = Clock::now();
  options.check = &check;
  SweepResult result;
  result.tiles = plan.tiles;
  result.tile_width = plan.width;
  std::atomic<std::uint64_t> rows_done = 0;
  ProgressMeter meter(job, meter_tiles);
  meter.report();  // from this thread: how much there is to do
  const LevelSink counted = [&](int level, TileColumns columns, const SumRows& rows) {
    sink(level, columns, rows);
    rows_done += rows.nodes.size();
    meter.add(rows.nodes.size());
  };
  const double filling = propagation_sweep(graph_source(contents, plan, budget), options, plan, budget, fill, counted);
  meter.report();
  check.drop_weights();
  finish();
  result.rows = rows_done / std::max<std::uint64_t>(1, result.tiles);
  result.seconds = seconds_since(start) - filling;
  result.fill_seconds = filling;
  return result;
}

SweepResult sweep_levels(const Contents& contents, const SweepJob& job, const TilePlan& plan, MemoryBudget& budget,
                         const LevelSink& sink, const std::function<void()>& finish) {
  SumCheck check = check_of(contents, job, job.options(), job.first_level, budget);
  return run_sweep(contents, job, job.options(), check, plan, budget, job.fill, plan.tiles, sink, finish);
}

SweepResult sweep_columns(const Contents& contents, const SweepJob& job, const TileRun& run, std::uint64_t all_tiles,
                          MemoryBudget& budget, const LevelSink& sink,
                          const std::function<void(int level, TileColumns, SumCheck&)>& done,
                          const TileRefill& refill) {
  PropagationOptions options = job.options(run.skip);
  options.first_column = run.columns.first;
  options.features = run.columns.count;
  const auto skip = static_cast<std::uint32_t>(run.skip);
  SumCheck check = check_of(contents, job, options, job.first_level + skip, budget);
  const auto level_of = [skip](int level) { return level + static_cast<int>(skip); };
  options.level_done = [&](int level, TileColumns columns) { done(level_of(level), columns, check); };
  if (refill) options.refill = [&](int level, TileColumns columns) { return refill(level_of(level), columns); };
  return run_sweep(
      contents, job, options, check, run.tiles, budget, run.fill, all_tiles,
      [&](int level, TileColumns columns, const SumRows& rows) { sink(level_of(level), columns, rows); }, [] {});
}

}  // namespace unweave
