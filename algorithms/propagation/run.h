// algorithms/propagation/run.h - the verbs of a propagation that was planned: it is summed as a
// whole, or part by part into tiles that are joined.
//
// A whole run whose columns pass in one tile hands its rows to the files of the store at once.
// Otherwise each part writes the tiles of its columns into a folder, and the tiles are joined. One
// process alone is the part of all columns; jobs and ranks are parts of some.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/propagation/level0.h"
#include "algorithms/propagation/level_form.h"
#include "algorithms/propagation/plan.h"

namespace unweave {

/// Is told how many rows were summed since its last call, and how many tiles there are in all; a
/// row counts once in each tile. Any thread may call it, one call at a time; it may be empty, and
/// what it throws ends the work.
using RowMeter = std::function<void(std::uint64_t rows, std::uint64_t tiles)>;

/// What is summed, in which form it is kept, and by which plan. References must outlive it.
struct PropagationJob {
  const std::filesystem::path& store;
  const Contents& contents;
  const SweepSpec& sweep;
  const LevelForm& form;
  const StatePlan& plan;
  LevelSource source;  ///< gives the normalised sums of the level below
  MemoryBudget& budget;
  ColumnNorms* norms = nullptr;  ///< gets all features, or what tiles say of them; null where nobody asks for it
  RowMeter progress{};
  std::string more_room{};  ///< what else to do, for the error of a disk that has not the room
};

/// What a run has done.
struct SweepResult {
  LevelEntries files{};        ///< files of the levels of the form, not yet durable
  std::uint64_t rows = 0;      ///< rows kept, over all levels
  std::uint64_t tiles = 0;     ///< tiles that the columns were cut into
  std::size_t tile_width = 0;  ///< columns of a tile; the last tile may have fewer
  double seconds = 0;          ///< from the first normalised sums to the last sum
  double fill_seconds = 0;     ///< in which memory for tiles was made ready and filled
  double drain_seconds = 0;    ///< in which the disk took what was left to write after the last sum
  /// Damaged tiles whose columns were summed anew, a message each.
  std::vector<std::string> dropped{};

  /// Adds the tiles and the time of another run, where a job is done in several.
  void add_run(const SweepResult& run) {
    tiles += run.tiles;
    tile_width = std::max(tile_width, run.tile_width);
    seconds += run.seconds;
    fill_seconds += run.fill_seconds;
  }
  /// Takes tiles and width from those that cover the columns.
  void count_tiles(const std::vector<FinishedTile>& all, TileColumns columns) {
    tiles = tile_width = 0;
    for (const FinishedTile* tile : exact_cover(all, columns)) {
      ++tiles;
      tile_width = std::max(tile_width, tile->columns.count);
    }
  }
};

/// What to do with what is there of a propagation.
enum class TileUse {
  sum,   ///< what is missing is summed
  join,  ///< all is there, else DataError tells which columns are missing
};

/// Sums `sweep`, a part of the job or all of it, in tiles as planned, proves it, and hands it to
/// the sink. Progress is told of `all_tiles`. Throws ResourceError, DataError, and what the sink
/// throws.
[[nodiscard]] SweepResult run_sweep(const PropagationJob& job, const SweepSpec& sweep, const TilePlan& tiles,
                                    const LevelSource& below, std::uint64_t all_tiles, LevelSink& sink);

/// Makes the files of all levels. Tiles that the folder has are joined with what is missing to
/// them; without a folder, tiles are temporary files. Tiles that turn out to be damaged are dropped
/// and summed anew, unless ranks share the rows. Throws ResourceError (budget; a disk that has not
/// the room, before anything is computed), DataError.
[[nodiscard]] SweepResult run_whole(const PropagationJob& job, const TileFolder* folder = nullptr,
                                    TileUse use = TileUse::sum);

/// Sums the columns of a range that no tile of the folder has, and writes them as tiles; those of
/// which some levels are there go on from these, and damaged ones are summed anew. The result has
/// no files. Throws ResourceError, DataError.
[[nodiscard]] SweepResult run_part(const PropagationJob& job, const TileFolder& folder, TileColumns range);

/// Makes the files of some spans from tiles that are all there, and stay. Others may do so with
/// other spans meanwhile. Throws ResourceError; DataError, also for tiles that are damaged, which
/// are dropped.
[[nodiscard]] LevelEntries join_spans(const PropagationJob& job, const TileFolder& folder, RankShare spans);

/// Takes from tiles that cover all columns what they say of the features. Throws DataError where
/// they do not.
void take_norms(const PropagationJob& job, const TileFolder& folder, const std::vector<FinishedTile>& tiles);

/// Makes the files of an embedding without hops, whose rows are those of the features. Throws as
/// run_whole().
[[nodiscard]] SweepResult keep_features(const std::filesystem::path& store, const Contents& contents,
                                        const PropagationSpec& spec, const StatePlan& plan, MemoryBudget& budget);

}  // namespace unweave
