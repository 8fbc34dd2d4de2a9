// algorithms/rows/blocks/blocks.h - how each block is made, for the table alone (row_block.cpp).
#pragma once

#include <cstddef>
#include <memory>

#include "algorithms/rows/row_block.h"

namespace unweave {

/// (S^1(u) - t^0(u)) / (d(u) - 1) 2^-s, 0 where d(u) = 1: the mean of the neighbours' features
/// without u itself, one rounding to float32. Throws UsageError unless rho is 1 and there are sums.
[[nodiscard]] std::unique_ptr<RowBlock> make_open_block(const RowSource& source);

/// For each class the weight of the edges to neighbours of the training split with this label,
/// divided by that of all edges; 0 without edges. A node's own label is not among them. Throws
/// UsageError without labels or a training split.
[[nodiscard]] std::unique_ptr<RowBlock> make_label_block(const RowSource& source);

inline constexpr std::size_t kDegreeWidth = 32;
/// A 1 at floor(log2 d(u)), zeros elsewhere; d counts u itself.
[[nodiscard]] std::unique_ptr<RowBlock> make_degree_block(const RowSource& source);

}  // namespace unweave
