// algorithms/learning/heads/logistic.cpp - l = ln(1 + exp(-y m)), one-vs-rest. Highway includes
// this file once for every vector extension.
#include "algorithms/learning/heads/logistic.h"

#include <cmath>
#include <numbers>

#include "algorithms/learning/heads/probabilities.h"
#include "algorithms/learning/heads/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/learning/heads/logistic.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// Not sorted: math-inl.h needs what highway.h defines.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "algorithms/learning/heads/one_vs_rest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {

struct LogisticLanes {
  static constexpr double kSteepest = 0.25;

  /// e = exp(-|m|) and q = 1 / (1 + e): the probability of the likelier side is q, of the other e
  /// q, the curvature e q^2.
  template <class D, class V>
  static HWY_INLINE void parts(D d, V margin, V& e, V& q) {
    const V one = hn::Set(d, hn::TFromD<D>{1});
    e = hn::Exp(d, hn::Neg(hn::Abs(margin)));
    q = hn::Div(one, hn::Add(one, e));
  }

  template <class D, class V>
  static HWY_INLINE void derivatives(D d, V margin, V& slope, V& own_slope, V& curvature) {
    V e, q;
    parts(d, margin, e, q);
    const V other = hn::Mul(e, q);
    const auto positive = hn::Ge(margin, hn::Zero(d));
    slope = hn::IfThenElse(positive, q, other);
    own_slope = hn::Neg(hn::IfThenElse(positive, other, q));
    curvature = hn::Mul(other, q);
  }

  template <class D, class V>
  static HWY_INLINE V curvature(D d, V margin) {
    V e, q;
    parts(d, margin, e, q);
    return hn::Mul(e, hn::Mul(q, q));
  }
};

SlopeSums LogisticSlopes64(const MarginBlock& block, const double* margin_error, double* margins, double* class_squares,
                           float* curvatures) {
  return slopes_of_block<LogisticLanes>(block, margin_error, margins, class_squares, curvatures);
}

void LogisticSlopes32(float* margins, std::size_t size, float* curvatures) {
  rough_slopes_of<LogisticLanes>(margins, size, curvatures);
}

void LogisticCurvatures32(float* margins, std::size_t size) {
  rough_curvatures_of<LogisticLanes>(margins, size);
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(LogisticSlopes64);
HWY_EXPORT(LogisticSlopes32);
HWY_EXPORT(LogisticCurvatures32);

namespace {

struct LogisticLoss {
  static double loss(double margin, double target) noexcept { return logistic_loss(margin, target); }
  static Pointwise at(double margin, double target) noexcept { return logistic_at(margin, target); }
  static double probability(double margin) noexcept { return 1 / (1 + std::exp(-margin)); }
};
using LogisticRows = OneVsRest<LogisticLoss>;

/// Each head's slope is at most 1 and its curvature at most 1/4; heads are orthogonal blocks.
LossConstants logistic_loss_constants(const PublicConstants& given) {
  const double x = given.row_norm, classes = static_cast<double>(given.classes), root = std::sqrt(classes);
  return {.smoothness = x * x / 4, .data_gradient = root * x, .loss_at_zero = classes * std::numbers::ln2};
}

void logistic_log_probabilities(double* margins, std::size_t classes) {
  for (std::size_t c = 0; c < classes; ++c) margins[c] = -logistic_loss(margins[c], 1);
  log_softmax_in_place(margins, classes);
}

SlopeSums logistic_block_slopes(const MarginBlock& block, const double* margin_error, double* margins,
                                double* class_squares, float* curvatures) {
  return HWY_DYNAMIC_DISPATCH(LogisticSlopes64)(block, margin_error, margins, class_squares, curvatures);
}

void logistic_rough_slopes(const MarginBlock& block, float* margins, float* curvatures) {
  LogisticRows::rough_slopes(block, margins, [&](std::size_t size) {
    HWY_DYNAMIC_DISPATCH(LogisticSlopes32)(margins, size, curvatures);
  });
}

void logistic_rough_curvatures(float* margins, std::size_t rows, std::size_t classes) {
  HWY_DYNAMIC_DISPATCH(LogisticCurvatures32)(margins, rows * classes);
}

}  // namespace

constinit const HeadEntry kLogisticHead{
    .key = Head::kLogistic,
    .name = "logistic",
    .loss_text = "sum_i sum_c l(z_i.w_c, y_ic)",
    .couples_classes = false,
    .constant_curvature = false,
    .has_probabilities = true,
    .smoothness = {.slope = 1, .curvature = 0.25, .third_printed = 0.25, .third = 1 / (6 * std::numbers::sqrt3)},
    .joint_third = 1 / (6 * std::numbers::sqrt3),  // THEOREMS.md, Lemma 12
    .slope_at_zero = 1,
    .least_classes = 1,
    .constants = logistic_loss_constants,
    .row_loss = LogisticRows::row_loss,
    .slopes = LogisticRows::slopes,
    .curvatures = LogisticRows::curvatures,
    .probabilities = LogisticRows::probabilities,
    .log_probabilities = logistic_log_probabilities,
    .block_slopes = logistic_block_slopes,
    .rough_block_slopes = logistic_rough_slopes,
    .rough_block_curvatures = logistic_rough_curvatures,
    .add_rough_curvatures = add_probability_curvatures,
};

}  // namespace unweave
#endif
