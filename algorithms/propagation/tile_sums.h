// algorithms/propagation/tile_sums.h - sums of some columns as tiles in a folder: those that are missing are summed, from the
// level on where another process has left off.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/propagation/level0.h"
#include "algorithms/propagation/sweep_job.h"
#include "algorithms/propagation/tile_folder.h"
#include "engine/graph/contents.h"
#include "engine/resources/memory.h"

namespace unweave {

/// Levels of a job that are there for all columns, and the normalised sums of the last one of them.
struct TileStart {
  std::size_t skip = 0;
  TileFill fill;
  bool refills = false;  ///< tiles may be filled anew with what they have become (PropagationOptions::refill)
};

/// Which columns of a range are still to be summed, and how: those of tiles of which some levels are there, then the gaps
/// between tiles. `whole` is the plan for all columns, which is followed where nothing is there. Throws ResourceError.
[[nodiscard]] std::vector<TileRun> plan_runs(const Contents& contents, const SweepJob& job, const TileStart& start,
                                             std::span<const FinishedTile> tiles, TileColumns range,
                                             const TilePlan& whole, std::uint64_t available);

/// The form of the tiles of a job's sums, without the first `skip` levels.
[[nodiscard]] TileForm sums_form(const Contents& contents, const SweepJob& job, std::size_t skip = 0);

/// Sums the columns of a range that are not there yet and writes them as tiles of the folder. Norms of columns whose tiles
/// were found go into `norms`, which may be null. The buffers of writes are those of the plan. Throws ResourceError, DataError.
SweepResult sum_tiles(const TileFolder& folder, const Contents& contents, const SweepJob& job, const TileStart& start,
                      TileColumns range, const StatePlan& plan, MemoryBudget& budget, ColumnNorms* norms);

/// What to do with what is there of a propagation.
enum class TileUse {
  sum,   ///< what is missing is summed
  join,  ///< all is there, else DataError tells which columns are missing
};

/// Throws DataError, which names the columns that no tile has, or tiles of which none ends where the next begins.
void require_tiles(const TileFolder& folder, std::span<const FinishedTile> tiles, TileColumns all);

}  // namespace unweave
