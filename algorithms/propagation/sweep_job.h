// algorithms/propagation/sweep_job.h - what a propagation has to sum, how that is cut into tiles which fit the memory,
// and the sweep that computes the sums and hands them over to whoever keeps them.
//
// A job names levels, columns and rows. A plan cuts the columns into tiles: a tile has the normalised sums of all nodes
// for some columns, lies in memory, and goes through all levels before the next one begins. A sweep carries a plan out.
// It keeps no sums itself: rows go to a sink as soon as they are summed, which puts them into partitions, tiles or
// memory.
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

/// What is to be summed.
struct SweepJob {
  std::uint32_t first_level = 1;  ///< the first level whose sums are computed
  std::uint32_t last_level = 2;   ///< the last one, often the last level L of the embedding
  std::uint32_t columns = 0;      ///< columns of the features
  std::uint32_t scale_bits = 24;  ///< a normalised sum is an integer in units of 2^-scale_bits
  std::vector<RowMask>
      wanted;               ///< which rows are kept: one mask a level, from the first on; empty: all rows of all levels
  TileFill fill;            ///< gives the normalised sums of level first_level - 1, which the sweep begins with
  bool fill_waits = false;  ///< as PropagationOptions has it
  const BlockSource* last_lists = nullptr;  ///< as PropagationOptions has it
  const RowShare* share = nullptr;          ///< as PropagationOptions has it; `wanted` is empty where there is one
  /// The most columns that a tile may have, so that the ranks of a share cut tiles alike; 0: as many as fit the memory.
  std::size_t most_columns = 0;
  /// Is told how many rows were summed since its last call, and how many tiles there are; a row counts once in each
  /// tile. It may be empty. Any thread may call it, one call at a time.
  std::function<void(std::uint64_t rows, std::uint64_t tiles)> progress;

  [[nodiscard]] std::size_t levels() const noexcept { return last_level - first_level + std::size_t{1}; }
  /// Which rows of level first_level + index are kept; null: all of them.
  [[nodiscard]] const RowMask* mask(std::size_t index) const noexcept;
  /// How many they are.
  [[nodiscard]] std::uint64_t rows(const Contents& contents, std::size_t index) const noexcept;
  /// The options of the sweep that does this job, or what is left of it when its first `skip` levels are there already.
  [[nodiscard]] PropagationOptions options(std::size_t skip = 0) const;
};

/// What a sweep has done.
struct SweepResult {
  /// The files that were written, as [level - first_level][span]. Where ranks share the rows, each knows only its own
  /// files, and the other entries mean nothing.
  std::vector<std::vector<FileEntry>> partitions;
  std::uint64_t rows = 0;      ///< rows summed, over all levels
  std::uint64_t tiles = 0;     ///< tiles that the columns were cut into
  std::size_t tile_width = 0;  ///< columns of a tile; the last tile may have fewer
  double seconds = 0;          ///< from the first normalised sums to the last sum
  double fill_seconds = 0;     ///< in which memory for tiles was made ready and filled
  double drain_seconds = 0;    ///< in which the disk took what was left to write after the last sum

  /// Adds the tiles and the time of another run, where a job is done in several.
  void add_run(const SweepResult& run) {
    tiles += run.tiles;
    tile_width = std::max(tile_width, run.tile_width);
    seconds += run.seconds;
    fill_seconds += run.fill_seconds;
  }
  /// Whether the norms of all columns are known: the features of each were read, or its norm was found beside its tile.
  bool has_norms = true;
};

/// Plans the tiles of build_state_in_memory(), with the memory that they take beside the rows. Throws ResourceError
/// when a single column does not fit `available` bytes. `job.fill` may be empty.
[[nodiscard]] TilePlan plan_in_memory(const Contents& contents, const SweepJob& job, std::uint64_t available);

/// Plans tiles in whichever of two ways moves fewer bytes: with two buffers, of which one is summed into while the
/// other is read; or with one, which leaves room for wider tiles and is filled anew for each level from the files of
/// the sums of the level before. Throws ResourceError when a single column does not fit `available` bytes.
[[nodiscard]] TilePlan plan_sum_tiles(const Contents& contents, const PropagationOptions& options,
                                      std::uint64_t available);

