// algorithms/learning/heads/softmax.cpp - l = ln sum_c exp(m_c) - m_label, which couples the
// classes. Highway includes this file once for every vector extension.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "algorithms/learning/heads/probabilities.h"
#include "algorithms/learning/heads/registry.h"
#include "algorithms/numerics/matrix.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/learning/heads/softmax.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// Not sorted: math-inl.h needs what highway.h defines.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "algorithms/learning/heads/slope_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {

/// The exponentials of a row's margins less the largest, whose own is 1 and whose place is `top`;
/// those of the others add up to `rest`, so that 1 - p_top = rest / (1 + rest) is no difference.
template <class T>
struct Exponentials {
  std::size_t top;
  T rest;
};

/// They replace the margins, with 0 at `top`.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE Exponentials<T> exponentials_of_row(D d, T* HWY_RESTRICT row, std::size_t classes) {
  const std::size_t lanes = hn::Lanes(d);
  auto most = hn::Set(d, row[0]);
  for (std::size_t c = 0; c < classes; c += lanes) {
    const auto margin = hn::LoadU(d, row + c);
    most = hn::Max(most, classes - c < lanes ? hn::IfThenElse(hn::FirstN(d, classes - c), margin, most) : margin);
  }
  const T largest = hn::GetLane(hn::MaxOfLanes(d, most));
  // Margins that are not numbers have no largest; the gradient will not be one either.
  const auto top =
      std::min<std::size_t>(static_cast<std::size_t>(std::find(row, row + classes, largest) - row), classes - 1);
  auto sum = hn::Zero(d);
  for (std::size_t c = 0; c < classes; c += lanes) {
    auto x = first_of(d, hn::Exp(d, hn::Sub(hn::LoadU(d, row + c), hn::Set(d, largest))), classes - c);
    if (top - c < lanes) x = hn::IfThenZeroElse(only_lane(d, top - c), x);  // unsigned: also past it
    sum = hn::Add(sum, x);
    store_first(d, x, classes - c, row + c);
  }
  return {top, total(d, sum)};
}

/// Bounds by which probabilities differ at most from those of margins whose errors are margin_error
/// times a row's norm; see gradient_with_error().
class ProbabilityError {
 public:
  ProbabilityError(const double* margin_error, std::size_t classes) {
    double squares = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      largest_ = std::max(largest_, margin_error[c]);
      squares += margin_error[c] * margin_error[c];
    }
    norm_ = std::sqrt(squares);
  }
  /// The bound for a row, from the bound of the likeliest class and the squared bound of the
  /// others, both for a norm of 1.
  [[nodiscard]] double of_row(double row_norm, double top, double other_squares) const {
    constexpr double kNear = 0.0024;
    if (!(row_norm * largest_ <= kNear)) return row_norm * norm_ / 2;
    return 1.01 * row_norm * std::sqrt(top * top + other_squares);
  }

 private:
  double largest_ = 0;
  double norm_ = 0;
};

SlopeSums SoftmaxSlopes64(const MarginBlock& block, const double* margin_error, double* margins,
                          double* HWY_RESTRICT class_squares, float* probabilities) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d), classes = block.classes;
  const V64 one = hn::Set(d, 1.0);
  const ProbabilityError probability_error(margin_error, classes);
  SlopeSums sums;
  for (std::size_t i = 0; i < block.count; ++i) {
    double* const HWY_RESTRICT row = margins + i * classes;
    const std::size_t label = block.labels[i];
    const auto [top, rest] = exponentials_of_row(d, row, classes);
    const double inverse = 1 / (1 + rest), beside = rest * inverse;
    const double own_slope = label == top ? -beside : row[label] * inverse - 1;
    V64 squares = hn::Zero(d), mean = squares, own = squares, both = squares, shared = squares;
    for (std::size_t c = 0; c < classes; c += lanes) {
      const std::size_t left = classes - c;
      V64 p = hn::Mul(first_of(d, hn::LoadU(d, row + c), left), hn::Set(d, inverse));
      const V64 error = hn::Mul(p, hn::LoadU(d, margin_error + c)), apart = hn::Mul(hn::Sub(one, p), error);
      mean = hn::Add(mean, error);  // without the likeliest class, as the sums after it
      own = hn::Add(own, hn::Mul(apart, apart));
      both = hn::Add(both, hn::Mul(apart, p));
      shared = hn::Add(shared, hn::Mul(p, p));
      if (top - c < lanes) p = hn::IfThenElse(only_lane(d, top - c), hn::Set(d, inverse), p);
      if (probabilities != nullptr)
        store_first(DHalf(), hn::DemoteTo(DHalf(), p), left, probabilities + i * classes + c);
      if (label - c < lanes) p = hn::IfThenElse(only_lane(d, label - c), hn::Set(d, own_slope), p);
      const V64 square = hn::Mul(p, p);
      squares = hn::Add(squares, square);
      store_first(d, p, left, row + c);
      store_first(d, hn::Add(square, hn::LoadU(d, class_squares + c)), left, class_squares + c);
    }
    const double others = total(d, mean), all = others + inverse * margin_error[top];
    const double other_squares = total(d, own) + 2 * all * total(d, both) + all * all * total(d, shared);
    const double norm = block.norms[i], slope_norm = std::sqrt(total(d, squares)), width = static_cast<double>(classes);
    sums.absolute += norm * slope_norm;
    sums.row_error += norm * (probability_error.of_row(norm, beside * margin_error[top] + others, other_squares) +
                              (kPointwiseUlps + width) * kUnitRoundoff * slope_norm + 2e-300 * width);
  }
  return sums;
}

