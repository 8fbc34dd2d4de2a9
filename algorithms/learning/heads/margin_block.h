// algorithms/learning/heads/margin_block.h - blocks of margins that a head's kernels turn into
// slopes, and what they report.
#pragma once

#include <cstddef>

#include "algorithms/numerics/rows.h"

namespace unweave {

enum class Head;  // registry.h

/// Elements after the end of a buffer of margins, slopes or curvatures that kernels read, never use
/// and never write.
inline constexpr std::size_t kSlopeSlack = 16;

/// Consecutive rows whose margins are at hand. labels[i] < classes.
struct MarginBlock {
  Head head{};
  const ClassId* labels = nullptr;
  const double* norms = nullptr;
  std::size_t count = 0;
  std::size_t classes = 0;
};

/// Sums over rows i of one block.
struct SlopeSums {
  double absolute = 0;   ///< sum_i |z_i| |r_i|
  double row_error = 0;  ///< sum_i |z_i| |computed r_i - r_i|, as bounded in objective.h
};

}  // namespace unweave