/// What build_state() is going to take of memory and disk.
struct StatePlan {
  TilePlan tiles;
  std::uint64_t write_buffers = 0;  ///< size of the buffers in which rows wait to be written, as WriteBuffers takes it
  std::uint64_t state_bytes = 0;    ///< bytes of the new partitions; rows that need more than 32 bits come on top
  std::uint64_t spooled_bytes = 0;  ///< bytes of tiles that are written and read back; 0 where one tile has all columns
  std::uint64_t refill_bytes = 0;   ///< bytes of sums that are read to fill tiles for the next level
  std::uint64_t disk_bytes = 0;     ///< the most that partitions and spooled tiles take of the disk at a time
  std::uint64_t row_segments = 0;   ///< segments of the queue of kept rows (row_builder.h); 0 where sums are kept
  std::uint64_t row_batch = 0;      ///< rows of sums that a thread turns into kept values at a time
  std::uint64_t row_bytes = 0;      ///< memory of that queue and of those batches
  [[nodiscard]] std::uint64_t buffer_bytes() const;  ///< memory of the write buffers, the queue and the batches
  [[nodiscard]] std::uint64_t memory_bytes() const { return tiles.memory_bytes() + buffer_bytes(); }
};

/// Plans build_state() within `available` bytes of memory. Throws ResourceError when a single column does not fit them.
/// `job.fill` may be empty.
[[nodiscard]] StatePlan plan_state(const Contents& contents, const SweepJob& job, std::uint64_t available);

/// Plans the widest tiles of a job that fit `available` bytes of memory. Throws ResourceError when a single column does
/// not. `job.fill` may be empty.
[[nodiscard]] TilePlan plan_tiles_of(const Contents& contents, const SweepJob& job, std::uint64_t available);

/// The check that proves the sums of a sweep with these options. `first_level`: the number of the sweep's first level,
/// for the messages.
[[nodiscard]] SumCheck check_of(const Contents& contents, const SweepJob& job, const PropagationOptions& options,
                                std::uint32_t first_level, MemoryBudget& budget);

/// Runs a sweep and measures its time, in which the filling of the first tile does not count. `meter_tiles`: the number
/// of tiles that progress is told. `finish` ends what the sink has begun, and its time counts. The result names no
/// partitions, since only the sink knows of files. Throws ResourceError, DataError, and what sink and `finish` throw.
[[nodiscard]] SweepResult run_sweep(const Contents& contents, const SweepJob& job, PropagationOptions options,
                                    SumCheck& check, const TilePlan& plan, MemoryBudget& budget, const TileFill& fill,
                                    std::uint64_t meter_tiles, const LevelSink& sink,
                                    const std::function<void()>& finish);

/// Sums the levels of a job in tiles as planned and hands them over, by run_sweep().
[[nodiscard]] SweepResult sweep_levels(const Contents& contents, const SweepJob& job, const TilePlan& plan,
                                       MemoryBudget& budget, const LevelSink& sink,
                                       const std::function<void()>& finish);

/// Some columns of a job that are summed in one go.
struct TileRun {
  TileColumns columns;
  TilePlan tiles;        ///< how these columns are cut
  std::size_t skip = 0;  ///< levels of the job that are there for them already
  TileFill fill;         ///< gives their normalised sums of the last of these levels
};

/// Gives the normalised sums of a level for some columns when their sums of it have all been handed over
/// (PropagationOptions::refill).
using TileRefill = std::function<TileFill(int level, TileColumns columns)>;

/// Sums some columns of a job and hands them over, as sweep_levels() does with all of them. `done` is told when a level
/// of a tile is summed (PropagationOptions::level_done), and gets the check, too. `refill` may be empty where the plan
/// refills nothing. Sink, `done` and `refill` count levels from the job's first one, which is 1. `all_tiles`: the
/// number of tiles that progress is told.
[[nodiscard]] SweepResult sweep_columns(const Contents& contents, const SweepJob& job, const TileRun& run,
                                        std::uint64_t all_tiles, MemoryBudget& budget, const LevelSink& sink,
                                        const std::function<void(int level, TileColumns, SumCheck&)>& done,
                                        const TileRefill& refill = {});

}  // namespace unweave
