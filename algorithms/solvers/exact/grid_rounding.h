// algorithms/solvers/exact/grid_rounding.h - weights rounded to a public grid, and which of them
// are decided.
#pragma once

#include <vector>

#include "algorithms/numerics/matrix.h"

namespace unweave {

/// A point known up to a radius, rounded coordinate by coordinate to the nearest multiple of
/// 2^-bits.
struct GridRounding {
  Matrix whole;                        ///< F x C: multiples of 2^-bits, whole numbers below 2^53
  std::vector<std::size_t> undecided;  ///< a system: its coordinates near a boundary of the grid, between two multiples
  std::size_t feature = 0, of_class = 0;  ///< one of these, where there is one
};

/// Rounds point + step, |(point + step) - truth|_s <= radius[s], a class each, or one for all
/// classes. A coordinate that is not undecided has the multiple nearest to the truth. What has 2^52
/// steps of the grid or more, or is no number, is undecided.
[[nodiscard]] GridRounding round_to_grid(const Matrix& point, const Matrix& step, const Vector& radius, int bits);

}  // namespace unweave
