// algorithms/propagation/propagation_sweep.h - all levels of the exact integer propagation, column tile by column tile.
//
// For every column, with N(u) the neighbours of u and d(u) = |N(u)| + 1:
//   S^l(u) = t^{l-1}(u) + sum over v in N(u) of t^{l-1}(v)      exact integers
//   t^l(u) = rint(S^l(u) / d(u))                                float64 quotient, ties to even
// Columns do not mix, so a tile of columns passes through all levels: t^{l-1} and t^l of the tile are all that is dense.
// The graph is read once a level and tile, the wider the tile the less often. Where memory is short, t^l need not lie
// beside t^{l-1}: it is made of S^l once all of it was handed over, which doubles the width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "engine/graph/block_graph.h"
#include "engine/graph/row_mask.h"
#include "engine/resources/memory.h"
#include "engine/sweep/sweep.h"
#include "storage/io/types.h"

namespace unweave {

/// Columns [first, first + count) of the features.
struct TileColumns {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Writes t^0 of `rows` and `columns`, row-major without gaps, to `out`. Called on several threads at once, for
/// disjoint ranges that cover all rows and are begun in ascending order, tile by tile.
using TileFill = std::function<void(TileColumns columns, NodeRange rows, std::int32_t* out)>;

class RowShare;

struct PropagationOptions {
  std::size_t first_column = 0;  ///< the first one of those that are summed
  std::size_t features = 0;      ///< columns from there on
  int hops = 2;                  ///< L >= 0; without hops there is nothing to sum, and neither function is called
  /// |t^0| <= 2^scale_bits, hence |t^l| too: a mean never exceeds its terms. Up to kMaxShortScaleBits they pass
  /// between levels in 16 bits, else in 32; the sums are the same.
  int scale_bits = 24;
  /// Empty: all rows at every level. Else hops masks: rows wanted at level 1..L. They must be a receptive field: u
  /// wanted at level l + 1 makes u and N(u) wanted at level l. Rows outside are neither computed nor handed over.
  std::span<const RowMask> wanted;
  /// What each level's sums are checked with as they are formed, one of the graph's nodes, all columns and `hops`; null: nothing
  /// is checked, as benchmarks of bare sums want it.
  SumCheck* check = nullptr;
  /// Lists of the rows that the last level wants, which takes them from here and not from the graph; null: from the graph.
  const BlockSource* last_lists = nullptr;
  /// Each call of the fill waits for the disk, so that for narrow tiles of 32 bits more threads than processors call it.
  bool fill_waits = false;
  bool refills = false;  ///< sums are handed back by `refill`. Read by plan_tiles() alone
  /// Where the plan refills, gives t^level of a tile after all its sums of that level were handed over.
  std::function<TileFill(int level, TileColumns columns)> refill;
  std::size_t most_columns = 0;  ///< columns of a tile; 0: as many as fit. Read by plan_tiles() alone
  /// Is told that all rows of a level of a tile were handed over, and are the sums of their terms; may be empty. The check has
  /// the residues of the tile until it returns.
  std::function<void(int level, TileColumns columns)> level_done;
  /// The rows that this rank of a job sums, of those of all nodes; null: all. Then nobody is `wanted` besides, and every rank
  /// sweeps tiles of one width.
  const RowShare* share = nullptr;
  /// Takes the memory that the last level of the last tile does not need, as it begins; may be empty.
  std::function<void(HugeBuffer)> spare;
};

/// How the columns are cut: ceil(features / width) tiles of `width` columns, the last perhaps narrower. And the memory that
/// a sweep takes for it.
struct TilePlan {
  std::size_t width = 0;
  std::size_t tiles = 0;
  bool refills = false;            ///< there is one buffer, which takes t^l after all sums of level l were formed
  std::uint64_t tile_bytes = 0;    ///< buffers of a tile, and ranks of the rows that they hold
  std::uint64_t worker_bytes = 0;  ///< buffers of the threads that sum
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return tile_bytes + worker_bytes; }
};

/// Takes rows of S^level (1..L) for the tile's columns, on several threads at once: see SumSink. Within a tile, levels come
/// one after the other.
using LevelSink = std::function<void(int level, TileColumns columns, const SumRows& rows)>;

/// The fewest tiles of at most `most_columns`, of equal width (up to a multiple of a cache line where there are several),
/// whose buffers (one of all rows, for L > 1 without refills one of those that level 1 wants) and workers fit `available`
/// bytes. Throws ResourceError when a single column does not fit.
[[nodiscard]] TilePlan plan_tiles(const BlockSource& source, const PropagationOptions& options,
                                  std::uint64_t available);

/// Computes S^1..S^L, in tiles as planned for the same options. The sums do not depend on threads or tiles.
///
/// returns  the seconds that committing and filling the tiles took, of which the first reading of the features is most
/// memory   reserved in `budget`: what the plan says; where more is available, a worker for each thread
/// throws   ResourceError (budget), UsageError (options), DataError and whatever fill, sink and decode throw; DataError with
///          level and partition where sums are not those of their terms
double propagation_sweep(const BlockSource& source, const PropagationOptions& options, const TilePlan& plan,
                         MemoryBudget& budget, const TileFill& fill, const LevelSink& sink);

}  // namespace unweave
