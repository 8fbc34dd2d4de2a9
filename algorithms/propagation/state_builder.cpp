// algorithms/propagation/state_builder.cpp - shares memory between tiles and write buffers, and runs the sweep into
// files or memory.
#include "algorithms/propagation/state_builder.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "engine/resources/clock.h"
#include "engine/state/level_image.h"
#include "engine/sweep/graph_stream.h"
#include "engine/sweep/tile_spool.h"
#include "storage/formats/state_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

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

PropagationOptions options_of(const SweepJob& job) {
  PropagationOptions options;
  options.features = job.columns;
  options.hops = static_cast<int>(job.last_level - job.first_level + 1);
  options.scale_bits = static_cast<int>(job.scale_bits);
  options.wanted = job.wanted;
  options.last_lists = job.last_lists;
  return options;
}

/// The rows wanted at level first_level + index, or null for all.
const RowMask* mask_of(const SweepJob& job, std::size_t index) {
  return job.wanted.empty() ? nullptr : &job.wanted[index];
}

/// Rows kept at level first_level + index.
std::uint64_t rows_of(const Contents& contents, const SweepJob& job, std::size_t index) {
  return job.wanted.empty() ? contents.num_nodes() : job.wanted[index].size();
}

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

/// Buffers as suits `written` bytes of sums, unless small ones save passes over the graph, and the tiles that fit beside
/// them. Throws ResourceError.
void share_memory(const BlockSource& source, const PropagationOptions& options, std::uint64_t written,
                  std::uint64_t available, StatePlan& plan) {
  constexpr std::uint64_t kSmall = std::uint64_t{256} << 20;
  const auto tiles_beside = [&](std::uint64_t buffers) {
    return plan_tiles(source, options, available - std::min(available, WriteBuffers::charge(buffers)));
  };
  plan.write_buffers = WriteBuffers::size_for(std::min(written, kSmall), available);
  plan.tiles = tiles_beside(plan.write_buffers);
  const std::uint64_t ample = WriteBuffers::size_for(written, available);
  try {
    const TilePlan tiles = tiles_beside(ample);
    if (tiles.tiles > plan.tiles.tiles) return;
    plan.write_buffers = ample;
    plan.tiles = tiles;
  } catch (const ResourceError&) {
    // The small ones it is.
  }
}

SumCheck check_of(const Contents& contents, const SweepJob& job, MemoryBudget& budget) {
  return {contents.num_nodes(), job.columns, job.last_level - job.first_level + 1, job.wanted, budget, job.first_level};
}

/// The graph; where memory does not hold it beside the tiles, the sweep reads it past the page cache, or lets go of what it
/// has gone through if the budget has no room for that.
BlockSource graph_source(const Contents& contents, const TilePlan& plan, MemoryBudget& budget) {
  const Graph& graph = contents.graph();
  if (plan.memory_bytes() + graph.file_bytes() <= system_memory()) return block_source(graph);
  if (plan.memory_bytes() + GraphStream::bytes(graph) <= budget.available()) return streamed_source(graph, budget);
  BlockSource source = block_source(graph);
  source.forget = [&graph](std::size_t first, std::size_t last) { graph.forget(first, last); };
  return source;
}

/// Runs the sweep and times it without the filling of the first tile.
SweepResult run_sweep(const Contents& contents, const SweepJob& job, PropagationOptions options, SumCheck& check,
                      const TilePlan& plan, MemoryBudget& budget, const LevelSink& sink,
                      const std::function<void()>& finish) {
  const Clock::time_point start = Clock::now();
  options.check = &check;
  SweepResult result;
  result.tiles = plan.tiles;
  result.tile_width = plan.width;
  std::atomic<std::uint64_t> rows_done = 0;
  ProgressMeter meter(job, result.tiles);
  meter.report();  // from this thread: how much there is to do
  const LevelSink counted = [&](int level, TileColumns columns, const SumRows& rows) {
    sink(level, columns, rows);
    rows_done += rows.nodes.size();
    meter.add(rows.nodes.size());
  };
  const double filling =
      propagation_sweep(graph_source(contents, plan, budget), options, plan, budget, job.fill, counted);
  meter.report();
  check.drop_weights();
  finish();
  result.rows = rows_done / std::max<std::uint64_t>(1, result.tiles);
  result.seconds = seconds_since(start) - filling;
  result.fill_seconds = filling;
  return result;
}

}  // namespace

TilePlan plan_in_memory(const Contents& contents, const SweepJob& job, std::uint64_t available) {
  PropagationOptions options = options_of(job);
  options.most_columns = kMostColumns;
  return plan_tiles(block_source(contents.graph()), options, available);
}

