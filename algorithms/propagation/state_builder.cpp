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

#include "algorithms/propagation/density.h"
#include "algorithms/propagation/row_share.h"
#include "engine/resources/clock.h"
#include "engine/state/level_image.h"
#include "engine/sweep/graph_stream.h"
#include "engine/sweep/level_tile.h"
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

/// Those of a job without its first `skip` levels.
PropagationOptions options_of(const SweepJob& job, std::size_t skip = 0) {
  PropagationOptions options;
  options.features = job.columns;
  options.hops = static_cast<int>(job.last_level - job.first_level + 1 - skip);
  options.scale_bits = static_cast<int>(job.scale_bits);
  options.wanted = std::span(job.wanted);
  if (!job.wanted.empty()) options.wanted = options.wanted.subspan(skip);
  options.last_lists = job.last_lists;
  options.share = job.share;
  options.most_columns = job.most_columns;
  return options;
}

std::size_t levels_of(const SweepJob& job) {
  return job.last_level - job.first_level + std::size_t{1};
}

/// The rows wanted at level first_level + index, or null for all.
const RowMask* mask_of(const SweepJob& job, std::size_t index) {
  if (job.share != nullptr) return &job.share->mask();
  return job.wanted.empty() ? nullptr : &job.wanted[index];
}

/// Rows kept at level first_level + index.
std::uint64_t rows_of(const Contents& contents, const SweepJob& job, std::size_t index) {
  const RowMask* const mask = mask_of(job, index);
  return mask == nullptr ? contents.num_nodes() : mask->size();
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

/// The check of sums of so many levels, the first of which has this number.
SumCheck check_of(const Contents& contents, const SweepJob& job, const PropagationOptions& options,
                  std::uint32_t first_level, MemoryBudget& budget) {
  const NodeRange formed = job.share != nullptr ? job.share->own() : NodeRange{0, contents.num_nodes()};
  return {contents.num_nodes(), job.columns, static_cast<std::uint32_t>(options.hops), options.wanted, budget,
          first_level,          formed};
}
SumCheck check_of(const Contents& contents, const SweepJob& job, MemoryBudget& budget) {
  return check_of(contents, job, options_of(job), job.first_level, budget);
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

/// Runs the sweep and times it without the filling of the first tile.
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
  return run_sweep(contents, job, options_of(job), check, plan, budget, job.fill, plan.tiles, sink, [&] {
    for (ResidentRows* one : rows) one->finish();
  });
}

std::uint64_t StatePlan::buffer_bytes() const {
  return row_bytes + (write_buffers == 0 ? 0 : WriteBuffers::charge(write_buffers));
}

SweepResult sweep_levels(const Contents& contents, const SweepJob& job, const TilePlan& plan, MemoryBudget& budget,
                         const LevelSink& sink, const std::function<void()>& finish) {
  SumCheck check = check_of(contents, job, budget);
  return run_sweep(contents, job, options_of(job), check, plan, budget, job.fill, plan.tiles, sink, finish);
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
  // The tiles of a level are removed when its rows have been put together.
  plan.disk_bytes = plan.tiles.tiles > 1 ? plan.state_bytes + largest : plan.state_bytes;
  plan.spooled_bytes = plan.tiles.tiles > 1 ? written : 0;
  return plan;
}

SweepResult sweep_columns(const Contents& contents, const SweepJob& job, const TileRun& run, std::uint64_t all_tiles,
                          MemoryBudget& budget, const LevelSink& sink,
                          const std::function<void(int level, TileColumns, SumCheck&)>& done) {
  PropagationOptions options = options_of(job, run.skip);
  options.first_column = run.columns.first;
  options.features = run.columns.count;
  const auto skip = static_cast<std::uint32_t>(run.skip);
  SumCheck check = check_of(contents, job, options, job.first_level + skip, budget);
  const auto level_of = [skip](int level) { return level + static_cast<int>(skip); };
  options.level_done = [&](int level, TileColumns columns) { done(level_of(level), columns, check); };
  return run_sweep(
      contents, job, options, check, run.tiles, budget, run.fill, all_tiles,
      [&](int level, TileColumns columns, const SumRows& rows) { sink(level_of(level), columns, rows); }, [] {});
}

TileForm sums_form(const Contents& contents, const SweepJob& job, std::size_t skip) {
  TileForm form;
  for (std::size_t index = skip; index < levels_of(job); ++index) {
    form.levels.push_back(job.first_level + static_cast<std::uint32_t>(index));
    form.rows.push_back(rows_of(contents, job, index));
  }
  return form;
}

std::vector<TileRun> plan_runs(const Contents& contents, const SweepJob& job, const TileStart& start,
                               std::span<const FinishedTile> tiles, TileColumns range, const TilePlan& whole,
                               std::uint64_t available) {
  const BlockSource source = block_source(contents.graph());
  std::vector<TileRun> runs;
  const auto plan_of = [&](TileColumns columns, std::size_t skip) {
    PropagationOptions options = options_of(job, skip);
    options.first_column = columns.first;
    options.features = columns.count;
    return plan_tiles(source, options, available);
  };
  const auto add = [&](std::size_t first, std::size_t end) {
    const TileColumns columns{first, end - first};
    if (columns.count == job.columns)
      runs.push_back({columns, whole, start.skip, start.fill});
    else if (columns.count > 0)
      runs.push_back({columns, plan_of(columns, start.skip), start.skip, start.fill});
  };
  for (const TileColumns& gap : missing_columns(tiles, range)) {
    std::size_t at = gap.first;
    const std::size_t end = gap.first + gap.count;
    for (const FinishedTile& tile : tiles) {
      const std::size_t levels = tile.first_levels(), next = tile.columns.first + tile.columns.count;
      if (levels == 0 || tile.is_whole() || tile.columns.first < at || next > end) continue;
      const TileFile& last = *tile.levels[levels - 1];
      if (last.proof().empty()) continue;  // values of kept rows: the sums of which they were made are gone
      const std::size_t skip = start.skip + levels;
      const TilePlan plan = plan_of(tile.columns, skip);
      if (plan.tiles > 1) continue;
      add(at, tile.columns.first);
      runs.push_back({tile.columns, plan, skip, fill_from_tile(last, contents, mask_of(job, skip - 1))});
      at = next;
    }
    add(at, end);
  }
  return runs;
}

SweepResult sum_tiles(const TileFolder& folder, const Contents& contents, const SweepJob& job, const TileStart& start,
                      TileColumns range, const StatePlan& plan, MemoryBudget& budget, ColumnNorms* norms) {
  const TileForm form = sums_form(contents, job, start.skip);
  const std::vector<FinishedTile> tiles = folder.tiles(form);
  SweepResult result;
  for (const FinishedTile& tile : tiles)
    if (norms != nullptr && tile.first_levels() > 0) norms->set(tile.columns, tile.levels[0]->norms());
  const std::uint64_t buffer_bytes = WriteBuffers::charge(plan.write_buffers);
  const std::vector<TileRun> runs = plan_runs(contents, job, start, tiles, range, plan.tiles,
                                              budget.available() - std::min(budget.available(), buffer_bytes));
  if (runs.empty()) return result;
  std::uint64_t all_tiles = 0;
  for (const TileRun& run : runs) all_tiles += run.tiles.tiles;
  WriteBuffers buffers(plan.write_buffers, budget);
  std::vector<WantedRanks> ranks;
  for (std::size_t index = 0; index < levels_of(job); ++index)
    ranks.emplace_back(contents.num_nodes(), mask_of(job, index));
  TileWriter writer(folder, form, buffers.queue(), [&](TileColumns columns) {
    return norms != nullptr ? norms->bytes(columns) : std::vector<std::byte>(columns.count * kTileNormBytes);
  });
  for (const TileRun& run : runs) {
    // Tiles that do not end where the run does may have told of some of its columns.
    if (norms != nullptr && run.skip == 0) norms->forget(run.columns);
    const SweepResult one = sweep_columns(
        contents, job, run, all_tiles, budget,
        [&](int level, TileColumns columns, const SumRows& rows) {
          const auto index = static_cast<std::size_t>(level - 1);
          put_sums(writer.at(index - start.skip, columns), ranks[index], rows);
          writer.publish_written();
        },
        [&](int level, TileColumns columns, SumCheck& check) {
          const auto index = static_cast<std::size_t>(level - 1);
          const PartitionSums& residues = check.sums(static_cast<std::uint32_t>(index + 1 - run.skip));
          writer.finish(index - start.skip, columns, proof_of(check.key(), columns.first, columns.count, residues));
        });
    result.add_run(one);
  }
  const Clock::time_point summed = Clock::now();
  writer.publish_all();
  result.seconds += seconds_since(summed);
  return result;
}

void require_tiles(const TileFolder& folder, std::span<const FinishedTile> tiles, TileColumns all) {
  if (!exact_cover(tiles, all).empty()) return;
  std::string missing;
  std::size_t covered = all.first;  // by any whole tile
  bool is_gap = false;
  for (const FinishedTile& tile : tiles) {
    if (!tile.is_whole()) continue;
    is_gap |= tile.columns.first > covered;
    covered = std::max(covered, tile.columns.first + tile.columns.count);
  }
  is_gap |= covered < all.first + all.count;
  for (const TileColumns& gap : missing_columns(tiles, all))
    missing +=
        (missing.empty() ? "" : ", ") + std::to_string(gap.first) + " to " + std::to_string(gap.first + gap.count - 1);
  if (is_gap)
    throw DataError(folder.path().string() + ": tiles of the columns " + missing +
                    " are missing; run the jobs that make them, then give the command again");
  throw DataError(folder.path().string() +
                  ": its tiles overlap, and none of them begins where another one ends, before the columns " + missing +
                  "; run the jobs of one number of tiles again, or remove the tiles of another number");
}

namespace {

/// Normalised sums of a level from its partitions.
class PartitionFill {
 public:
  PartitionFill(const std::filesystem::path& folder, const std::vector<FileEntry>& entries, std::uint32_t level,
                std::uint32_t columns, const Contents& contents)
      : contents_(contents) {
    for (std::size_t span = 0; span < entries.size(); ++span)
      partitions_.emplace_back(folder, entries[span], level, span_range(contents.num_nodes(), span), columns);
  }
  void operator()(TileColumns columns, NodeRange rows, std::int32_t* out) const {
    const auto width = static_cast<std::uint32_t>(columns.count);
    for (NodeId node = rows.first; node < rows.last; ++node, out += width) {
      const StatePartition& partition = partitions_[node / span_nodes(contents_.num_nodes())];
      if (node == rows.first) partition.read_ahead({node, std::min(rows.last, partition.range().last)});
      StateRow sums = partition.row(node);
      if (!sums.exists()) {
        std::fill_n(out, width, 0);
        continue;
      }
      if (sums.narrow != nullptr) sums.narrow += columns.first;
      if (sums.wide != nullptr) sums.wide += columns.first;
      density_from_sums(sums, width, contents_.graph().degree(node), out);
    }
  }

 private:
  const Contents& contents_;
  std::vector<StatePartition> partitions_;
};

/// What becomes of tiles that were joined.
enum class TileEnd { stay, removed };

/// In the place of a partition that another rank makes: nothing is to be done here.
constexpr const char* kOfOthers = "of another rank";
void leave_to_others(std::vector<FileEntry>& kept, RankShare own) {
  for (std::size_t span = 0; span < kept.size(); ++span)
    if (span < own.begin || span >= own.end) kept[span].path = kOfOthers;
}

/// What is built, and where.
struct StateBuild {
  const std::filesystem::path& store;  ///< or the folder, where parts are kept
  const Contents& contents;
  const SweepJob& job;
  const StatePlan& plan;
  MemoryBudget& budget;
  const TileFolder* folder;                  ///< null: nothing is kept
  std::vector<std::vector<FileEntry>> kept;  ///< partitions that are there, by level and span

  [[nodiscard]] bool is_whole(std::size_t index) const {
    return std::all_of(kept[index].begin(), kept[index].end(), [](const FileEntry& one) { return !one.path.empty(); });
  }
  [[nodiscard]] bool is_empty(std::size_t index) const {
    return std::all_of(kept[index].begin(), kept[index].end(),
                       [](const FileEntry& one) { return one.path.empty() || one.path == kOfOthers; });
  }
  /// The first level that lacks a partition.
  [[nodiscard]] std::size_t first() const {
    std::size_t index = 0;
    while (index < kept.size() && is_whole(index)) ++index;
    return index;
  }
  [[nodiscard]] std::unique_ptr<LevelImage> image(std::size_t index, WriteBehind& queue) const {
    return std::make_unique<LevelImage>(store, job.first_level + static_cast<std::uint32_t>(index), job.columns,
                                        contents.num_nodes(), mask_of(job, index), queue, kept[index]);
  }
  /// Normalised sums of the level before the one at `index`.
  [[nodiscard]] TileFill fill(std::size_t index) const {
    if (index == 0) return job.fill;
    const auto partitions = std::make_shared<PartitionFill>(
        store, kept[index - 1], job.first_level + static_cast<std::uint32_t>(index) - 1, job.columns, contents);
    return [partitions](TileColumns columns, NodeRange rows, std::int32_t* out) { (*partitions)(columns, rows, out); };
  }
  void finish(std::size_t index, LevelImage& image, WriteBehind& queue) {
    image.finish();
    queue.drain();
    if (folder != nullptr) image.publish_written();
    kept[index] = image.publish();
  }
};

/// Sums all columns at once, from the level at `first` on, into partitions.
SweepResult sum_partitions(StateBuild& build, std::size_t first, WriteBuffers& buffers) {
  const SweepJob& job = build.job;
  PropagationOptions options = options_of(job, first);
  SumCheck check =
      check_of(build.contents, job, options, job.first_level + static_cast<std::uint32_t>(first), build.budget);
  options.spare = [&](HugeBuffer freed) { buffers.add(std::move(freed)); };
  std::vector<std::unique_ptr<LevelImage>> images;
  for (std::size_t index = first; index < levels_of(job); ++index)
    images.push_back(build.image(index, buffers.queue()));
  PublishMoments moments;
  const LevelSink sink = [&](int level, TileColumns, const SumRows& rows) {
    images[static_cast<std::size_t>(level - 1)]->put(rows.nodes, rows.sums, rows.wide_nodes, rows.wide_sums);
    if (build.folder == nullptr || !moments.passed()) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(level); ++i) images[i]->publish_written();
  };
  SweepResult result =
      run_sweep(build.contents, job, options, check, build.plan.tiles, build.budget, build.fill(first), 1, sink, [&] {
        for (const auto& image : images) image->finish();
      });
  const Clock::time_point summed = Clock::now();
  for (std::size_t index = first; index < levels_of(job); ++index)
    build.finish(index, *images[index - first], buffers.queue());
  result.drain_seconds = seconds_since(summed);
  return result;
}

/// Sums the rows of the level at `index` whose partitions are not there. Nothing where memory has not the room to take all columns at once.
bool sum_missing_rows(StateBuild& build, std::size_t index, WriteBuffers& buffers, SweepResult& result) {
  const NodeId nodes = build.contents.num_nodes();
  const Reservation memory = build.budget.reserve(RowMask::bytes(nodes), "masks of the rows to keep");
  const RowMask* const wanted = mask_of(build.job, index);
  RowMask missing(nodes);
  for (NodeId node = 0; node < nodes; ++node)
    if (build.kept[index][node / span_nodes(nodes)].path.empty() && (wanted == nullptr || wanted->contains(node)))
      missing.insert(node);
  PropagationOptions options = options_of(build.job, index);
  options.hops = 1;
  options.wanted = std::span(&missing, 1);
  if (index + 1 < levels_of(build.job)) options.last_lists = nullptr;
  const TilePlan tiles = plan_tiles(block_source(build.contents.graph()), options, build.budget.available());
  if (tiles.tiles > 1) return false;
  const std::unique_ptr<LevelImage> image = build.image(index, buffers.queue());
  SumCheck check = check_of(build.contents, build.job, options,
                            build.job.first_level + static_cast<std::uint32_t>(index), build.budget);
  PublishMoments moments;
  const SweepResult one = run_sweep(
      build.contents, build.job, options, check, tiles, build.budget, build.fill(index), 1,
      [&](int, TileColumns, const SumRows& rows) {
        image->put(rows.nodes, rows.sums, rows.wide_nodes, rows.wide_sums);
        if (moments.passed()) image->publish_written();
      },
      [] {});
  build.finish(index, *image, buffers.queue());
  result.rows += one.rows;
  result.seconds += one.seconds;
  result.fill_seconds += one.fill_seconds;
  return true;
}

/// All columns pass in one tile: partitions are written as they are summed.
SweepResult build_partitions(StateBuild& build) {
  WriteBuffers buffers(build.plan.write_buffers, build.budget);
  SweepResult result;
  result.tiles = 1;
  result.tile_width = build.job.columns;
  std::size_t first = build.first();
  if (first < levels_of(build.job) && !build.is_empty(first) && sum_missing_rows(build, first, buffers, result))
    ++first;
  if (first == levels_of(build.job)) return result;
  const SweepResult rest = sum_partitions(build, first, buffers);
  result.rows += rest.rows;
  result.tile_width = rest.tile_width;
  result.seconds += rest.seconds;
  result.fill_seconds += rest.fill_seconds;
  result.drain_seconds = rest.drain_seconds;
  return result;
}

/// Joins the tiles of the levels that lack partitions.
void join_levels(StateBuild& build, const TileForm& form, std::span<const FinishedTile* const> cover, TileEnd end) {
  constexpr std::size_t kGroups = 16;  // a kill loses about one of them
  WriteBuffers buffers(build.plan.write_buffers, build.budget);
  const NodeId nodes = build.contents.num_nodes();
  const std::size_t spans = num_spans(nodes), step = std::max<std::size_t>(1, spans / kGroups);
  for (std::size_t i = 0; i < form.levels.size(); ++i) {
    const std::size_t index = form.levels[i] - build.job.first_level;
    std::vector<const TileFile*> tiles;
    for (const FinishedTile* tile : cover) tiles.push_back(tile->levels[i].get());
    if (!build.is_whole(index)) {
      const std::unique_ptr<LevelImage> image = build.image(index, buffers.queue());
      SumJoin join(tiles, nodes, mask_of(build.job, index), build.budget);
      for (std::size_t span = 0; span < spans; span += step) {
        const std::size_t last = std::min(spans, span + step);
        const auto& kept = build.kept[index];
        if (std::all_of(kept.begin() + static_cast<std::ptrdiff_t>(span),
                        kept.begin() + static_cast<std::ptrdiff_t>(last),
                        [](const FileEntry& one) { return !one.path.empty(); }))
          continue;
        join.join(span, last, *image, build.budget);
        if (build.folder != nullptr) image->publish_written();
      }
      build.finish(index, *image, buffers.queue());
    }
    if (end == TileEnd::stay) continue;
    std::error_code ignored;
    for (const TileFile* tile : tiles) std::filesystem::remove(tile->path(), ignored);
  }
}

std::uint64_t bytes_in(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code ignored;
  for (const auto& item : std::filesystem::recursive_directory_iterator(folder, ignored))
    if (item.is_regular_file(ignored)) bytes += item.file_size(ignored);
  return bytes;
}

/// Partitions that were kept become files of the store; until it names them the folder has them too, so that nothing is lost
/// where a process is killed in between. A file of that name that is there is the same one.
void link_partitions(const std::filesystem::path& folder, const std::filesystem::path& store,
                     const std::vector<std::vector<FileEntry>>& levels) {
  std::error_code error;
  for (const std::vector<FileEntry>& level : levels)
    for (const FileEntry& entry : level) {
      const std::filesystem::path to = store / entry.path;
      make_folders(to.parent_path());
      std::filesystem::create_hard_link(folder / entry.path, to, error);
      if (!error || std::filesystem::exists(to)) continue;
      std::filesystem::rename(folder / entry.path, to, error);  // a file system without links
      if (error) throw_system_error("rename", folder / entry.path, error.value());
    }
}

}  // namespace

