// algorithms/propagation/run.cpp - runs and times sweeps, finds what is missing among tiles, and
// has them joined.
#include "algorithms/propagation/run.h"

#include <atomic>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "algorithms/propagation/kept_row_form.h"
#include "algorithms/propagation/row_share.h"
#include "algorithms/propagation/row_sink.h"
#include "algorithms/propagation/tile_writer.h"
#include "engine/resources/clock.h"
#include "engine/state/level_image.h"
#include "engine/sweep/graph_stream.h"
#include "storage/formats/store_layout.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// Reports progress from many threads, one call at a time: a thread that would wait leaves its rows
/// to a later call.
class ProgressMeter {
 public:
  ProgressMeter(const RowMeter& progress, std::uint64_t tiles) : progress_(progress), tiles_(tiles) {}
  void add(std::uint64_t rows) {
    pending_ += rows;
    report();
  }
  /// What is still to be reported. Like add(), it may end the work by what the report throws.
  void report() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock() && progress_) progress_(pending_.exchange(0), tiles_);
  }

 private:
  const RowMeter& progress_;
  std::uint64_t tiles_;
  std::atomic<std::uint64_t> pending_ = 0;
  std::mutex mutex_;
};

/// Hands everything on, and counts it.
class CountingSink final : public LevelSink {
 public:
  CountingSink(LevelSink& to, ProgressMeter& meter) : to_(to), meter_(meter) {}
  void put(std::uint32_t level, TileColumns columns, const SumRows& rows) override {
    to_.put(level, columns, rows);
    rows_ += rows.nodes.size();
    meter_.add(rows.nodes.size());
  }
  void end(std::uint32_t level, TileColumns columns, const LevelProof& proof) override {
    to_.end(level, columns, proof);
  }
  [[nodiscard]] TileFill refill(std::uint32_t level, TileColumns columns) override {
    return to_.refill(level, columns);
  }
  void spare(HugeBuffer memory) override { to_.spare(std::move(memory)); }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_.load(); }

 private:
  LevelSink& to_;
  ProgressMeter& meter_;
  std::atomic<std::uint64_t> rows_ = 0;
};

/// The graph; where memory does not hold it beside the tiles, the sweep reads it past the page
/// cache, or lets go of what it has gone through if the budget has no room for that.
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

std::uint64_t rows_of(const TileForm& form) {
  return std::accumulate(form.rows.begin(), form.rows.end(), std::uint64_t{0});
}

/// Some columns of a job that are summed in one go.
struct TileRun {
  SweepSpec sweep;
  TilePlan tiles;
  LevelSource below;
};

/// What of a range is still to be summed, and how: columns of tiles of which some levels are there,
/// then the gaps between tiles.
std::vector<TileRun> plan_runs(const PropagationJob& job, const std::vector<FinishedTile>& tiles, TileColumns range,
                               std::uint64_t available) {
  std::vector<TileRun> runs;
  const auto add = [&](std::size_t first, std::size_t end) {
    if (first == end) return;
    const SweepSpec part = job.sweep.rest({first, end - first}, 0);
    runs.push_back({part, job.form.plan_part(part, available).require(), job.source});
  };
  for (const TileColumns& gap : missing_columns(tiles, range)) {
    std::size_t at = gap.first;
    const std::size_t end = gap.first + gap.count;
    for (const FinishedTile& tile : tiles) {
      const std::size_t next = tile.columns.first + tile.columns.count;
      if (!tile.can_go_on() || tile.columns.first < at || next > end) continue;
      const std::size_t levels = tile.first_levels();
      const SweepSpec part = job.sweep.rest(tile.columns, levels);
      TilePlan plan = job.form.plan_part(part, available);
      if (!plan.fits() || plan.tiles > 1) continue;
      add(at, tile.columns.first);
      const TileFill fill = fill_from_tile(*tile.levels[levels - 1], job.contents, job.sweep.mask(levels - 1));
      runs.push_back({part, std::move(plan), {fill, job.source.waits}});
      at = next;
    }
    add(at, end);
  }
  return runs;
}

