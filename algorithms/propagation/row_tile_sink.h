// algorithms/propagation/row_tile_sink.h - rows of values of some columns, written as tiles of a
// folder.
#pragma once

#include <cstddef>

#include "algorithms/propagation/level_sink.h"
#include "algorithms/propagation/row_converter.h"
#include "algorithms/propagation/tile_writer.h"
#include "engine/graph/contents.h"
#include "engine/sweep/level_tile.h"

namespace unweave {

class RowTileSink final : public LevelSink {
 public:
  /// `targets`: the rows that are kept, or null for all. `width`: columns of the sweep's tiles.
  /// `batch`: rows that a thread converts at a time. References must outlive this object.
  RowTileSink(const TileFolder& folder, TileWriter& writer, const Contents& contents, const PropagationSpec& spec,
              const RowMask* targets, std::size_t width, std::size_t batch);
  void put(std::uint32_t level, TileColumns columns, const SumRows& rows) override;
  void end(std::uint32_t level, TileColumns columns, const LevelProof& proof) override;

 private:
  void take(std::uint32_t level, TileColumns some, std::span<const NodeId> nodes, const float* values);

  TileWriter& writer_;
  const Contents& contents_;
  const PropagationSpec& spec_;
  std::uint32_t first_level_;  ///< that is kept
  WantedRanks ranks_;
  RowConverter converter_;
};

}  // namespace unweave
