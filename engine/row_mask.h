// engine/row_mask.h - a set of rows as a bitmap, read a block at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/block_graph.h"
#include "storage/types.h"

namespace unweave {

/// A set of rows [0, n). Reading is safe on any number of threads, writing on one.
class RowMask {
 public:
  explicit RowMask(NodeId rows)
      : rows_(rows), blocks_((static_cast<std::size_t>(rows) + kBlockNodes - 1) / kBlockNodes, 0) {}

  [[nodiscard]] NodeId rows() const noexcept { return rows_; }  ///< n

  void insert(NodeId row) noexcept { blocks_[row / kBlockNodes] |= std::uint32_t{1} << row % kBlockNodes; }
  [[nodiscard]] bool contains(NodeId row) const noexcept {
    return (blocks_[row / kBlockNodes] >> row % kBlockNodes & 1U) != 0;
  }
  /// Bit i tells whether row 32 block + i is in the set.
  [[nodiscard]] std::uint32_t block_bits(std::size_t block) const noexcept { return blocks_[block]; }
  /// Number of rows in the set.
  [[nodiscard]] NodeId size() const noexcept {
    NodeId rows = 0;
    for (const std::uint32_t bits : blocks_) rows += static_cast<NodeId>(std::popcount(bits));
    return rows;
  }

 private:
  static_assert(kBlockNodes == 32, "one word of the bitmap is one block");
  NodeId rows_;
  std::vector<std::uint32_t> blocks_;
};

}  // namespace unweave