SweepResult build_state_in_memory(const Contents& contents, const SweepJob& job, const TilePlan& plan,
                                  std::span<ResidentRows* const> rows, MemoryBudget& budget) {
  const LevelSink sink = [&](int level, TileColumns columns, const SumRows& sums) {
    ResidentRows& out = *rows[static_cast<std::size_t>(level - 1)];
    std::size_t wide = 0;
    for (std::size_t i = 0; i < sums.nodes.size(); ++i) {
      if (wide < sums.wide_nodes.size() && sums.wide_nodes[wide] == i)
        out.put_wide(sums.nodes[i], columns.first, columns.count, sums.wide_sums + wide++ * columns.count);
      else
        out.put(sums.nodes[i], columns.first, columns.count, sums.sums + i * columns.count);
    }
  };
  SumCheck check = check_of(contents, job, budget);
  return run_sweep(contents, job, options_of(job), check, plan, budget, sink, [&] {
    for (ResidentRows* one : rows) one->finish();
  });
}

std::uint64_t StatePlan::buffer_bytes() const {
  return row_bytes + (write_buffers == 0 ? 0 : WriteBuffers::charge(write_buffers));
}

SweepResult sweep_levels(const Contents& contents, const SweepJob& job, const TilePlan& plan, MemoryBudget& budget,
                         const LevelSink& sink, const std::function<void()>& finish) {
  SumCheck check = check_of(contents, job, budget);
  return run_sweep(contents, job, options_of(job), check, plan, budget, sink, finish);
}

TilePlan plan_tiles_of(const Contents& contents, const SweepJob& job, std::uint64_t available) {
  return plan_tiles(block_source(contents.graph()), options_of(job), available);
}

StatePlan plan_state(const Contents& contents, const SweepJob& job, std::uint64_t available) {
  StatePlan plan;
  std::uint64_t largest = 0, written = 0;
  for (std::size_t index = 0; index <= job.last_level - job.first_level; ++index) {
    const std::uint64_t bytes = rows_of(contents, job, index) * job.columns * sizeof(std::int32_t);
    plan.state_bytes += partition_bytes(contents.num_nodes(), job.columns, mask_of(job, index));
    largest = std::max(largest, bytes);
    written += bytes;
  }
  share_memory(block_source(contents.graph()), options_of(job), written, available, plan);
  // The spool of a level is given back when its rows have been put together.
  plan.disk_bytes = plan.tiles.tiles > 1 ? plan.state_bytes + largest : plan.state_bytes;
  plan.spooled_bytes = plan.tiles.tiles > 1 ? written : 0;
  return plan;
}

SweepResult build_state(const std::filesystem::path& store, const Contents& contents, const SweepJob& job,
                        const StatePlan& plan, MemoryBudget& budget) {
  const NodeId nodes = contents.num_nodes();
  PropagationOptions options = options_of(job);
  const std::size_t levels = job.last_level - job.first_level + std::size_t{1};
  SpoolShare share;
  for (std::size_t index = 0; index < levels; ++index) share.all_rows += rows_of(contents, job, index);
  require_disk_room(store, plan.disk_bytes, "the sums", "keep fewer rows (" + option("rows", "labelled") + ")");
  SumCheck check = check_of(contents, job, budget);
  WriteBuffers buffers(plan.write_buffers, budget);
  std::optional<ScatteredWriter> spool;
  if (plan.tiles.tiles > 1) spool.emplace(make_spool(store, plan.spooled_bytes, buffers.queue()));
  // Between the tiles of a spool and the rows put together the queue is empty anyway.
  if (!spool) options.spare = [&](HugeBuffer freed) { buffers.add(std::move(freed)); };
  std::vector<std::unique_ptr<LevelImage>> images;
  std::vector<std::unique_ptr<TileSpool>> tiles;
  for (std::size_t index = 0; index < levels; ++index) {
    const auto level = static_cast<std::uint32_t>(job.first_level + index);
    images.push_back(
        std::make_unique<LevelImage>(store, level, job.columns, nodes, mask_of(job, index), buffers.queue()));
    if (!spool) continue;
    tiles.push_back(
        std::make_unique<TileSpool>(*spool, share, job.columns, plan.tiles.width, nodes, mask_of(job, index)));
    share.rows_before += rows_of(contents, job, index);
  }
  const LevelSink sink = [&](int level, TileColumns columns, const SumRows& rows) {
    const auto index = static_cast<std::size_t>(level - 1);
    if (spool)
      tiles[index]->put(columns.first, rows);
    else
      images[index]->put(rows.nodes, rows.sums, rows.wide_nodes, rows.wide_sums);
  };
  SweepResult result = run_sweep(contents, job, options, check, plan.tiles, budget, sink, [&] {
    if (spool) {
      spool->finish();
      buffers.queue().drain();
    }
    for (std::size_t index = 0; index < tiles.size(); ++index) {
      PartitionSums assembled(nodes, check.key().modulus());
      tiles[index]->assemble(*images[index], {check.key(), assembled}, budget);
      const auto level = static_cast<std::uint32_t>(index + 1);
      if (const std::size_t at = assembled.mismatch(check.all_columns(level)); at < assembled.size())
        throw WrongSums(check.text(level, at) + ": the sums are not those that were put on the disk");
    }
    for (const auto& image : images) image->finish();
  });
  const Clock::time_point summed = Clock::now();
  buffers.queue().drain();
  for (const auto& image : images) result.partitions.push_back(image->publish());
  result.drain_seconds = seconds_since(summed);
  return result;
}

}  // namespace unweave
