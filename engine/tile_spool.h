// engine/tile_spool.h - the sums of one level, column tile after column tile, on disk until the rows can be put together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "engine/level_image.h"
#include "engine/memory.h"
#include "engine/row_mask.h"
#include "engine/sweep.h"
#include "storage/scattered_writer.h"

namespace unweave {

/// A file in the store without a name: a crash leaves nothing behind.
[[nodiscard]] ScatteredWriter make_spool(const std::filesystem::path& store, std::uint64_t bytes, WriteBehind& queue);

class TileSpool {
 public:
  /// The part of a spool from byte `begin` on for a level with `columns` columns, cut into tiles of `tile_width` (the last
  /// one perhaps narrower). The spool and `wanted` (null: all rows) must outlive this object.
  TileSpool(ScatteredWriter& spool, std::uint64_t begin, std::size_t columns, std::size_t tile_width, NodeId nodes,
            const RowMask* wanted);
  /// Bytes of the spool that this level takes.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return rows_ * columns_ * sizeof(std::int32_t); }

  /// The columns from `first_column` on of rows, as a sweep hands them over: from any thread.
  void put(std::size_t first_column, const SumRows& rows);
  /// Gives whole rows to the image, on more threads than there are processors, since they wait for the disk, and gives the
  /// part of the spool back. After the spool was finished and its queue drained. Throws ResourceError, DataError.
  void assemble(LevelImage& image, MemoryBudget& budget) const;

 private:
  struct Buffers;
  /// Rows of the level before a block of 32 nodes.
  [[nodiscard]] std::uint64_t rank_of_block(std::size_t block) const;
  void assemble_range(NodeRange range, Buffers& buffers, LevelImage& image) const;

  ScatteredWriter& spool_;
  std::uint64_t begin_;
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