/// Throws ResourceError unless the disk has room for what is still to be written.
void require_room(const PropagationJob& job, const TileFolder* folder, TileUse use) {
  if (use == TileUse::join)
    return require_disk_room(job.store, job.form.joined_bytes(job.plan), job.form.name(), job.more_room);
  const std::vector<FinishedTile> there =
      folder == nullptr ? std::vector<FinishedTile>() : folder->tiles(job.form.tiles());
  std::uint64_t missing = 0;  // columns that no tile has, where there are some tiles
  if (!there.empty())
    for (const TileColumns& gap : missing_columns(there, job.sweep.columns)) missing += gap.count;
  require_disk_room(job.store, job.form.disk_bytes(job.plan, folder == nullptr ? 0 : folder->bytes(), missing),
                    job.form.name(), job.more_room);
}

/// Tiles stay until the embedding is published where the disk has room, so that nothing is lost
/// with who joins them.
TileEnd end_of_tiles(const PropagationJob& job, const TileFolder& folder, TileUse use) {
  if (use == TileUse::join) return TileEnd::stay;
  const std::optional<std::uint64_t> free = free_disk_bytes(job.store);
  return folder.kept() && free && *free >= job.form.joined_bytes(job.plan) ? TileEnd::stay : TileEnd::removed;
}

/// Calls the work again where a tile turns out to be damaged while it is read, once it is dropped:
/// what is missing then is computed anew. A tile that is damaged a second time is an error.
template <class Work>
SweepResult with_sound_tiles(const TileFolder& folder, const Work& work) {
  std::set<std::filesystem::path> dropped;
  while (true) {
    try {
      return work();
    } catch (const TileDamage& damage) {
      if (!dropped.insert(damage.file).second) throw;
      folder.drop(damage);
    }
  }
}

/// All columns at once, into the files of the store.
SweepResult run_to_files(const PropagationJob& job) {
  const std::unique_ptr<FileSink> sink = job.form.to_files(job.store, job.plan, job.budget);
  SweepResult result = run_sweep(job, job.sweep, job.plan.tiles, job.source, job.plan.tiles.tiles, *sink);
  const Clock::time_point summed = Clock::now();
  result.files = sink->name_files();
  result.drain_seconds = seconds_since(summed);
  return result;
}

RankShare own_spans(const PropagationJob& job) {
  return job.sweep.share != nullptr ? job.sweep.share->own_spans() : RankShare{0, num_spans(job.contents.num_nodes())};
}

}  // namespace

SweepResult run_sweep(const PropagationJob& job, const SweepSpec& sweep, const TilePlan& tiles,
                      const LevelSource& below, std::uint64_t all_tiles, LevelSink& sink) {
  const NodeId nodes = job.contents.num_nodes();
  const NodeRange formed = sweep.share != nullptr ? sweep.share->own() : NodeRange{0, nodes};
  SumCheck check(nodes, sweep.columns.first + sweep.columns.count, sweep.levels, sweep.wanted, job.budget,
                 sweep.first_level, formed);
  const Clock::time_point start = Clock::now();
  ProgressMeter meter(job.progress, all_tiles);
  meter.report();  // from this thread: how much there is to do
  CountingSink counted(sink, meter);
  SweepResult result;
  result.tiles = tiles.tiles;
  result.tile_width = tiles.width;
  result.fill_seconds = propagation_sweep(graph_source(job.contents, tiles, job.budget), sweep, tiles, job.budget,
                                          below, counted, &check);
  meter.report();
  check.drop_weights();
  sink.finish();
  result.rows = counted.rows() / std::max<std::uint64_t>(1, result.tiles);
  result.seconds = seconds_since(start) - result.fill_seconds;
  return result;
}

SweepResult run_whole(const PropagationJob& job, const TileFolder* folder, TileUse use) {
  require_room(job, folder, use);
  const TileForm form = job.form.tiles();
  const bool has_tiles = folder != nullptr && !folder->tiles(form).empty();
  SweepResult result;
  if (use == TileUse::join || has_tiles || (job.plan.tiles.tiles > 1 && job.form.joins_tiles())) {
    std::optional<TemporaryTiles> own;
    if (folder == nullptr) folder = &own.emplace(job.store, job.contents.num_nodes()).folder();
    const auto sum_and_join = [&] {
      SweepResult joined;
      if (use == TileUse::sum) joined = run_part(job, *folder, job.sweep.columns);
      const Clock::time_point summed = Clock::now();
      std::vector<FinishedTile> tiles = folder->tiles(form);
      take_norms(job, *folder, tiles);
      joined.count_tiles(tiles, job.sweep.columns);
      joined.files =
          job.form.join(job.store, tiles, own_spans(job), end_of_tiles(job, *folder, use), job.plan, job.budget);
      joined.seconds += seconds_since(summed);
      return joined;
    };
    // Ranks that share rows go over each level together, and none of them can begin anew alone.
    result = job.sweep.share == nullptr ? with_sound_tiles(*folder, sum_and_join) : sum_and_join();
    result.dropped = folder->dropped();
  } else {
    result = run_to_files(job);
  }
  result.rows = rows_of(form);
  return result;
}

