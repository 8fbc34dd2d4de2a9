// algorithms/rows/row_block.h - a block of numbers in a row, beside the weighted sums of levels. A
// block is one file of blocks/ and its line in the table of row_block.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/rows/row_source.h"
#include "engine/graph/contents.h"
#include "storage/io/types.h"

namespace unweave {

/// Gives each node the numbers of one block, a function of the present data. Any number of threads
/// may call it at once.
class RowBlock {
 public:
  virtual ~RowBlock() = default;
  [[nodiscard]] virtual std::size_t width() const = 0;
  /// Puts the width() numbers of a target there.
  virtual void write(NodeId node, float* out) const = 0;
  /// Whether a row depends on labels and splits of the node's neighbours.
  [[nodiscard]] virtual bool reads_neighbours_labels() const noexcept { return false; }
};

/// A line of the table.
struct RowBlockEntry {
  std::string_view name;
  /// Throws UsageError where the store has not what the block needs.
  std::unique_ptr<RowBlock> (*make)(const RowSource& source);
  std::size_t (*width)(std::size_t columns, std::size_t classes);  ///< numbers of the block, before there is a store
};

/// Throws UsageError unless these are blocks, each once, in the order of the table, which is that
/// in which they stand in a row.
void require_blocks(std::span<const std::string> names);
/// Throws UsageError for a name that is none.
[[nodiscard]] const RowBlockEntry& row_block(std::string_view name);

}  // namespace unweave
