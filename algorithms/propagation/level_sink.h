// algorithms/propagation/level_sink.h - where a sweep hands its sums to, and where it gets
// normalised sums from.
//
// A new sink is a class of its own in this folder: it takes sums as they are formed, from many
// threads, and leaves them in the form that it stands for. README.md here says which there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "engine/resources/memory.h"
#include "engine/sweep/sum_check.h"
#include "engine/sweep/sweep.h"
#include "storage/io/types.h"
#include "storage/types/feature_layout.h"

namespace unweave {

/// Writes t^l of `rows` and `columns`, row-major without gaps, to `out`. Called on several threads
/// at once, for disjoint ranges that cover all rows and are begun in ascending order, tile by tile.
using TileFill = std::function<void(TileColumns columns, NodeRange rows, std::int32_t* out)>;

/// How the sums of a level of a tile were proved: the key, and the residues of all partitions.
struct LevelProof {
  const FingerprintKey& key;
  const PartitionSums& sums;
};

/// Takes the sums of a sweep. Tiles come one after another, and within a tile its levels. Levels
/// are those of the embedding, so that the first one is SweepSpec::first_level.
class LevelSink {
 public:
  LevelSink() = default;
  virtual ~LevelSink() = default;
  LevelSink(const LevelSink&) = delete;
  LevelSink& operator=(const LevelSink&) = delete;

  /// Rows of the sums of a level, for the tile's columns: from several threads at once, see
  /// SumSink.
  virtual void put(std::uint32_t level, TileColumns columns, const SumRows& rows) = 0;
  /// All rows of this level of the tile were put, and are the sums of their terms.
  virtual void end(std::uint32_t /*level*/, TileColumns /*columns*/, const LevelProof& /*proof*/) {}
  /// Returns what gives the normalised sums of a level of a tile, all of whose sums were put: for
  /// plans that fill a tile anew. Throws UsageError where the sink cannot.
  [[nodiscard]] virtual TileFill refill(std::uint32_t level, TileColumns columns);
  /// Takes the memory that the last level of the last tile does not need, as it begins.
  virtual void spare(HugeBuffer /*memory*/) {}
  /// All tiles were put.
  virtual void finish() {}
};

/// A sink of a function, for whoever looks at sums and keeps none.
template <class Put>
class SinkOf final : public LevelSink {
 public:
  explicit SinkOf(Put put) : put_(std::move(put)) {}
  void put(std::uint32_t level, TileColumns columns, const SumRows& rows) override { put_(level, columns, rows); }

 private:
  Put put_;
};

}  // namespace unweave
