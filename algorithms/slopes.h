// algorithms/slopes.h - slopes and curvatures of the losses over whole blocks of margins, by the processor's vectors.
//
// The scalar twins are derivatives() of head.h. Margins lie row-major, classes columns, without gaps; a buffer of them
// needs kSlopeSlack elements after its end, which are read, never used and never written.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "algorithms/head.h"
#include "algorithms/training_set.h"

namespace unweave {

inline constexpr std::size_t kSlopeSlack = 16;

/// A curvature at rest: the upper half of a float32, rounded to nearest. Curvatures steer and are never a result.
using ShortFloat = std::uint16_t;
inline constexpr ShortFloat kShortOne = 0x3f80;

[[nodiscard]] inline float to_float(ShortFloat value) noexcept {
  return std::bit_cast<float>(std::uint32_t{value} << 16);
}

/// Consecutive rows whose margins are at hand. labels[i] < classes.
struct MarginBlock {
  Head head = Head::kLogistic;
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

/// Turns margins into slopes in place, in float64. margin_error[c] * |z_i| bounds the error of margin (i, c); it and
/// class_squares, to which sum_i r_ic^2 is added, need the slack too. `curvatures`, where given, receives count x classes.
[[nodiscard]] SlopeSums slopes_in_place(const MarginBlock& block, const double* margin_error, double* margins,
                                        double* class_squares, ShortFloat* curvatures);

/// The same in float32, without sums and bounds.
void slopes_in_place(const MarginBlock& block, float* margins, ShortFloat* curvatures);

/// Curvatures of float32 margins, in place.
void curvatures_in_place(Head head, float* margins, std::size_t size);

/// values[k] *= curvatures[k].
void scale_by(const ShortFloat* curvatures, float* values, std::size_t size);

}  // namespace unweave
