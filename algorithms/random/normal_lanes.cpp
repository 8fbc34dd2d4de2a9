// algorithms/random/normal_lanes.cpp - normal numbers by vectors. Highway includes this file once
// for every extension.
#include "algorithms/random/normal_lanes.h"

#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/random/normal_lanes.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// Not sorted: math-inl.h needs what highway.h defines.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE void transform(D d, double* HWY_RESTRICT first, double* HWY_RESTRICT second) {
  const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0), hn::Log(d, hn::LoadU(d, first))));
  const auto angle = hn::Mul(hn::Set(d, 2 * std::numbers::pi), hn::Sub(hn::LoadU(d, second), hn::Set(d, 0.5)));
  hn::StoreU(hn::Mul(radius, hn::Cos(d, angle)), d, first);
  hn::StoreU(hn::Mul(radius, hn::Sin(d, angle)), d, second);
}

void Normals(double* HWY_RESTRICT first, double* HWY_RESTRICT second, std::size_t count) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) transform(d, first + i, second + i);
  for (const hn::CappedTag<double, 1> one; i < count; ++i) transform(one, first + i, second + i);
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(Normals);

void normals_from_uniforms(double* first, double* second, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(Normals)(first, second, count);
}

}  // namespace unweave
#endif
