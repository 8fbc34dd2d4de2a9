// algorithms/learning/heads/margin_block.h - blocks of margins that a head's kernels turn into slopes, and what they
// report.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "algorithms/numerics/rows.h"

namespace unweave {

enum class Head;  // registry.h

/// Elements after the end of a buffer of margins, slopes or curvatures that kernels read, never use and never write.
inline constexpr std::size_t kSlopeSlack = 16;

/// A curvature at rest: the upper half of a float32, rounded to nearest. Curvatures steer and are never a result.
using ShortFloat = std::uint16_t;

[[nodiscard]] inline float to_float(ShortFloat value) noexcept {
  return std::bit_cast<float>(std::uint32_t{value} << 16);
}

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
