// algorithms/propagation/state_builder.cpp - partitions of sums: written as they are summed, or joined of tiles.
#include "algorithms/propagation/state_builder.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/propagation/density.h"
#include "algorithms/propagation/row_share.h"
#include "engine/resources/clock.h"
#include "engine/state/level_image.h"
#include "engine/sweep/level_tile.h"
#include "storage/formats/state_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {

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
  return sweep_levels(contents, job, plan, budget, sink, [&] {
    for (ResidentRows* one : rows) one->finish();
  });
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
                                        contents.num_nodes(), job.mask(index), queue, kept[index]);
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
  PropagationOptions options = job.options(first);
  SumCheck check =
      check_of(build.contents, job, options, job.first_level + static_cast<std::uint32_t>(first), build.budget);
  options.spare = [&](HugeBuffer freed) { buffers.add(std::move(freed)); };
  std::vector<std::unique_ptr<LevelImage>> images;  // null once it is finished
  for (std::size_t index = first; index < job.levels(); ++index) images.push_back(build.image(index, buffers.queue()));
  const auto finish = [&](std::size_t index) {
    build.finish(index, *images[index - first], buffers.queue());
    images[index - first].reset();
  };
  options.refill = [&](int level, TileColumns) {
    const std::size_t index = first + static_cast<std::size_t>(level) - 1;
    finish(index);
    return build.fill(index + 1);
  };
  PublishMoments moments;
  const LevelSink sink = [&](int level, TileColumns, const SumRows& rows) {
    images[static_cast<std::size_t>(level - 1)]->put(rows.nodes, rows.sums, rows.wide_nodes, rows.wide_sums);
    if (build.folder == nullptr || !moments.passed()) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(level); ++i)
      if (images[i]) images[i]->publish_written();
  };
  SweepResult result =
      run_sweep(build.contents, job, options, check, build.plan.tiles, build.budget, build.fill(first), 1, sink, [&] {
        for (const auto& image : images)
          if (image) image->finish();
      });
  const Clock::time_point summed = Clock::now();
  for (std::size_t index = first; index < job.levels(); ++index)
    if (images[index - first]) finish(index);
  result.drain_seconds = seconds_since(summed);
  return result;
}

/// Sums the rows of the level at `index` whose partitions are not there. Nothing where memory has not the room to take all columns at once.
bool sum_missing_rows(StateBuild& build, std::size_t index, WriteBuffers& buffers, SweepResult& result) {
  const NodeId nodes = build.contents.num_nodes();
  const Reservation memory = build.budget.reserve(RowMask::bytes(nodes), "masks of the rows to keep");
  const RowMask* const wanted = build.job.mask(index);
  RowMask missing(nodes);
  for (NodeId node = 0; node < nodes; ++node)
    if (build.kept[index][node / span_nodes(nodes)].path.empty() && (wanted == nullptr || wanted->contains(node)))
      missing.insert(node);
  PropagationOptions options = build.job.options(index);
  options.hops = 1;
  options.wanted = std::span(&missing, 1);
  if (index + 1 < build.job.levels()) options.last_lists = nullptr;
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
  if (first < build.job.levels() && !build.is_empty(first) && sum_missing_rows(build, first, buffers, result)) ++first;
  if (first == build.job.levels()) return result;
  const SweepResult rest = sum_partitions(build, first, buffers);
  result.rows += rest.rows;
  result.tile_width = rest.tile_width;
  result.seconds += rest.seconds;
  result.fill_seconds += rest.fill_seconds;
  result.drain_seconds = rest.drain_seconds;
  return result;
}

