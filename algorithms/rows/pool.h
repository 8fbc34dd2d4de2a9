// algorithms/rows/pool.h - rows of whole graphs from the rows of their nodes, by exact sums.
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/rows/row_program.h"

namespace unweave {

/// Adds rint(2^24 x) of each number x of a row to the sums. Rows have norm 1 at most, so that the
/// sums of 2^29 rows stay below 2^53; they depend on no order, and a row leaves them by
/// subtraction.
void add_to_pool(std::span<const float> row, std::span<std::int64_t> sums) noexcept;

/// float32(2^-24 S / D) of each sum S over `nodes` rows, at least one: D is the number of rows, its
/// square root or the divisor of the pool. Each is one float64 division and one rounding.
void divide_pool(std::span<const std::int64_t> sums, std::uint64_t nodes, const Pool& pool, float* out) noexcept;

}  // namespace unweave