void join_spans(const TileFolder& folder, const Contents& contents, const SweepJob& job, const StatePlan& plan,
                RankShare spans, MemoryBudget& budget) {
  StateBuild build{folder.path(), contents, job, plan, budget, &folder, {}};
  for (std::uint32_t level = job.first_level; level <= job.last_level; ++level)
    leave_to_others(build.kept.emplace_back(folder.partitions(level, job.columns)), spans);
  const TileForm form = sums_form(contents, job);
  const std::vector<FinishedTile> tiles = folder.tiles(form);
  const TileColumns all{0, job.columns};
  require_tiles(folder, tiles, all);
  join_levels(build, form, exact_cover(tiles, all), TileEnd::stay);
}

SweepResult build_state(const std::filesystem::path& store, const Contents& contents, const SweepJob& job,
                        const StatePlan& plan, MemoryBudget& budget, const TileFolder* folder, TileUse use,
                        ColumnNorms* norms) {
  const std::uint64_t there = folder == nullptr ? 0 : bytes_in(folder->path());
  require_disk_room(store, plan.disk_bytes - std::min(there, plan.disk_bytes), "the sums",
                    "keep fewer rows (" + option("rows", "labelled") + ")");
  std::optional<TemporaryTiles> own;
  if (folder == nullptr && plan.tiles.tiles > 1) own.emplace(store, contents.num_nodes());
  const TileFolder* const tile_folder = own ? &own->folder() : folder;
  StateBuild build{folder == nullptr ? store : folder->path(), contents, job, plan, budget, folder, {}};
  for (std::uint32_t level = job.first_level; level <= job.last_level; ++level)
    build.kept.push_back(folder == nullptr ? std::vector<FileEntry>(num_spans(contents.num_nodes()))
                                           : folder->partitions(level, job.columns));
  if (job.share != nullptr)
    for (std::vector<FileEntry>& kept : build.kept) leave_to_others(kept, job.share->own_spans());
  const TileColumns all{0, job.columns};
  std::size_t first = build.first();
  // Where ranks have joined the partitions, tiles are all there still, and know the norms.
  if (use == TileUse::join && !exact_cover(folder->tiles(sums_form(contents, job)), all).empty()) first = 0;
  const TileForm form = sums_form(contents, job, first);
  SweepResult result;
  const bool joins =
      use == TileUse::join || plan.tiles.tiles > 1 || (tile_folder != nullptr && !tile_folder->tiles(form).empty());
  if (first < levels_of(job) && joins) {
    if (use == TileUse::sum)
      result = sum_tiles(*tile_folder, contents, job, {first, build.fill(first)}, all, plan, budget, norms);
    const Clock::time_point summed = Clock::now();
    const std::vector<FinishedTile> tiles = tile_folder->tiles(form);
    require_tiles(*tile_folder, tiles, all);
    const std::vector<const FinishedTile*> cover = exact_cover(tiles, all);
    for (const FinishedTile* tile : cover)
      if (norms != nullptr) norms->set(tile->columns, tile->levels[0]->norms());
    join_levels(build, form, cover, TileEnd::removed);
    result.tiles = cover.size();
    for (const FinishedTile* tile : cover) result.tile_width = std::max(result.tile_width, tile->columns.count);
    result.seconds += seconds_since(summed);
  } else if (first < levels_of(job)) {
    result = build_partitions(build);
  } else {
    result.tiles = 1;
    result.tile_width = job.columns;
  }
  result.has_norms = first == 0;  // else features were not read, or those of some columns were not
  result.rows = 0;
  for (std::size_t index = 0; index < levels_of(job); ++index) result.rows += rows_of(contents, job, index);
  if (folder != nullptr) link_partitions(folder->path(), store, build.kept);
  result.partitions = std::move(build.kept);
  return result;
}

}  // namespace unweave
