// algorithms/learning/slopes.cpp - see slopes.h. Highway includes this file once for every vector extension.
#include "algorithms/learning/slopes.h"

#include <algorithm>
#include <cmath>

#include "algorithms/numerics/matrix.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/learning/slopes.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// Not sorted: math-inl.h needs what highway.h defines.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "algorithms/learning/slope_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {

/// e = exp(-|m|) and q = 1 / (1 + e): the probability of the likelier side is q, of the other e q, the curvature e q^2.
template <class D, class V>
HWY_INLINE void logistic_parts(D d, V margin, V& e, V& q) {
  const V one = hn::Set(d, hn::TFromD<D>{1});
  e = hn::Exp(d, hn::Neg(hn::Abs(margin)));
  q = hn::Div(one, hn::Add(one, e));
}

template <Head kHead>
HWY_INLINE void derivatives_of(D64 d, V64 margin, V64& slope, V64& own_slope, V64& curvature) {
  if constexpr (kHead == Head::kLogistic) {
    V64 e, q;
    logistic_parts(d, margin, e, q);
    const V64 other = hn::Mul(e, q);
    const auto positive = hn::Ge(margin, hn::Zero(d));
    slope = hn::IfThenElse(positive, q, other);
    own_slope = hn::Neg(hn::IfThenElse(positive, other, q));
    curvature = hn::Mul(other, q);
  } else {
    slope = hn::Add(margin, hn::Set(d, 1.0));
    own_slope = hn::Sub(margin, hn::Set(d, 1.0));
    curvature = hn::Set(d, 1.0);
  }
}

struct RowNorms {
  double squares;  // of the slopes
  double moved;    // of the bounds of their errors
};

template <Head kHead>
HWY_INLINE RowNorms slopes_of_row(double* HWY_RESTRICT row, std::size_t classes, std::size_t label, double norm,
                                  const double* HWY_RESTRICT margin_error, ShortFloat* HWY_RESTRICT curvatures,
                                  double* HWY_RESTRICT class_squares) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  const V64 steepest = hn::Set(d, kHead == Head::kLogistic ? 0.25 : 1.0), near = hn::Set(d, 0.009);
  V64 squares = hn::Zero(d), moved = hn::Zero(d);
  for (std::size_t c = 0; c < classes; c += lanes) {
    V64 slope, own_slope, curvature;
    derivatives_of<kHead>(d, hn::LoadU(d, row + c), slope, own_slope, curvature);
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
    if (curvatures != nullptr)
      store_first(D16Half(), shortened(DHalf(), hn::DemoteTo(DHalf(), curvature)), left, curvatures + c);
  }
  return {total(d, squares), total(d, moved)};
}

template <Head kHead>
SlopeSums slopes_of_block(const MarginBlock& block, const double* margin_error, double* margins, double* class_squares,
                          ShortFloat* curvatures) {
  SlopeSums sums;
  for (std::size_t i = 0; i < block.count; ++i) {
    const std::size_t at = i * block.classes;
    const double norm = block.norms[i];
    const RowNorms row = slopes_of_row<kHead>(margins + at, block.classes, block.labels[i], norm, margin_error,
                                              curvatures == nullptr ? nullptr : curvatures + at, class_squares);
    const double slope_norm = std::sqrt(row.squares);
    sums.absolute += norm * slope_norm;
    sums.row_error += norm * (std::sqrt(row.moved) + kPointwiseUlps * kUnitRoundoff * slope_norm +
                              1e-300 * static_cast<double>(block.classes));
  }
  return sums;
}

SlopeSums Slopes64(const MarginBlock& block, const double* margin_error, double* margins, double* class_squares,
                   ShortFloat* curvatures) {
  return block.head == Head::kLogistic
             ? slopes_of_block<Head::kLogistic>(block, margin_error, margins, class_squares, curvatures)
             : slopes_of_block<Head::kLeastSquares>(block, margin_error, margins, class_squares, curvatures);
}

/// Whole vectors of a flat array; the slack after its end makes the last one whole. Stores stay inside.
void Slopes32(float* margins, std::size_t size, ShortFloat* curvatures) {
  const D32 d;
  for (std::size_t k = 0; k < size; k += hn::Lanes(d)) {
    const V32 margin = hn::LoadU(d, margins + k);
    V32 e, q;
    logistic_parts(d, margin, e, q);
    const V32 other = hn::Mul(e, q);
    store_first(d, hn::IfThenElse(hn::Ge(margin, hn::Zero(d)), q, other), size - k, margins + k);
    if (curvatures != nullptr) store_first(D16U(), shortened(d, hn::Mul(other, q)), size - k, curvatures + k);
  }
}

void Curvatures32(float* margins, std::size_t size) {
  const D32 d;
  for (std::size_t k = 0; k < size; k += hn::Lanes(d)) {
    V32 e, q;
    logistic_parts(d, hn::LoadU(d, margins + k), e, q);
    store_first(d, hn::Mul(e, hn::Mul(q, q)), size - k, margins + k);
  }
}

void Scale32(const ShortFloat* curvatures, float* values, std::size_t size) {
  const D32 d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t k = 0;
  for (; k + lanes <= size; k += lanes)
    hn::StoreU(hn::Mul(widened(d, curvatures + k), hn::LoadU(d, values + k)), d, values + k);
  for (; k < size; ++k) values[k] *= to_float(curvatures[k]);
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(Slopes64);
HWY_EXPORT(Slopes32);
HWY_EXPORT(Curvatures32);
HWY_EXPORT(Scale32);

SlopeSums slopes_in_place(const MarginBlock& block, const double* margin_error, double* margins, double* class_squares,
                          ShortFloat* curvatures) {
  if (couples_classes(block.head))
    return softmax_slopes_in_place(block, margin_error, margins, class_squares, curvatures);
  return HWY_DYNAMIC_DISPATCH(Slopes64)(block, margin_error, margins, class_squares, curvatures);
}

void slopes_in_place(const MarginBlock& block, float* margins, ShortFloat* curvatures) {
  if (couples_classes(block.head)) return softmax_slopes_in_place(block, margins, curvatures);
  const std::size_t size = block.count * block.classes;
  std::vector<float> own(block.count);
  const auto place = [&](std::size_t i) { return i * block.classes + block.labels[i]; };
  for (std::size_t i = 0; i < block.count; ++i) own[i] = margins[place(i)];
  if (block.head == Head::kLogistic) {
    HWY_DYNAMIC_DISPATCH(Slopes32)(margins, size, curvatures);
  } else {
    for (std::size_t k = 0; k < size; ++k) margins[k] += 1.0F;
    if (curvatures != nullptr) std::fill_n(curvatures, size, kShortOne);
  }
  for (std::size_t i = 0; i < block.count; ++i)
    margins[place(i)] = static_cast<float>(derivatives(block.head, static_cast<double>(own[i]), 1).slope);
}

void curvatures_in_place(Head head, float* margins, std::size_t size) {
  if (head == Head::kLogistic)
    HWY_DYNAMIC_DISPATCH(Curvatures32)(margins, size);
  else
    std::fill_n(margins, size, 1.0F);
}

void scale_by(const ShortFloat* curvatures, float* values, std::size_t size) {
  HWY_DYNAMIC_DISPATCH(Scale32)(curvatures, values, size);
}

}  // namespace unweave
#endif