namespace {

/// run_part() where no tile turns out to be damaged.
SweepResult sum_part(const PropagationJob& job, const TileFolder& folder, TileColumns range) {
  const TileForm form = job.form.tiles();
  const std::vector<FinishedTile> tiles = folder.tiles(form);
  ColumnNorms* const norms = job.norms;
  for (const FinishedTile& tile : tiles)
    if (norms != nullptr && (tile.is_whole() || tile.can_go_on())) norms->set(tile.columns, tile.levels[0]->norms());
  const std::uint64_t available = job.budget.available();
  const TileMemory memory = job.form.tile_memory(job.plan, available);
  const std::vector<TileRun> runs = plan_runs(job, tiles, range, available - std::min(available, memory.bytes()));
  SweepResult result;
  if (runs.empty()) return result;
  std::uint64_t all_tiles = 0;
  for (const TileRun& run : runs) all_tiles += run.tiles.tiles;
  const Reservation converting = job.budget.reserve(memory.rows, "rows of values");
  WriteBuffers buffers(memory.write_buffers, job.budget);
  TileWriter writer(folder, form, buffers.queue(), [&](TileColumns columns) {
    return norms != nullptr ? norms->bytes(columns) : std::vector<std::byte>(columns.count * kTileNormBytes);
  });
  for (const TileRun& run : runs) {
    // Tiles that do not end where the run does may have told of some of its columns.
    if (norms != nullptr && run.sweep.first_level == job.sweep.first_level) norms->forget(run.sweep.columns);
    const std::unique_ptr<LevelSink> sink = job.form.to_tiles(folder, writer, run.tiles.width, job.plan);
    result.add_run(run_sweep(job, run.sweep, run.tiles, run.below, all_tiles, *sink));
  }
  const Clock::time_point summed = Clock::now();
  writer.publish_all();
  result.seconds += seconds_since(summed);
  return result;
}

}  // namespace

SweepResult run_part(const PropagationJob& job, const TileFolder& folder, TileColumns range) {
  const auto sum = [&] { return sum_part(job, folder, range); };
  return job.sweep.share == nullptr ? with_sound_tiles(folder, sum) : sum();
}

LevelEntries join_spans(const PropagationJob& job, const TileFolder& folder, RankShare spans) {
  while (true) {
    std::vector<FinishedTile> tiles = folder.tiles(job.form.tiles());
    require_tiles(folder, tiles, job.sweep.columns);
    try {
      return job.form.join(job.store, tiles, spans, TileEnd::stay, job.plan, job.budget);
    } catch (const TileDamage& damage) {
      folder.drop(damage);  // nothing is summed here: others join their spans meanwhile, and do not wait
    }
  }
}

void take_norms(const PropagationJob& job, const TileFolder& folder, const std::vector<FinishedTile>& tiles) {
  require_tiles(folder, tiles, job.sweep.columns);
  if (job.norms == nullptr) return;
  for (const FinishedTile* tile : exact_cover(tiles, job.sweep.columns))
    job.norms->set(tile->columns, tile->levels[0]->norms());
}

SweepResult keep_features(const std::filesystem::path& store, const Contents& contents, const PropagationSpec& spec,
                          const StatePlan& plan, MemoryBudget& budget) {
  require_disk_room(store, plan.disk_bytes, "the rows", "keep fewer rows (" + option("rows", "labelled") + ")");
  RowSink sink(store, contents, spec, nullptr, plan, budget);
  SweepResult result;
  sink.put_features();
  const Clock::time_point put = Clock::now();
  result.files = sink.name_files();
  result.drain_seconds = seconds_since(put);
  result.rows = kept_rows_of(contents, spec);
  result.tiles = 1;
  result.tile_width = contents.features().columns();
  return result;
}

}  // namespace unweave
