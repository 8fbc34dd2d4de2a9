// algorithms/propagation/state_builder.h - sweeps that write new partitions: the way from a tile of normalised sums to
// the sums of all levels above it, used by `propagate` and by updates that would cost more than a sweep.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/propagation/level0.h"
#include "algorithms/propagation/propagation_sweep.h"
#include "algorithms/propagation/tile_folder.h"
#include "engine/graph/contents.h"
#include "engine/graph/resident_rows.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"
#include "storage/formats/sealed_file.h"

namespace unweave {

struct SweepJob {
  std::uint32_t first_level = 1;  ///< the first level whose sums are computed
  std::uint32_t last_level = 2;   ///< L
  std::uint32_t columns = 0;      ///< features
  std::uint32_t scale_bits = 24;
  std::vector<RowMask> wanted;              ///< one mask a level first..last, or empty for all rows
  TileFill fill;                            ///< normalised sums of level first_level - 1
  const BlockSource* last_lists = nullptr;  ///< see PropagationOptions
  const RowShare* share = nullptr;          ///< likewise; then nobody is in `wanted`
  std::size_t most_columns = 0;             ///< a tile has no more, on all ranks of a share; 0: as many as fit
  /// Rows summed since the last call, each counted once a tile, and the number of tiles; may be empty. Called from any
  /// thread, one call at a time.
  std::function<void(std::uint64_t rows, std::uint64_t tiles)> progress;
};

struct SweepResult {
  /// [level - first_level][span]; where ranks share the rows, those of other ranks are anything.
  std::vector<std::vector<FileEntry>> partitions;
  std::uint64_t rows = 0;  ///< rows summed, over all levels
  std::uint64_t tiles = 0;
  std::size_t tile_width = 0;  ///< columns, the last tile perhaps has fewer
  double seconds = 0;          ///< from the first normalised sums to the last sum
  double fill_seconds = 0;     ///< making room for tiles and filling them
  double drain_seconds = 0;    ///< what was left to write after the last sum

  /// Counts the tiles of one run more, and its time.
  void add_run(const SweepResult& run) {
    tiles += run.tiles;
    tile_width = std::max(tile_width, run.tile_width);
    seconds += run.seconds;
    fill_seconds += run.fill_seconds;
  }
  bool has_norms = true;  ///< features of all columns were read, or their norms were found beside tiles
};

/// The tiles of build_state_in_memory(), with the memory that they take beside the rows. Throws ResourceError when a single
/// column does not fit `available` bytes. `job.fill` may be empty.
[[nodiscard]] TilePlan plan_in_memory(const Contents& contents, const SweepJob& job, std::uint64_t available);

/// Computes the sums of the levels into memory, in tiles as planned; rows[i] takes level first_level + i. Throws
/// ResourceError, DataError; the rows are then incomplete.
[[nodiscard]] SweepResult build_state_in_memory(const Contents& contents, const SweepJob& job, const TilePlan& plan,
                                                std::span<ResidentRows* const> rows, MemoryBudget& budget);

/// What build_state() is going to take.
struct StatePlan {
  TilePlan tiles;
  std::uint64_t write_buffers = 0;  ///< size of the buffers of what waits to be written, as WriteBuffers takes it
  std::uint64_t state_bytes = 0;    ///< bytes of the new partitions; rows beyond 32 bits come on top
  std::uint64_t spooled_bytes = 0;  ///< bytes of tiles, written and read back; 0 where there is one tile
  std::uint64_t disk_bytes = 0;     ///< bytes on the disk at a time, with spooled tiles
  std::uint64_t row_segments = 0;   ///< segments of the queue of kept rows (row_builder.h), 0 for none
  std::uint64_t row_batch = 0;      ///< rows of sums that a thread turns into kept values at a time
  std::uint64_t row_bytes = 0;      ///< memory for these two
  [[nodiscard]] std::uint64_t buffer_bytes() const;  ///< the memory that those buffers take
  [[nodiscard]] std::uint64_t memory_bytes() const { return tiles.memory_bytes() + buffer_bytes(); }
};

/// Throws ResourceError when a single column does not fit `available` bytes of memory. `job.fill` may be empty.
[[nodiscard]] StatePlan plan_state(const Contents& contents, const SweepJob& job, std::uint64_t available);

/// The widest tiles of a job that fit `available` bytes of memory. Throws ResourceError when a single column does not.
/// `job.fill` may be empty.
[[nodiscard]] TilePlan plan_tiles_of(const Contents& contents, const SweepJob& job, std::uint64_t available);

/// Sums the levels of a job in tiles as planned and hands them over, checked as ever; then `finish` ends what the sink
/// began, in the time of the sweep. Partitions are nobody's. Throws ResourceError, DataError, and what these throw.
[[nodiscard]] SweepResult sweep_levels(const Contents& contents, const SweepJob& job, const TilePlan& plan,
                                       MemoryBudget& budget, const LevelSink& sink,
                                       const std::function<void()>& finish);

/// Levels of a job that are there for all columns, and the normalised sums of the last one of them.
struct TileStart {
  std::size_t skip = 0;
  TileFill fill;
};

/// Columns that are summed in one go, as tiles of a plan of their own, without the first `skip` levels of the job.
struct TileRun {
  TileColumns columns;
  TilePlan tiles;
  std::size_t skip = 0;
  TileFill fill;  ///< normalised sums of the level before
};

/// Sums columns of a job and hands them over, as sweep_levels() does. `done`: see PropagationOptions::level_done; it gets the
/// check, too. Levels are counted from the job's first one, as 1. `all_tiles`: what progress is told of as tiles.
[[nodiscard]] SweepResult sweep_columns(const Contents& contents, const SweepJob& job, const TileRun& run,
                                        std::uint64_t all_tiles, MemoryBudget& budget, const LevelSink& sink,
                                        const std::function<void(int level, TileColumns, SumCheck&)>& done);

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

/// Joins the tiles of some spans, of all levels, and keeps the partitions in the folder, durable; the tiles stay. Others may
/// do so with other spans meanwhile. Throws ResourceError, DataError.
void join_spans(const TileFolder& folder, const Contents& contents, const SweepJob& job, const StatePlan& plan,
                RankShare spans, MemoryBudget& budget);

/// Computes the sums of the levels and writes them as partitions of `store` (not yet durable), while it goes on, in tiles and
/// through buffers as planned. With more than one column tile, or where the folder has tiles, these are joined partition by
/// partition. Parts are kept in `folder` where there is one, and taken from there where they are; what of them goes into the
/// generation is linked from there. Without one, tiles are temporary files.
/// Throws ResourceError (budget; a disk that has not the room, before anything is computed), DataError.
[[nodiscard]] SweepResult build_state(const std::filesystem::path& store, const Contents& contents, const SweepJob& job,
                                      const StatePlan& plan, MemoryBudget& budget, const TileFolder* folder = nullptr,
                                      TileUse use = TileUse::sum, ColumnNorms* norms = nullptr);

}  // namespace unweave
