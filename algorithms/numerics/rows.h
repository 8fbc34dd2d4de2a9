// algorithms/numerics/rows.h - training rows as arithmetic sees them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unweave {

using ClassId = std::uint32_t;

/// Borrowed rows: `values` is count x features row-major, norms[i] >= the exact 2-norm of row i. Must outlive its use.
struct Rows {
  const float* values = nullptr;
  const ClassId* labels = nullptr;
  const double* norms = nullptr;
  std::size_t count = 0;
  std::size_t features = 0;
};

}  // namespace unweave
