// algorithms/propagation/propagation_sweep.h - all levels of the exact integer propagation, column
// tile by column tile.
//
// For every column, with N(u) the neighbours of u and d(u) = |N(u)| + 1:
//   S^l(u) = t^{l-1}(u) + sum over v in N(u) of t^{l-1}(v)      exact integers
//   t^l(u) = rint(S^l(u) / d(u))                                float64 quotient, ties to even
// Columns do not mix, so a tile of columns passes through all levels: t^{l-1} and t^l of the tile
// are all that is dense. The graph is read once a level and tile, the wider the tile the less
// often. Where memory is short, t^l need not lie beside t^{l-1}: it is made of S^l once all of it
// was handed over, which doubles the width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "algorithms/propagation/level_sink.h"
#include "engine/graph/block_graph.h"
#include "engine/graph/row_mask.h"
#include "engine/resources/memory.h"
#include "engine/sweep/sweep.h"
#include "storage/io/types.h"

namespace unweave {

class RowShare;

/// What a sweep sums: some consecutive levels of some columns, and which rows of them.
struct SweepSpec {
  std::uint32_t first_level = 1;  ///< the first level whose sums are computed
  std::uint32_t levels = 0;       ///< how many levels from there on; without any there is nothing to sum
  TileColumns columns{};          ///< columns of the features
  /// |t^0| <= 2^scale_bits, hence |t^l| too: a mean never exceeds its terms. Up to
  /// kMaxShortScaleBits they pass between levels in 16 bits, else in 32; the sums are the same.
  std::uint32_t scale_bits = 24;
  /// Empty: all rows at every level. Else a mask for each of the levels. They must be a receptive
  /// field: u wanted at level l + 1 makes u and N(u) wanted at level l. Rows outside are neither
  /// computed nor handed over.
  std::span<const RowMask> wanted{};
  /// Lists of the rows that the last level wants, which takes them from here and not from the
  /// graph; null: from the graph.
  const BlockSource* last_lists = nullptr;
  /// The rows that this rank of a job sums, of those of all nodes; null: all. Then nobody is
  /// `wanted` besides, and every rank sweeps tiles of one width.
  const RowShare* share = nullptr;
  std::size_t most_columns = 0;  ///< columns of a tile; 0: as many as fit

  [[nodiscard]] std::uint32_t last_level() const noexcept { return first_level + levels - 1; }
  /// The rows of level first_level + index; null: all.
  [[nodiscard]] const RowMask* mask(std::size_t index) const noexcept;
  /// How many they are, of a graph with so many nodes.
  [[nodiscard]] std::uint64_t rows(std::size_t index, NodeId nodes) const noexcept;
  /// What is left of it for some columns where the first `skip` levels are there already.
  [[nodiscard]] SweepSpec rest(TileColumns some, std::size_t skip) const noexcept;
};

/// Where the normalised sums come from that a sweep begins with: those of level first_level - 1.
struct LevelSource {
  TileFill fill;
  /// Each call of the fill waits for the disk, so that for narrow tiles of 32 bits more threads
  /// than processors call it.
  bool waits = false;
};

/// How the columns are cut: ceil(columns / width) tiles of `width` columns, the last perhaps
/// narrower. And the memory that a sweep takes for it.
struct TilePlan {
  std::size_t width = 0;
  std::size_t tiles = 0;
  bool refills = false;            ///< there is one buffer, which takes t^l after all sums of level l were formed
  std::uint64_t tile_bytes = 0;    ///< buffers of a tile, and ranks of the rows that they hold
  std::uint64_t worker_bytes = 0;  ///< buffers of the threads that sum
  std::string lack{};              ///< why not even one column fits the memory; empty: some do
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return tile_bytes + worker_bytes; }
  [[nodiscard]] bool fits() const noexcept { return lack.empty(); }
  /// Returns the plan; throws ResourceError unless it fits.
  [[nodiscard]] const TilePlan& require() const;
};

/// How many buffers a tile has.
enum class TileBuffers {
  two,  ///< one is summed into while the other is read
  one,  ///< it is filled anew with each level, from files: LevelSink::refill()
};

/// Plans the fewest tiles of at most `most_columns`, of equal width (up to a multiple of a cache
/// line where there are several), whose buffers (one of all rows, for several levels and two
/// buffers one of those that the first wants) and workers fit `available` bytes.
[[nodiscard]] TilePlan plan_tiles(const BlockSource& source, const SweepSpec& spec, std::uint64_t available,
                                  TileBuffers buffers = TileBuffers::two);

/// Computes the sums of all levels, in tiles as planned for the same specification, and hands them
/// to the sink. They do not depend on threads or tiles. `check` proves them as they are formed: one
/// of the graph's nodes, of the specification's levels, rows and columns; null: nothing is proved,
/// as benchmarks of bare sums want it.
///
/// returns  the seconds that committing and filling the tiles took, of which the first reading of
/// the features is most memory   reserved in `budget`: what the plan says; where more is available,
/// a worker for each thread throws   ResourceError (budget), UsageError (specification), DataError
/// and whatever fill, sink and decode throw;
///          DataError with level and partition where sums are not those of their terms
double propagation_sweep(const BlockSource& source, const SweepSpec& spec, const TilePlan& plan, MemoryBudget& budget,
                         const LevelSource& below, LevelSink& sink, SumCheck* check = nullptr);

}  // namespace unweave
