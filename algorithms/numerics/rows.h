// algorithms/numerics/rows.h - training rows as arithmetic sees them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unweave {

class Ranks;

using ClassId = std::uint32_t;

/// Borrowed rows: `values` is count x features row-major, norms[i] >= the exact 2-norm of row i.
/// Must outlive its use. Where ranks share the rows, labels and norms of all rows lie on each of
/// them, and values of its own rows alone: those of [first, last), which own_rows() gives. Sums
/// over rows then go through the ranks (row_sweep.h).
struct Rows {
  const float* values = nullptr;
  const ClassId* labels = nullptr;
  const double* norms = nullptr;
  std::size_t count = 0;
  std::size_t features = 0;
  Ranks* ranks = nullptr;  ///< null: all rows lie here
  std::size_t first = 0, last = 0;

  /// Row i, which lies here.
  [[nodiscard]] const float* row(std::size_t i) const noexcept { return values + (i - first) * features; }
};

}  // namespace unweave
