// engine/graph/row_mask.h - a set of rows as a bitmap, read a block at a time, and the positions of
// its rows.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/graph/block_graph.h"
#include "storage/io/types.h"

namespace unweave {

/// A set of rows [0, n). Reading is safe on any number of threads, writing on one.
class RowMask {
 public:
  explicit RowMask(NodeId rows)
      : rows_(rows), blocks_((static_cast<std::size_t>(rows) + kBlockNodes - 1) / kBlockNodes, 0) {}

  /// Memory for a set among so many rows.
  [[nodiscard]] static std::uint64_t bytes(NodeId rows) noexcept {
    return (std::uint64_t{rows} + kBlockNodes - 1) / kBlockNodes * sizeof(std::uint32_t);
  }

  [[nodiscard]] NodeId rows() const noexcept { return rows_; }  ///< n

  void insert(NodeId row) noexcept { blocks_[row / kBlockNodes] |= std::uint32_t{1} << row % kBlockNodes; }
  [[nodiscard]] bool contains(NodeId row) const noexcept {
    return (blocks_[row / kBlockNodes] >> row % kBlockNodes & 1U) != 0;
  }
  /// Bit i tells whether row 32 block + i is in the set.
  [[nodiscard]] std::uint32_t block_bits(std::size_t block) const noexcept { return blocks_[block]; }
  /// Number of rows in the set.
  [[nodiscard]] NodeId size() const noexcept { return size({0, rows_}); }
  /// Number of rows of the set among those of a range that begins with a block and ends with one,
  /// or with the last row.
  [[nodiscard]] NodeId size(NodeRange range) const noexcept {
    NodeId rows = 0;
    for (std::size_t block = range.first / kBlockNodes; block * kBlockNodes < range.last; ++block)
      rows += static_cast<NodeId>(std::popcount(blocks_[block]));
    return rows;
  }
  /// One bit for each row of such a range, lowest bit first, in words: what files call their
  /// members.
  [[nodiscard]] std::vector<std::uint64_t> members(NodeRange range) const {
    std::vector<std::uint64_t> words((std::size_t{range.size()} + 63) / 64);
    for (std::size_t local = 0; local < range.size(); local += kBlockNodes)
      words[local / 64] |= std::uint64_t{blocks_[(range.first + local) / kBlockNodes]} << (local % 64);
    return words;
  }

 private:
  static_assert(kBlockNodes == 32, "one word of the bitmap is one block");
  NodeId rows_;
  std::vector<std::uint32_t> blocks_;
};

/// Positions of the rows of a set among themselves. A block's bits and rank lie side by side: a
/// look-up touches one cache line. Reading is safe on any number of threads.
class RowRanks {
 public:
  explicit RowRanks(const RowMask& rows) : blocks_(std::size_t{rows.rows()} / kBlockNodes + 1) {
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      const bool is_past = block * kBlockNodes >= rows.rows();
      blocks_[block] = {is_past ? 0 : rows.block_bits(block), size_};
      size_ += static_cast<NodeId>(std::popcount(blocks_[block].bits));
    }
  }
  /// Memory for a set among so many rows.
  [[nodiscard]] static std::uint64_t bytes(NodeId rows) noexcept {
    return (std::uint64_t{rows} / kBlockNodes + 1) * sizeof(Block);
  }

  [[nodiscard]] NodeId size() const noexcept { return size_; }
  [[nodiscard]] bool contains(NodeId row) const noexcept {
    return (blocks_[row / kBlockNodes].bits >> row % kBlockNodes & 1U) != 0;
  }
  /// Rows of the set below `row` <= n: where `row` stands if it is one of them.
  [[nodiscard]] NodeId before(NodeId row) const noexcept {
    const Block& block = blocks_[row / kBlockNodes];
    const std::uint32_t below = block.bits & ((std::uint32_t{1} << row % kBlockNodes) - 1);
    return block.rank + static_cast<NodeId>(std::popcount(below));
  }

 private:
  struct Block {
    std::uint32_t bits = 0;
    NodeId rank = 0;
  };
  std::vector<Block> blocks_;
  NodeId size_ = 0;
};

}  // namespace unweave
