// engine/sweep/tile_spool.h - the sums of one level, column tile after column tile, on disk until the rows can be put together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "engine/graph/row_mask.h"
#include "engine/resources/memory.h"
#include "engine/state/level_image.h"
#include "engine/sweep/sweep.h"
#include "storage/io/scattered_writer.h"

namespace unweave {

/// Makes an unlinked temporary file in the store: a crash leaves nothing behind.
[[nodiscard]] ScatteredWriter make_spool(const std::filesystem::path& store, std::uint64_t bytes, WriteBehind& queue);

/// Which of the rows of all levels are those of one. Tiles lie one after the other, in each the levels one after the other:
/// in the order in which a sweep makes them, so that what it has begun to write is soon complete.
struct SpoolShare {
  std::uint64_t all_rows = 0;     ///< rows of all levels
  std::uint64_t rows_before = 0;  ///< rows of the levels before
};

/// Where sum_u r_u y(S(u)) of the whole rows goes, as they are put together: what came back from the disk.
struct SpoolCheck {
  const FingerprintKey& key;
  PartitionSums& sums;
};

class TileSpool {
 public:
  /// One level's share of a spool for `columns` columns, cut into tiles of `tile_width` (the last one perhaps narrower).
  /// The spool and `wanted` (null: all rows) must outlive this object.
  TileSpool(ScatteredWriter& spool, SpoolShare share, std::size_t columns, std::size_t tile_width, NodeId nodes,
            const RowMask* wanted);

  /// The columns from `first_column` on of rows, as a sweep hands them over: from any thread.
  void put(std::size_t first_column, const SumRows& rows);
  /// Gives whole rows to the image, on more threads than there are processors, since they wait for the disk, and gives the
  /// part of the spool back. After the spool was finished and its queue drained. Throws ResourceError, DataError.
  void assemble(LevelImage& image, const SpoolCheck& check, MemoryBudget& budget) const;

 private:
  struct Buffers;
  [[nodiscard]] std::size_t width_of(std::size_t first_column) const {
    return std::min(tile_width_, columns_ - first_column);
  }
  /// The byte of the spool where a tile of this level begins.
  [[nodiscard]] std::uint64_t tile_begin(std::size_t first_column) const {
    return (share_.all_rows * first_column + share_.rows_before * width_of(first_column)) * sizeof(std::int32_t);
  }
  /// Rows of the level before a block of 32 nodes.
  [[nodiscard]] std::uint64_t rank_of_block(std::size_t block) const;
  void assemble_range(NodeRange range, Buffers& buffers, LevelImage& image, const SpoolCheck& check) const;

  ScatteredWriter& spool_;
  SpoolShare share_;
  std::size_t columns_;
  std::size_t tile_width_;
  NodeId nodes_;
  const RowMask* wanted_;
  std::vector<NodeId> ranks_;  ///< rows before each range of kSweepRangeRows nodes, unless all are wanted
  std::uint64_t rows_ = 0;
  std::mutex mutex_;  ///< guards wide_ while tiles are put
  std::map<NodeId, std::map<std::size_t, std::vector<std::int64_t>>> wide_;
};

}  // namespace unweave