/// Probabilities of each row in place, or slopes where labels are given.
void SoftmaxRows32(float* margins, std::size_t rows, std::size_t classes, const ClassId* labels, float* kept) {
  const D32 d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < rows; ++i) {
    float* const HWY_RESTRICT row = margins + i * classes;
    const auto [top, rest] = exponentials_of_row(d, row, classes);
    const float inverse = 1 / (1 + rest);
    row[top] = 1;
    for (std::size_t c = 0; c < classes; c += lanes) {
      const V32 p = hn::Mul(hn::LoadU(d, row + c), hn::Set(d, inverse));
      store_first(d, p, classes - c, row + c);
      if (kept != nullptr) store_first(d, p, classes - c, kept + i * classes + c);
    }
    if (labels != nullptr) row[labels[i]] = labels[i] == top ? -rest * inverse : row[labels[i]] - 1;
  }
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(SoftmaxSlopes64);
HWY_EXPORT(SoftmaxRows32);

namespace {

/// Probabilities less the target have norm at most sqrt(2); softmax has Lipschitz constant 1/2.
LossConstants softmax_loss_constants(const PublicConstants& given) {
  const double x = given.row_norm;
  return {.smoothness = x * x / 2,
          .data_gradient = std::numbers::sqrt2 * x,
          .loss_at_zero = std::log(static_cast<double>(given.classes))};
}

double softmax_row_loss(const double* margins, std::size_t classes, std::size_t label) {
  const double largest = *std::max_element(margins, margins + classes);
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c) sum += std::exp(margins[c] - largest);
  return std::log(sum) + (largest - margins[label]);
}

void softmax_slopes(double* margins, std::size_t classes, std::size_t label) {
  softmax_in_place(margins, classes);
  margins[label] -= 1;
}

void softmax_curvatures(double* margins, std::size_t rows, std::size_t classes) {
  for (std::size_t i = 0; i < rows; ++i) softmax_in_place(margins + i * classes, classes);
}

SlopeSums softmax_block_slopes(const MarginBlock& block, const double* margin_error, double* margins,
                               double* class_squares, float* probabilities) {
  return HWY_DYNAMIC_DISPATCH(SoftmaxSlopes64)(block, margin_error, margins, class_squares, probabilities);
}

void softmax_rough_slopes(const MarginBlock& block, float* margins, float* probabilities) {
  HWY_DYNAMIC_DISPATCH(SoftmaxRows32)(margins, block.count, block.classes, block.labels, probabilities);
}

void softmax_rough_curvatures(float* margins, std::size_t rows, std::size_t classes) {
  HWY_DYNAMIC_DISPATCH(SoftmaxRows32)(margins, rows, classes, nullptr, nullptr);
}

constexpr double kUnbounded = std::numeric_limits<double>::infinity();  // no paper bounds its third derivative

}  // namespace

constinit const HeadEntry kSoftmaxHead{
    .key = Head::kSoftmax,
    .name = "softmax",
    .loss_text = "sum_i [ln sum_c exp(z_i.w_c) - z_i.w_(y_i)]",
    .couples_classes = true,
    .constant_curvature = false,
    .has_probabilities = true,
    // The Hessian is diag(p) - p p^T: by Gershgorin at most 2 max p (1 - p).
    .smoothness = {.slope = 1, .curvature = 0.5, .third_printed = kUnbounded, .third = kUnbounded},
    .joint_third = std::numbers::sqrt2 / (3 * std::numbers::sqrt3),  // THEOREMS.md, Lemma 12
    .slope_at_zero = std::numbers::sqrt2,
    .least_classes = 2,
    .constants = softmax_loss_constants,
    .row_loss = softmax_row_loss,
    .slopes = softmax_slopes,
    .curvatures = softmax_curvatures,
    .probabilities = softmax_in_place,
    .log_probabilities = log_softmax_in_place,
    .block_slopes = softmax_block_slopes,
    .rough_block_slopes = softmax_rough_slopes,
    .rough_block_curvatures = softmax_rough_curvatures,
    .add_rough_curvatures = add_probability_curvatures,
};

}  // namespace unweave
#endif
