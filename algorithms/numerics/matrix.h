// algorithms/numerics/matrix.h - the dense types of the learning code: weights are F x C, one
// column a class, rows contiguous.
#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "algorithms/numerics/wiping_memory.h"

namespace unweave {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

/// Eigen counts in signed numbers, everything else here in std::size_t.
[[nodiscard]] inline Eigen::Index index_of(std::size_t n) noexcept {
  return static_cast<Eigen::Index>(n);
}
[[nodiscard]] inline std::size_t size_of(Eigen::Index n) noexcept {
  return static_cast<std::size_t>(n);
}

/// Unit roundoff of float64.
inline constexpr double kUnitRoundoff = 0x1p-53;

/// Higham's gamma_n = n u / (1 - n u): the relative error of n float64 roundings along one path of
/// a sum of products.
[[nodiscard]] inline double rounding_gamma(double n) noexcept {
  return n * kUnitRoundoff / (1 - n * kUnitRoundoff);
}

}  // namespace unweave
