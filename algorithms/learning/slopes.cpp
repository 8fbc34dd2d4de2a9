// algorithms/learning/slopes.cpp - see slopes.h; and the heads that have no file of their own yet. Highway includes this file once
// for every vector extension.
#include "algorithms/learning/slopes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/learning/heads/one_vs_rest.h"
#include "algorithms/learning/heads/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/learning/slopes.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// Not sorted: math-inl.h needs what highway.h defines.
#include <hwy/highway.h>

#include "algorithms/learning/heads/one_vs_rest-inl.h"
#include "algorithms/learning/heads/slope_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {

void Scale32(const ShortFloat* curvatures, float* values, std::size_t size) {
  const D32 d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t k = 0;
  for (; k + lanes <= size; k += lanes)
    hn::StoreU(hn::Mul(widened(d, curvatures + k), hn::LoadU(d, values + k)), d, values + k);
  for (; k < size; ++k) values[k] *= to_float(curvatures[k]);
}

template <class Scalar>
void center_rows(const Scalar* probabilities, float* values, std::size_t rows, std::size_t classes) {
  const D32 d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < rows; ++i, probabilities += classes, values += classes) {
    V32 weight = hn::Zero(d), sum = weight;
    for (std::size_t c = 0; c < classes; c += lanes) {
      const V32 p = first_of(d, widened(d, probabilities + c), classes - c);
      weight = hn::Add(weight, p);
      sum = hn::Add(sum, hn::Mul(p, first_of(d, hn::LoadU(d, values + c), classes - c)));
    }
    const V32 mean = hn::Div(hn::SumOfLanes(d, sum), hn::SumOfLanes(d, weight));
    for (std::size_t c = 0; c < classes; c += lanes) {
      const V32 p = widened(d, probabilities + c);
      store_first(d, hn::Mul(p, hn::Sub(hn::LoadU(d, values + c), mean)), classes - c, values + c);
    }
  }
}

void CenterShort32(const ShortFloat* probabilities, float* values, std::size_t rows, std::size_t classes) {
  center_rows(probabilities, values, rows, classes);
}

void CenterFloat32(const float* probabilities, float* values, std::size_t rows, std::size_t classes) {
  center_rows(probabilities, values, rows, classes);
}

struct LeastSquaresLanes {
  static constexpr double kSteepest = 1;

  template <class D, class V>
  static HWY_INLINE void derivatives(D d, V margin, V& slope, V& own_slope, V& curvature) {
    const V one = hn::Set(d, hn::TFromD<D>{1});
    slope = hn::Add(margin, one);
    own_slope = hn::Sub(margin, one);
    curvature = one;
  }
};

SlopeSums LeastSquaresSlopes64(const MarginBlock& block, const double* margin_error, double* margins,
                               double* class_squares, ShortFloat* curvatures) {
  return slopes_of_block<LeastSquaresLanes>(block, margin_error, margins, class_squares, curvatures);
}

