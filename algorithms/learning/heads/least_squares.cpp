// algorithms/learning/heads/least_squares.cpp - l = (m - y)^2 / 2, one-vs-rest. Highway includes
// this file once for every vector extension.
#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/learning/heads/one_vs_rest.h"
#include "algorithms/learning/heads/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/learning/heads/least_squares.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// Not sorted: the line above must come first.
#include <hwy/highway.h>

#include "algorithms/learning/heads/one_vs_rest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {

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
                               double* class_squares, float* curvatures) {
  return slopes_of_block<LeastSquaresLanes>(block, margin_error, margins, class_squares, curvatures);
}

void LeastSquaresSlopes32(float* margins, std::size_t size, float* curvatures) {
  rough_slopes_of<LeastSquaresLanes>(margins, size, curvatures);
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(LeastSquaresSlopes64);
HWY_EXPORT(LeastSquaresSlopes32);

namespace {

struct LeastSquaresLoss {
  static double loss(double margin, double target) noexcept {
    const double off = margin - target;
    return off * off / 2;
  }
  static Pointwise at(double margin, double target) noexcept { return {margin - target, 1}; }
  /// No model of probabilities goes with this loss: targets lie at -1 and 1, and margins between
  /// them are shares.
  static double probability(double margin) noexcept { return std::clamp((margin + 1) / 2, 0.0, 1.0); }
};
using LeastSquaresRows = OneVsRest<LeastSquaresLoss>;

/// |W^T x - y|^2 / 2 with |y| = sqrt(C), the targets of a row being +1 and -1. Every gradient bound
/// needs R.
LossConstants least_squares_loss_constants(const PublicConstants& given) {
  const double target_norm = std::sqrt(static_cast<double>(given.classes));
  const double x = given.row_norm, residual = x * given.radius + target_norm;
  return {.smoothness = x * x, .data_gradient = x * residual, .loss_at_zero = target_norm * target_norm / 2};
}

SlopeSums least_squares_block_slopes(const MarginBlock& block, const double* margin_error, double* margins,
                                     double* class_squares, float* curvatures) {
  return HWY_DYNAMIC_DISPATCH(LeastSquaresSlopes64)(block, margin_error, margins, class_squares, curvatures);
}

void least_squares_rough_slopes(const MarginBlock& block, float* margins, float* curvatures) {
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
