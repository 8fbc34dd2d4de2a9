// algorithms/propagation/sweep_job.h - what a propagation sums, in which tiles and in how much memory, and the sweep that hands
// the sums over to whoever keeps them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "algorithms/propagation/propagation_sweep.h"
#include "engine/graph/contents.h"
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
  bool fill_waits = false;                  ///< see PropagationOptions
  const BlockSource* last_lists = nullptr;  ///< likewise
  const RowShare* share = nullptr;          ///< likewise; then nobody is in `wanted`
  std::size_t most_columns = 0;             ///< a tile has no more, on all ranks of a share; 0: as many as fit
  /// Rows summed since the last call, each counted once a tile, and the number of tiles; may be empty. Called from any
  /// thread, one call at a time.
  std::function<void(std::uint64_t rows, std::uint64_t tiles)> progress;

  [[nodiscard]] std::size_t levels() const noexcept { return last_level - first_level + std::size_t{1}; }
  /// The rows of level first_level + index, or null for all; how many they are.
  [[nodiscard]] const RowMask* mask(std::size_t index) const noexcept;
  [[nodiscard]] std::uint64_t rows(const Contents& contents, std::size_t index) const noexcept;
  /// What a sweep is to do, without the first `skip` levels.
  [[nodiscard]] PropagationOptions options(std::size_t skip = 0) const;
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

/// The tiles of sums that move the fewest bytes: with two buffers, or wider ones with a buffer that is filled anew from
/// the files of a level's sums for the next one. Throws ResourceError when a single column does not fit `available` bytes.
[[nodiscard]] TilePlan plan_sum_tiles(const Contents& contents, const PropagationOptions& options,
                                      std::uint64_t available);

/// What build_state() is going to take.
struct StatePlan {
  TilePlan tiles;
  std::uint64_t write_buffers = 0;  ///< size of the buffers of what waits to be written, as WriteBuffers takes it
  std::uint64_t state_bytes = 0;    ///< bytes of the new partitions; rows beyond 32 bits come on top
  std::uint64_t spooled_bytes = 0;  ///< bytes of tiles, written and read back; 0 where there is one tile
  std::uint64_t refill_bytes = 0;   ///< bytes of sums read to fill tiles with the level above
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

/// The check of the sums of a sweep with these options, the first level of which has this number.
[[nodiscard]] SumCheck check_of(const Contents& contents, const SweepJob& job, const PropagationOptions& options,
                                std::uint32_t first_level, MemoryBudget& budget);

/// Runs a sweep, and times it without the filling of the first tile. `meter_tiles`: what progress is told of as tiles; `finish` ends
/// what the sink began, in the time of the sweep. Partitions are nobody's. Throws ResourceError, DataError, and what these throw.
[[nodiscard]] SweepResult run_sweep(const Contents& contents, const SweepJob& job, PropagationOptions options,
                                    SumCheck& check, const TilePlan& plan, MemoryBudget& budget, const TileFill& fill,
                                    std::uint64_t meter_tiles, const LevelSink& sink,
                                    const std::function<void()>& finish);

/// Sums the levels of a job in tiles as planned and hands them over, by run_sweep().
[[nodiscard]] SweepResult sweep_levels(const Contents& contents, const SweepJob& job, const TilePlan& plan,
                                       MemoryBudget& budget, const LevelSink& sink,
                                       const std::function<void()>& finish);

/// Columns that are summed in one go, as tiles of a plan of their own, without the first `skip` levels of the job.
struct TileRun {
  TileColumns columns;
  TilePlan tiles;
  std::size_t skip = 0;
  TileFill fill;  ///< normalised sums of the level before
};

/// Gives normalised sums of a level for the tile whose sums of it were handed over: see PropagationOptions::refill.
using TileRefill = std::function<TileFill(int level, TileColumns columns)>;

/// Sums columns of a job and hands them over, as sweep_levels() does. `done`: see PropagationOptions::level_done; it gets the
/// check, too. `refill` may be empty where the plan refills nothing. Levels are counted from the job's first one, as 1.
/// `all_tiles`: what progress is told of as tiles.
[[nodiscard]] SweepResult sweep_columns(const Contents& contents, const SweepJob& job, const TileRun& run,
                                        std::uint64_t all_tiles, MemoryBudget& budget, const LevelSink& sink,
                                        const std::function<void(int level, TileColumns, SumCheck&)>& done,
                                        const TileRefill& refill = {});

}  // namespace unweave
