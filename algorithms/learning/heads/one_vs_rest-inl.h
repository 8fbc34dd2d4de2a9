// algorithms/learning/heads/one_vs_rest-inl.h - blocks of margins by the processor's vectors: the
// kernels of a one-vs-rest head. It is included once for every vector extension, hence the guard
// that toggles.
//
// Lanes is a type with
//   static constexpr double kSteepest                               max l'' over all margins
//   static void derivatives(D d, V margin, V& slope, V& own_slope, V& curvature)
//   static V curvature(D d, V margin)                               the same alone, for float32
// where slope is dl/dm of classes that are not the row's and own_slope of the row's own. The
// curvature must not depend on the target, and |d ln l''/dm| <= 1: the bound of the error relies on
// it (objective.h).
#if defined(UNWEAVE_ALGORITHMS_ONE_VS_REST_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNWEAVE_ALGORITHMS_ONE_VS_REST_INL_H_
#undef UNWEAVE_ALGORITHMS_ONE_VS_REST_INL_H_
#else
#define UNWEAVE_ALGORITHMS_ONE_VS_REST_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>

#include "algorithms/learning/heads/head_entry.h"
#include "algorithms/learning/heads/slope_lanes-inl.h"
#include "algorithms/numerics/matrix.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {

struct RowNorms {
  double squares;  // sum of squares of the slopes
  double moved;    // sum of squares of the bounds of their errors
};

template <class Lanes>
HWY_INLINE RowNorms slopes_of_row(double* HWY_RESTRICT row, std::size_t classes, std::size_t label, double norm,
                                  const double* HWY_RESTRICT margin_error, float* HWY_RESTRICT curvatures,
                                  double* HWY_RESTRICT class_squares) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  const V64 steepest = hn::Set(d, Lanes::kSteepest), near = hn::Set(d, 0.009);
  V64 squares = hn::Zero(d), moved = hn::Zero(d);
  for (std::size_t c = 0; c < classes; c += lanes) {
    V64 slope, own_slope, curvature;
    Lanes::derivatives(d, hn::LoadU(d, row + c), slope, own_slope, curvature);
    if (label - c < lanes)  // unsigned: also past the label
      slope = hn::IfThenElse(hn::Eq(hn::Iota(d, 0.0), hn::Set(d, static_cast<double>(label - c))), own_slope, slope);
    const V64 error = hn::Mul(hn::Set(d, norm), hn::LoadU(d, margin_error + c));
    const V64 rate = hn::IfThenElse(hn::Le(error, near), hn::Mul(hn::Set(d, 1.01), curvature), steepest);
    V64 bound = hn::Mul(rate, error);
    const std::size_t left = classes - c;
    if (left < lanes) {
      const auto mask = hn::FirstN(d, left);
      bound = hn::IfThenElseZero(mask, bound);
      slope = hn::IfThenElseZero(mask, slope);
    }
    const V64 square = hn::Mul(slope, slope);
    squares = hn::Add(squares, square);
    moved = hn::Add(moved, hn::Mul(bound, bound));
    store_first(d, slope, left, row + c);
    store_first(d, hn::Add(square, hn::LoadU(d, class_squares + c)), left, class_squares + c);
    if (curvatures != nullptr) store_first(DHalf(), hn::DemoteTo(DHalf(), curvature), left, curvatures + c);
  }
  return {total(d, squares), total(d, moved)};
}

template <class Lanes>
SlopeSums slopes_of_block(const MarginBlock& block, const double* margin_error, double* margins, double* class_squares,
                          float* curvatures) {
  SlopeSums sums;
  for (std::size_t i = 0; i < block.count; ++i) {
    const std::size_t at = i * block.classes;
    const double norm = block.norms[i];
    const RowNorms row = slopes_of_row<Lanes>(margins + at, block.classes, block.labels[i], norm, margin_error,
                                              curvatures == nullptr ? nullptr : curvatures + at, class_squares);
    const double slope_norm = std::sqrt(row.squares);
    sums.absolute += norm * slope_norm;
    sums.row_error += norm * (std::sqrt(row.moved) + kPointwiseUlps * kUnitRoundoff * slope_norm +
                              1e-300 * static_cast<double>(block.classes));
  }
  return sums;
}

/// Float32 slopes of classes that are not the row's. Whole vectors of a flat array; the slack after
/// its end makes the last one whole. Stores stay inside.
template <class Lanes>
void rough_slopes_of(float* margins, std::size_t size, float* curvatures) {
  const D32 d;
  for (std::size_t k = 0; k < size; k += hn::Lanes(d)) {
    V32 slope, own_slope, curvature;
    Lanes::derivatives(d, hn::LoadU(d, margins + k), slope, own_slope, curvature);
    store_first(d, slope, size - k, margins + k);
    if (curvatures != nullptr) store_first(d, curvature, size - k, curvatures + k);
  }
}

template <class Lanes>
void rough_curvatures_of(float* margins, std::size_t size) {
  const D32 d;
  for (std::size_t k = 0; k < size; k += hn::Lanes(d))
    store_first(d, Lanes::curvature(d, hn::LoadU(d, margins + k)), size - k, margins + k);
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
