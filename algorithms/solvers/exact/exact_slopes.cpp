// algorithms/solvers/exact/exact_slopes.cpp - kernels over whole vectors of pairs. Highway includes
// this file once for every vector extension.
#include "algorithms/solvers/exact/exact_slopes.h"

#include <algorithm>
#include <cmath>

#include "algorithms/numerics/matrix.h"
#include "algorithms/solvers/exact/pair.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/solvers/exact/exact_slopes.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// Not sorted: the line above must come first.
#include <hwy/highway.h>

#include "algorithms/solvers/exact/pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {

HWY_INLINE PairOf load(const double* high, const double* low) {
  return {hn::LoadU(PairTag(), high), hn::LoadU(PairTag(), low)};
}

HWY_INLINE void store(PairOf x, double* high, double* low) {
  hn::StoreU(x.high, PairTag(), high);
  hn::StoreU(x.low, PairTag(), low);
}

/// `targets` holds y = +1 or -1. The slope is -y / (1 + exp(y m)): with e = exp(-|m|) and q = 1 /
/// (1 + e) the probability of the side that is wrong is e q where y m >= 0, else q.
void LogisticPairs(double* high, double* low, const double* targets, std::size_t size) {
  const PairTag d;
  const PairVector zero = hn::Zero(d);
  for (std::size_t k = 0; k < size; k += hn::Lanes(d)) {
    const PairOf margin = load(high + k, low + k);
    const PairVector target = hn::LoadU(d, targets + k);
    const auto positive = hn::Ge(margin.high, zero);
    const PairOf minus = negate(margin);
    const PairOf e =
        exp({hn::IfThenElse(positive, minus.high, margin.high), hn::IfThenElse(positive, minus.low, margin.low)});
    const PairOf q = reciprocal(add({hn::Set(d, 1.0), zero}, e)), other = multiply(e, q);
    const auto agrees = hn::Ge(hn::Mul(margin.high, target), zero);
    const PairVector sign = hn::Neg(target);
    store({hn::Mul(sign, hn::IfThenElse(agrees, other.high, q.high)),
           hn::Mul(sign, hn::IfThenElse(agrees, other.low, q.low))},
          high + k, low + k);
  }
}

/// x -= y, whose entries are float64.
void SubtractNumbers(double* high, double* low, const double* y, std::size_t size) {
  const PairTag d;
  for (std::size_t k = 0; k < size; k += hn::Lanes(d))
    store(add(load(high + k, low + k), {hn::Neg(hn::LoadU(d, y + k)), hn::Zero(d)}), high + k, low + k);
}

/// x = exp(x - y).
void ExpOfDifferences(double* high, double* low, const double* y_high, const double* y_low, std::size_t size) {
  const PairTag d;
  for (std::size_t k = 0; k < size; k += hn::Lanes(d))
    store(exp(add(load(high + k, low + k), negate(load(y_high + k, y_low + k)))), high + k, low + k);
}

/// x *= y.
void MultiplyPairs(double* high, double* low, const double* y_high, const double* y_low, std::size_t size) {
  const PairTag d;
  for (std::size_t k = 0; k < size; k += hn::Lanes(d))
    store(multiply(load(high + k, low + k), load(y_high + k, y_low + k)), high + k, low + k);
}

/// The reciprocals of sums of rows, repeated for every class.
void ReciprocalSums(const double* high, const double* low, std::size_t rows, std::size_t classes, double* out_high,
                    double* out_low) {
  const PairTag d;
  for (std::size_t i = 0; i < rows; ++i) {
    PairOf sum{hn::Set(d, high[i * classes]), hn::Set(d, low[i * classes])};
    for (std::size_t c = 1; c < classes; ++c)
      sum = add(sum, {hn::Set(d, high[i * classes + c]), hn::Set(d, low[i * classes + c])});
    const PairOf inverse = reciprocal(sum);
    std::fill_n(out_high + i * classes, classes, hn::GetLane(inverse.high));
    std::fill_n(out_low + i * classes, classes, hn::GetLane(inverse.low));
  }
}

/// e / (1 + e)^2, e = exp(-|m|).
void LogisticCurvatures(double* margins, std::size_t size) {
  const PairTag d;
  const PairVector one = hn::Set(d, 1.0);
  for (std::size_t k = 0; k < size; k += hn::Lanes(d)) {
    const PairVector e = exp({hn::Neg(hn::Abs(hn::LoadU(d, margins + k))), hn::Zero(d)}).high;
    const PairVector q = hn::Div(one, hn::Add(one, e));
    hn::StoreU(hn::Mul(e, hn::Mul(q, q)), d, margins + k);
  }
}

