// algorithms/learning/slopes.cpp - scales values by curvatures and centres them. Highway includes this file once for
// every vector extension.
#include "algorithms/learning/slopes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/learning/slopes.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// Not sorted: the line above must come first.
#include <hwy/highway.h>

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

}  // namespace unweave
#endif
