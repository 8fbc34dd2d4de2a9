// algorithms/pushed_rows.h - rows that an update has to push: what each has not told its neighbours yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/memory.h"
#include "storage/types.h"

namespace unweave {

/// Rows to push, one after another, as a tile to gather from.
struct PushSources {
  std::vector<NodeId> nodes;
  std::vector<std::int32_t> deltas;  ///< nodes x columns, then kTilePadding zeros
  Reservation memory;                ///< of both
};

/// Rows to push as they are found, in chunks charged to the budget: nothing is copied as they grow in number.
class PushedRows {
 public:
  /// `budget` must outlive this object.
  PushedRows(std::uint32_t columns, MemoryBudget& budget) : columns_(columns), budget_(&budget) {}

  /// Adds a row, delta[columns]. Throws ResourceError.
  void add(NodeId node, const std::int32_t* delta);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The rows of all parts in their order. Their memory goes over to the result piece by piece, so that little more than
  /// one copy exists at a time.
  [[nodiscard]] static PushSources joined(std::vector<PushedRows> parts, std::uint32_t columns, MemoryBudget& budget);

 private:
  struct Chunk {
    Reservation memory;
    std::vector<NodeId> nodes;
    std::vector<std::int32_t> deltas;
  };
  std::uint32_t columns_;
  MemoryBudget* budget_;
  std::size_t size_ = 0;
  std::vector<Chunk> chunks_;
};

}  // namespace unweave