/// x = exp(x), x <= 2^-20.
void Exponentials(double* x, std::size_t size) {
  const PairTag d;
  for (std::size_t k = 0; k < size; k += hn::Lanes(d))
    hn::StoreU(exp({hn::LoadU(d, x + k), hn::Zero(d)}).high, d, x + k);
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(LogisticPairs);
HWY_EXPORT(SubtractNumbers);
HWY_EXPORT(ExpOfDifferences);
HWY_EXPORT(MultiplyPairs);
HWY_EXPORT(ReciprocalSums);
HWY_EXPORT(LogisticCurvatures);
HWY_EXPORT(Exponentials);

namespace {

constexpr double kSquare = kUnitRoundoff * kUnitRoundoff;
constexpr double kTiny = 0x1p-126;  // what exp leaves out

/// exp does not see what the slack happens to hold.
void clear_slack(const PairBlock& block) {
  const std::size_t size = block.count * block.classes;
  std::fill_n(block.high + size, kPairSlack, 0.0);
  std::fill_n(block.low + size, kPairSlack, 0.0);
}

/// `own` in the column of each row's label, `other` elsewhere.
void fill_targets(const PairBlock& block, double own, double other, double* targets) {
  std::fill_n(targets, block.count * block.classes + kPairSlack, other);
  for (std::size_t i = 0; i < block.count; ++i) targets[i * block.classes + block.labels[i]] = own;
}

void logistic_in_pairs(const PairBlock& block, double* scratch, double* errors) {
  const std::size_t size = block.count * block.classes;
  fill_targets(block, 1, -1, scratch);
  HWY_DYNAMIC_DISPATCH(LogisticPairs)(block.high, block.low, scratch, size);
  for (std::size_t k = 0; k < size; ++k) errors[k] = kBoundSlack * (0x1p-91 * std::abs(block.high[k]) + kTiny);
}

void least_squares_in_pairs(const PairBlock& block, double* scratch, double* errors) {
  const std::size_t size = block.count * block.classes;
  for (std::size_t k = 0; k < size; ++k) errors[k] = kBoundSlack * 3.1 * kSquare * (std::abs(block.high[k]) + 1);
  fill_targets(block, 1, -1, scratch);
  HWY_DYNAMIC_DISPATCH(SubtractNumbers)(block.high, block.low, scratch, size);
}

void softmax_in_pairs(const PairBlock& block, double* scratch, double* errors) {
  const std::size_t classes = block.classes, size = block.count * classes;
  double *const high = scratch, *const low = scratch + size + kPairSlack;
  const double width = static_cast<double>(classes);
  for (std::size_t i = 0; i < block.count; ++i) {
    const double* const row = block.high + i * classes;
    const auto top = static_cast<std::size_t>(std::max_element(row, row + classes) - row);
    double largest = 0;
    for (std::size_t c = 0; c < classes; ++c) largest = std::max(largest, std::abs(row[c]));
    errors[i] = kBoundSlack * (2 * (0x1p-92 + 6.2 * kSquare * largest) + (3.1 * width + 27) * kSquare + width * kTiny);
    std::fill_n(high + i * classes, classes, row[top]);
    std::fill_n(low + i * classes, classes, block.low[i * classes + top]);
  }
  std::fill_n(high + size, kPairSlack, 0.0);
  std::fill_n(low + size, kPairSlack, 0.0);
  HWY_DYNAMIC_DISPATCH(ExpOfDifferences)(block.high, block.low, high, low, size);
  HWY_DYNAMIC_DISPATCH(ReciprocalSums)(block.high, block.low, block.count, classes, high, low);
  HWY_DYNAMIC_DISPATCH(MultiplyPairs)(block.high, block.low, high, low, size);
  fill_targets(block, 1, 0, high);
  HWY_DYNAMIC_DISPATCH(SubtractNumbers)(block.high, block.low, high, size);
}

}  // namespace

bool has_exact_slopes(Head head) noexcept {
  return head == Head::kLogistic || head == Head::kLeastSquares || head == Head::kSoftmax;
}

void slopes_in_pairs(const PairBlock& block, double* scratch, double* errors) {
  clear_slack(block);
  if (couples_classes(block.head)) return softmax_in_pairs(block, scratch, errors);
  if (constant_curvature(block.head)) return least_squares_in_pairs(block, scratch, errors);
  logistic_in_pairs(block, scratch, errors);
}

void curvatures_by_own_exp(Head head, double* margins, std::size_t rows, std::size_t classes) {
  const std::size_t size = rows * classes;
  if (constant_curvature(head)) {
    std::fill_n(margins, size, 1.0);
    return;
  }
  std::fill_n(margins + size, kPairSlack, 0.0);
  if (!couples_classes(head)) return HWY_DYNAMIC_DISPATCH(LogisticCurvatures)(margins, size);
  for (std::size_t i = 0; i < rows; ++i) {
    double* const row = margins + i * classes;
    const double top = *std::max_element(row, row + classes);
    for (std::size_t c = 0; c < classes; ++c) row[c] -= top;
  }
  HWY_DYNAMIC_DISPATCH(Exponentials)(margins, size);
  for (std::size_t i = 0; i < rows; ++i) {
    double* const row = margins + i * classes;
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += row[c];
    const double inverse = 1 / sum;
    for (std::size_t c = 0; c < classes; ++c) row[c] *= inverse;
  }
}

}  // namespace unweave
#endif
