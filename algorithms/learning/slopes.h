// algorithms/learning/slopes.h - slopes and curvatures of the losses over whole blocks of margins, by the processor's vectors.
//
// The scalar twins are derivatives() and softmax_in_place() of head.h. Margins lie row-major, classes columns, without
// gaps; a buffer of them needs kSlopeSlack elements after its end, which are read, never used and never written.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "algorithms/learning/head.h"
#include "algorithms/learning/training_set.h"

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

/// Turns margins into slopes in place, in float64. margin_error[c] * |z_i| bounds the error of margin (i, c), or for
/// softmax of its difference to the row's largest one; it and class_squares, to which sum_i r_ic^2 is added, need the
/// slack too. `curvatures`, where given, receives count x classes: for softmax probabilities.
[[nodiscard]] SlopeSums slopes_in_place(const MarginBlock& block, const double* margin_error, double* margins,
                                        double* class_squares, ShortFloat* curvatures);

/// The same in float32, without sums and bounds.
void slopes_in_place(const MarginBlock& block, float* margins, ShortFloat* curvatures);

/// Both for softmax, to which they leave it.
[[nodiscard]] SlopeSums softmax_slopes_in_place(const MarginBlock& block, const double* margin_error, double* margins,
                                                double* class_squares, ShortFloat* probabilities);
void softmax_slopes_in_place(const MarginBlock& block, float* margins, ShortFloat* probabilities);

/// Curvatures of float32 margins under a one-vs-rest head, in place.
void curvatures_in_place(Head head, float* margins, std::size_t size);

/// Probabilities of softmax of float32 margins, rows x classes, in place.
void probabilities_in_place(float* margins, std::size_t rows, std::size_t classes);

/// values[k] *= curvatures[k].
void scale_by(const ShortFloat* curvatures, float* values, std::size_t size);

/// values_ic = p_ic (values_ic - mean_i), mean_i the mean of row i weighted by its probabilities, which need not quite sum
/// to 1: the matrix by which a row is multiplied is symmetric and positive semidefinite whatever they were rounded to.
/// Both arrays need the slack.
void center_by(const ShortFloat* probabilities, float* values, std::size_t rows, std::size_t classes);
void center_by(const float* probabilities, float* values, std::size_t rows, std::size_t classes);

}  // namespace unweave
