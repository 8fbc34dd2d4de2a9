// algorithms/learning/slopes.cpp - scales values by curvatures and centres them. Highway includes
// this file once for every vector extension.
#include "algorithms/learning/slopes.h"

#include <algorithm>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/learning/slopes.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// Not sorted: the line above must come first.
#include <hwy/highway.h>

#include "algorithms/learning/heads/slope_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {

void Scale32(const float* curvatures, float* values, std::size_t size) {
  const D32 d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t k = 0;
  for (; k + lanes <= size; k += lanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, curvatures + k), hn::LoadU(d, values + k)), d, values + k);
  for (; k < size; ++k) values[k] *= curvatures[k];
}

/// The likeliest class of a row: the first of the largest probabilities.
HWY_INLINE std::size_t likeliest(const float* probabilities, std::size_t classes) {
  const D32 d;
  const std::size_t lanes = hn::Lanes(d);
  V32 most = first_of(d, hn::LoadU(d, probabilities), classes);
  if (classes > lanes) {
    for (std::size_t c = lanes; c < classes; c += lanes)
      most = hn::Max(most, first_of(d, hn::LoadU(d, probabilities + c), classes - c));
  }
  const V32 largest = hn::MaxOfLanes(d, most);
  for (std::size_t c = 0; c < classes; c += lanes) {
    const std::intptr_t lane =
        hn::FindFirstTrue(d, hn::Eq(first_of(d, hn::LoadU(d, probabilities + c), classes - c), largest));
    if (lane >= 0) return std::min(c + static_cast<std::size_t>(lane), classes - 1);
  }
  return 0;  // what is no number is not its own largest
}

/// A row that is sure of its class has a mean next to that class's value, from which it is told
/// apart by what the others weigh, perhaps 1e-10. So all values are taken relative to that one: the
/// mean is then a sum over the others.
void Center32(const float* probabilities, float* values, std::size_t rows, std::size_t classes) {
  const D32 d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < rows; ++i, probabilities += classes, values += classes) {
    const V32 own = hn::Set(d, values[likeliest(probabilities, classes)]);
    V32 weight = hn::Zero(d), sum = weight;
    for (std::size_t c = 0; c < classes; c += lanes) {
      const V32 p = first_of(d, hn::LoadU(d, probabilities + c), classes - c);
      weight = hn::Add(weight, p);
      sum = hn::Add(sum, hn::Mul(p, first_of(d, hn::Sub(hn::LoadU(d, values + c), own), classes - c)));
    }
    const V32 mean = hn::Div(hn::SumOfLanes(d, sum), hn::SumOfLanes(d, weight));
    for (std::size_t c = 0; c < classes; c += lanes) {
      const V32 p = hn::LoadU(d, probabilities + c);
      store_first(d, hn::Mul(p, hn::Sub(hn::Sub(hn::LoadU(d, values + c), own), mean)), classes - c, values + c);
    }
  }
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(Scale32);
HWY_EXPORT(Center32);

SlopeSums slopes_in_place(const MarginBlock& block, const double* margin_error, double* margins, double* class_squares,
                          float* curvatures) {
  return entry_of(block.head).block_slopes(block, margin_error, margins, class_squares, curvatures);
}

void slopes_in_place(const MarginBlock& block, float* margins, float* curvatures) {
  entry_of(block.head).rough_block_slopes(block, margins, curvatures);
}

void curvatures_in_place(Head head, float* margins, std::size_t rows, std::size_t classes) {
  entry_of(head).rough_block_curvatures(margins, rows, classes);
}

void add_curvatures(Head head, const float* slopes, std::size_t classes, double weight, double* sum) {
  entry_of(head).add_rough_curvatures(slopes, classes, weight, sum);
}

void scale_by(const float* curvatures, float* values, std::size_t size) {
  HWY_DYNAMIC_DISPATCH(Scale32)(curvatures, values, size);
}

void center_by(const float* probabilities, float* values, std::size_t rows, std::size_t classes) {
  HWY_DYNAMIC_DISPATCH(Center32)(probabilities, values, rows, classes);
}

}  // namespace unweave
#endif