void LeastSquaresSlopes32(float* margins, std::size_t size, ShortFloat* curvatures) {
  rough_slopes_of<LeastSquaresLanes>(margins, size, curvatures);
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(Scale32);
HWY_EXPORT(CenterShort32);
HWY_EXPORT(CenterFloat32);

SlopeSums slopes_in_place(const MarginBlock& block, const double* margin_error, double* margins, double* class_squares,
                          ShortFloat* curvatures) {
  return entry_of(block.head).block_slopes(block, margin_error, margins, class_squares, curvatures);
}

void slopes_in_place(const MarginBlock& block, float* margins, ShortFloat* curvatures) {
  entry_of(block.head).rough_block_slopes(block, margins, curvatures);
}

void curvatures_in_place(Head head, float* margins, std::size_t rows, std::size_t classes) {
  entry_of(head).rough_block_curvatures(margins, rows, classes);
}

void add_curvatures(Head head, const float* slopes, std::size_t classes, double weight, double* sum) {
  entry_of(head).add_rough_curvatures(slopes, classes, weight, sum);
}

void scale_by(const ShortFloat* curvatures, float* values, std::size_t size) {
  HWY_DYNAMIC_DISPATCH(Scale32)(curvatures, values, size);
}

void center_by(const ShortFloat* probabilities, float* values, std::size_t rows, std::size_t classes) {
  HWY_DYNAMIC_DISPATCH(CenterShort32)(probabilities, values, rows, classes);
}

void center_by(const float* probabilities, float* values, std::size_t rows, std::size_t classes) {
  HWY_DYNAMIC_DISPATCH(CenterFloat32)(probabilities, values, rows, classes);
}

HWY_EXPORT(LeastSquaresSlopes64);
HWY_EXPORT(LeastSquaresSlopes32);

namespace {

struct LeastSquaresLoss {
  static double loss(double margin, double target) noexcept {
    const double off = margin - target;
    return off * off / 2;
  }
  static Pointwise at(double margin, double target) noexcept { return {margin - target, 1}; }
  /// No model of probabilities goes with this loss: targets lie at -1 and 1, and margins between them are shares.
  static double probability(double margin) noexcept { return std::clamp((margin + 1) / 2, 0.0, 1.0); }
};
using LeastSquaresRows = OneVsRest<LeastSquaresLoss>;

/// |W^T x - y|^2 / 2 with |y| = sqrt(C), the targets of a row being +1 and -1. Every gradient bound needs R.
LossConstants least_squares_loss_constants(const PublicConstants& given) {
  const double target_norm = std::sqrt(static_cast<double>(given.classes));
  const double x = given.row_norm, residual = x * given.radius + target_norm;
  return {.smoothness = x * x,
          .data_gradient = x * residual,
          .row_lipschitz = residual + x * given.radius,
          .loss_at_zero = target_norm * target_norm / 2};
}

SlopeSums least_squares_block_slopes(const MarginBlock& block, const double* margin_error, double* margins,
                                     double* class_squares, ShortFloat* curvatures) {
  return HWY_DYNAMIC_DISPATCH(LeastSquaresSlopes64)(block, margin_error, margins, class_squares, curvatures);
}

void least_squares_rough_slopes(const MarginBlock& block, float* margins, ShortFloat* curvatures) {
  LeastSquaresRows::rough_slopes(block, margins, [&](std::size_t size) {
    HWY_DYNAMIC_DISPATCH(LeastSquaresSlopes32)(margins, size, curvatures);
  });
}

void least_squares_rough_curvatures(float* margins, std::size_t rows, std::size_t classes) {
  std::fill_n(margins, rows * classes, 1.0F);
}

void add_least_squares_curvatures(const float*, std::size_t classes, double weight, double* sum) {
  for (std::size_t c = 0; c < classes; ++c) sum[c] += weight;
}

}  // namespace

constinit const HeadEntry kLeastSquaresHead{
    .key = Head::kLeastSquares,
    .name = "least-squares",
    .loss_text = "sum_i sum_c l(z_i.w_c, y_ic)",
    .couples_classes = false,
    .constant_curvature = true,
    .has_probabilities = false,
    .smoothness = {.slope = std::numeric_limits<double>::infinity(), .curvature = 1, .third_printed = 0, .third = 0},
    .joint_third = 0,
    .slope_at_zero = 1,
    .least_classes = 1,
    .constants = least_squares_loss_constants,
    .row_loss = LeastSquaresRows::row_loss,
    .slopes = LeastSquaresRows::slopes,
    .curvatures = LeastSquaresRows::curvatures,
    .probabilities = LeastSquaresRows::probabilities,
    .log_probabilities = LeastSquaresRows::log_probabilities,
    .block_slopes = least_squares_block_slopes,
    .rough_block_slopes = least_squares_rough_slopes,
    .rough_block_curvatures = least_squares_rough_curvatures,
    .add_rough_curvatures = add_least_squares_curvatures,
};

}  // namespace unweave
#endif
