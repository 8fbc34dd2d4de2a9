// algorithms/propagation/sum_tile_sink.h - sums of some columns, written as tiles of a folder.
#pragma once

#include <vector>

#include "algorithms/propagation/level_sink.h"
#include "algorithms/propagation/tile_writer.h"
#include "engine/graph/contents.h"
#include "engine/sweep/level_tile.h"

namespace unweave {

class SumTileSink final : public LevelSink {
 public:
  /// `sweep`: that of all columns. References must outlive this object.
  SumTileSink(const TileFolder& folder, TileWriter& writer, const Contents& contents, const SweepSpec& sweep);
  void put(std::uint32_t level, TileColumns columns, const SumRows& rows) override;
  void end(std::uint32_t level, TileColumns columns, const LevelProof& proof) override;
  /// From the tile of that level, past the page cache.
  [[nodiscard]] TileFill refill(std::uint32_t level, TileColumns columns) override;

 private:
  [[nodiscard]] std::size_t index(std::uint32_t level) const noexcept { return level - first_level_; }

  const TileFolder& folder_;
  TileWriter& writer_;
  const Contents& contents_;
  std::uint32_t first_level_;
  std::vector<WantedRanks> ranks_;  ///< one for the rows of each level
};

}  // namespace unweave
