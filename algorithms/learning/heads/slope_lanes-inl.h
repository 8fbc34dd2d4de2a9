// algorithms/learning/heads/slope_lanes-inl.h - vectors of slopes and what is done with the last,
// incomplete one. Included once for every vector extension, hence the guard that toggles.
#if defined(UNWEAVE_ALGORITHMS_SLOPE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNWEAVE_ALGORITHMS_SLOPE_LANES_INL_H_
#undef UNWEAVE_ALGORITHMS_SLOPE_LANES_INL_H_
#else
#define UNWEAVE_ALGORITHMS_SLOPE_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "algorithms/learning/heads/margin_block.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::CappedTag<double, 8>;
using D32 = hn::CappedTag<float, 16>;
using V64 = hn::Vec<D64>;
using V32 = hn::Vec<D32>;

using DHalf = hn::Rebind<float, D64>;

/// Writes `count` elements and no more: a blended store would, on some processors, also write back
/// what lies after them, which another thread may be writing.
template <class D>
HWY_INLINE void store_first(D d, hn::Vec<D> value, std::size_t count, hn::TFromD<D>* to) {
  if (count >= hn::Lanes(d)) return hn::StoreU(value, d, to);
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
  hn::Store(value, d, lanes);
  std::copy_n(lanes, count, to);
}

template <class D>
HWY_INLINE hn::Mask<D> only_lane(D d, std::size_t lane) {
  return hn::Eq(hn::Iota(d, hn::TFromD<D>{0}), hn::Set(d, static_cast<hn::TFromD<D>>(lane)));
}

/// What is left of `count` values that begin here, 0 past their end.
template <class D>
HWY_INLINE hn::Vec<D> first_of(D d, hn::Vec<D> value, std::size_t count) {
  return count >= hn::Lanes(d) ? value : hn::IfThenElseZero(hn::FirstN(d, count), value);
}

template <class D>
HWY_INLINE hn::TFromD<D> total(D d, hn::Vec<D> value) {
  return hn::GetLane(hn::SumOfLanes(d, value));
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