/// Joins the tiles of the levels that lack partitions.
void join_levels(StateBuild& build, const TileForm& form, std::vector<FinishedTile>& all,
                 std::span<const FinishedTile* const> cover, TileEnd end) {
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
      SumJoin join(tiles, nodes, build.job.mask(index), build.budget);
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
    for (FinishedTile& tile : all) {
      if (std::find(cover.begin(), cover.end(), &tile) == cover.end()) continue;
      const std::filesystem::path path = tile.levels[i]->path();
      tile.levels[i].reset();  // while it is mapped, the disk has not its room back
      drop_entry(path);
    }
  }
}

std::uint64_t bytes_in(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  walk_folder(folder, [&](const Entry& entry) {
    if (entry.kind == EntryKind::file) bytes += status_of(entry.path).bytes;
  });
  return bytes;
}

/// Partitions that were kept become files of the store; until it names them the folder has them too, so that nothing is lost
/// where a process is killed in between. A file of that name that is there is the same one.
void link_partitions(const std::filesystem::path& folder, const std::filesystem::path& store,
                     const std::vector<std::vector<FileEntry>>& levels) {
  for (const std::vector<FileEntry>& level : levels)
    for (const FileEntry& entry : level) {
      const std::filesystem::path to = store / entry.path;
      make_folders(to.parent_path());
      if (try_link_entry(folder / entry.path, to) || has_entry(to)) continue;
      rename_entry(folder / entry.path, to);  // a file system without links
    }
}

}  // namespace

void join_spans(const TileFolder& folder, const Contents& contents, const SweepJob& job, const StatePlan& plan,
                RankShare spans, MemoryBudget& budget) {
  StateBuild build{folder.path(), contents, job, plan, budget, &folder, {}};
  for (std::uint32_t level = job.first_level; level <= job.last_level; ++level)
    leave_to_others(build.kept.emplace_back(folder.partitions(level, job.columns)), spans);
  const TileForm form = sums_form(contents, job);
  std::vector<FinishedTile> tiles = folder.tiles(form);
  const TileColumns all{0, job.columns};
  require_tiles(folder, tiles, all);
  join_levels(build, form, tiles, exact_cover(tiles, all), TileEnd::stay);
}

SweepResult build_state(const std::filesystem::path& store, const Contents& contents, const SweepJob& job,
                        const StatePlan& plan, MemoryBudget& budget, const TileFolder* folder, TileUse use,
                        ColumnNorms* norms) {
  const std::uint64_t there = folder == nullptr ? 0 : bytes_in(folder->path());
  require_disk_room(store, plan.disk_bytes - std::min(there, plan.disk_bytes), "the sums",
                    norms != nullptr ? "keep fewer rows (" + option("rows", "labelled") + ")"
                                     : "have changes pushed (" + option("plan", "push") + ")");
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
  if (first < job.levels() && joins) {
    if (use == TileUse::sum)
      result = sum_tiles(*tile_folder, contents, job, {first, build.fill(first), true}, all, plan, budget, norms);
    const Clock::time_point summed = Clock::now();
    std::vector<FinishedTile> tiles = tile_folder->tiles(form);
    require_tiles(*tile_folder, tiles, all);
    const std::vector<const FinishedTile*> cover = exact_cover(tiles, all);
    for (const FinishedTile* tile : cover)
      if (norms != nullptr) norms->set(tile->columns, tile->levels[0]->norms());
    join_levels(build, form, tiles, cover, TileEnd::removed);
    result.tiles = cover.size();
    for (const FinishedTile* tile : cover) result.tile_width = std::max(result.tile_width, tile->columns.count);
    result.seconds += seconds_since(summed);
  } else if (first < job.levels()) {
    result = build_partitions(build);
  } else {
    result.tiles = 1;
    result.tile_width = job.columns;
  }
  result.has_norms = first == 0;  // else features were not read, or those of some columns were not
  result.rows = 0;
  for (std::size_t index = 0; index < job.levels(); ++index) result.rows += job.rows(contents, index);
  if (folder != nullptr) link_partitions(folder->path(), store, build.kept);
  result.partitions = std::move(build.kept);
  return result;
}

}  // namespace unweave
