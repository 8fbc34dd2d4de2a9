// engine/sweep/level_tile.h - the columns of one level that a sweep has summed, in a file of their
// own, and the whole rows that are joined of such files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/graph/row_mask.h"
#include "engine/resources/memory.h"
#include "engine/state/level_image.h"
#include "engine/state/rows_level.h"
#include "engine/sweep/sum_check.h"
#include "engine/sweep/sweep.h"
#include "storage/formats/tile_file.h"

namespace unweave {

/// Positions of wanted rows among themselves, counted from one in 512 nodes: it takes next to no
/// memory.
class WantedRanks {
 public:
  /// `wanted` (null: all rows) must outlive this object.
  WantedRanks(NodeId nodes, const RowMask* wanted);
  [[nodiscard]] std::uint64_t size() const noexcept { return rows_; }
  /// Wanted rows below a node, or below `nodes`.
  [[nodiscard]] std::uint64_t before(NodeId node) const;

 private:
  NodeId nodes_;
  const RowMask* wanted_;
  std::vector<NodeId> ranks_;  ///< rows before each range of kSweepRangeRows nodes, unless all are wanted
  std::uint64_t rows_;
};

/// Rows of the tile's columns as a sweep hands them over: from any thread.
void put_sums(TileImage& image, const WantedRanks& ranks, const SumRows& rows);
/// How the sums of some columns were checked: the key and the residues of all partitions.
[[nodiscard]] std::vector<std::byte> proof_of(const FingerprintKey& key, std::size_t first_column, std::size_t columns,
                                              const PartitionSums& residues);

/// Joins the tiles of one level of sums. They cover all columns once, in ascending order, and
/// outlive this object.
class SumJoin {
 public:
  /// Throws DataError for a tile that does not say how its sums were checked.
  SumJoin(std::span<const TileFile* const> tiles, NodeId nodes, const RowMask* wanted, MemoryBudget& budget);
  ~SumJoin();
  SumJoin(const SumJoin&) = delete;
  SumJoin& operator=(const SumJoin&) = delete;

  /// The least memory of a join of so many tiles of `width` columns, or fewer, which have `columns`
  /// together.
  [[nodiscard]] static std::uint64_t least_bytes(NodeId nodes, std::size_t columns, std::size_t tiles,
                                                 std::size_t width);

  /// Gives the whole rows of some spans to the image, on more threads than there are processors,
  /// since they wait for the disk; then checks that they are the sums that were formed. Throws
  /// ResourceError; DataError with file and partition.
  void join(std::size_t first_span, std::size_t last_span, LevelImage& image, MemoryBudget& budget);

 private:
  struct Tile;
  struct Buffers;
  /// What the check of a tile takes.
  static std::uint64_t check_bytes(NodeId nodes, std::size_t width);
  void join_range(NodeRange range, Buffers& buffers, LevelImage& image);
  void check(std::size_t first_span, std::size_t last_span) const;

  NodeId nodes_;
  const RowMask* wanted_;
  WantedRanks ranks_;
  Reservation memory_;
  std::vector<Tile> tiles_;
  std::size_t columns_ = 0;
};

/// Joins the tiles of one level of kept rows, whose shapes but for the columns are alike. They
/// cover all columns once, in ascending order. Throws ResourceError, DataError.
void join_rows(std::span<const TileFile* const> tiles, NodeId nodes, const RowMask* wanted, RowsLevelImage& image,
               MemoryBudget& budget);

}  // namespace unweave
