// storage/codec/half.cpp - converts 16-bit numbers by code for each instruction set, chosen at run
// time.
#include "storage/codec/half.h"

#include <algorithm>
#include <array>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "storage/codec/half.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kMostLanes = 16;
using Floats = hn::CappedTag<float, kMostLanes>;
using Words = hn::Rebind<std::uint32_t, Floats>;
using Bits = hn::Rebind<Half, Floats>;
using Halves = hn::Rebind<hwy::float16_t, Floats>;

HWY_INLINE void widen_vector(const Half* in, float* out) {
  hn::StoreU(hn::PromoteTo(Floats(), hn::BitCast(Halves(), hn::LoadU(Bits(), in))), Floats(), out);
}

// Some instruction sets demote to the nearest half, others cut off, and some lose the sign of what
// becomes zero. All give one of the two halves around a magnitude: where that is above it, the half
// before, whose bits are one less.
HWY_INLINE void truncate_vector(const float* in, Half* out) {
  const auto value = hn::LoadU(Floats(), in);
  const auto magnitude = hn::Min(hn::Abs(value), hn::Set(Floats(), 65504.0F));
  const auto demoted = hn::DemoteTo(Halves(), magnitude);
  const auto above = hn::Gt(hn::PromoteTo(Floats(), demoted), magnitude);
  const auto bits = hn::PromoteTo(Words(), hn::BitCast(Bits(), demoted));
  const auto one = hn::IfThenElseZero(hn::RebindMask(Words(), above), hn::Set(Words(), 1));
  const auto sign = hn::ShiftLeft<15>(hn::ShiftRight<31>(hn::BitCast(Words(), value)));
  const auto words = hn::Or(hn::Sub(bits, one), sign);
  // All lanes are below 2^16; signed, because that is the demotion that every instruction set has.
  hn::StoreU(hn::DemoteTo(Bits(), hn::BitCast(hn::RebindToSigned<Words>(), words)), Bits(), out);
}

template <class From, class To, class Convert>
HWY_INLINE void for_each_vector(std::span<const From> in, To* out, const Convert& convert) {
  const std::size_t lanes = hn::Lanes(Floats());
  std::size_t i = 0;
  for (; i + lanes <= in.size(); i += lanes) convert(in.data() + i, out + i);
  if (i == in.size()) return;
  std::array<From, kMostLanes> last{};
  std::array<To, kMostLanes> converted;
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(i), in.end(), last.begin());
  convert(last.data(), converted.data());
  std::copy_n(converted.begin(), in.size() - i, out + i);
}

void widen(std::span<const Half> halves, float* out) {
  for_each_vector(halves, out, [](const Half* from, float* to) HWY_ATTR { widen_vector(from, to); });
}

void truncate(std::span<const float> values, Half* out) {
  for_each_vector(values, out, [](const float* from, Half* to) HWY_ATTR { truncate_vector(from, to); });
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(widen);
HWY_EXPORT(truncate);

void widen_halves(std::span<const Half> halves, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(widen)(halves, out);
}

void truncate_to_halves(std::span<const float> values, Half* out) noexcept {
  HWY_DYNAMIC_DISPATCH(truncate)(values, out);
}

void truncate_to_halves(std::span<float> values) noexcept {
  std::array<Half, 256> halves;
  for (std::size_t at = 0; at < values.size(); at += halves.size()) {
    const auto part = values.subspan(at, std::min(halves.size(), values.size() - at));
    truncate_to_halves(part, halves.data());
    widen_halves(std::span(halves).first(part.size()), part.data());
  }
}

}  // namespace unweave
#endif  // HWY_ONCE
