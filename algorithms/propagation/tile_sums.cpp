// algorithms/propagation/tile_sums.cpp - finds what is missing among the tiles of a folder, and sums it.
#include "algorithms/propagation/tile_sums.h"

#include <algorithm>
#include <memory>
#include <string>

#include "engine/resources/clock.h"
#include "engine/state/level_image.h"
#include "engine/sweep/level_tile.h"
#include "storage/io/error.h"

namespace unweave {

TileForm sums_form(const Contents& contents, const SweepJob& job, std::size_t skip) {
  TileForm form;
  for (std::size_t index = skip; index < job.levels(); ++index) {
    form.levels.push_back(job.first_level + static_cast<std::uint32_t>(index));
    form.rows.push_back(job.rows(contents, index));
  }
  return form;
}

std::vector<TileRun> plan_runs(const Contents& contents, const SweepJob& job, const TileStart& start,
                               std::span<const FinishedTile> tiles, TileColumns range, const TilePlan& whole,
                               std::uint64_t available) {
  const BlockSource source = block_source(contents.graph());
  std::vector<TileRun> runs;
  const auto plan_of = [&](TileColumns columns, std::size_t skip) {
    PropagationOptions options = job.options(skip);
    options.first_column = columns.first;
    options.features = columns.count;
    return start.refills ? plan_sum_tiles(contents, options, available) : plan_tiles(source, options, available);
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
      runs.push_back({tile.columns, plan, skip, fill_from_tile(last, contents, job.mask(skip - 1))});
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
  for (std::size_t index = 0; index < job.levels(); ++index) ranks.emplace_back(contents.num_nodes(), job.mask(index));
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
        },
        [&](int level, TileColumns columns) -> TileFill {
          writer.publish_all();
          const auto tile = std::make_shared<TileFile>(
              folder.path() / tile_name(job.first_level + static_cast<std::uint32_t>(level) - 1,
                                        static_cast<std::uint32_t>(columns.first),
                                        static_cast<std::uint32_t>(columns.count)),
              contents.num_nodes());
          return [tile, fill = fill_from_tile(*tile, contents, nullptr, PageCache::passed)](
                     TileColumns some, NodeRange rows, std::int32_t* out) { fill(some, rows, out); };
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

}  // namespace unweave
