// algorithms/solvers/exact/pairs-inl.h - numbers of about 106 bits as unevaluated sums of two
// float64, by the processor's vectors. It is included once for every vector extension, hence the
// guard that toggles.
//
// A pair (high, low) has |low| <= u |high|, u = 2^-53. Error bounds, with x and y the exact values
// of the arguments:
//   add         3.1 u^2 (|x| + |y|)      the low words' sum errs by 2 u^2, the sum with e by 2 u^2 (1 + 2u), halves of each
//   multiply    8.1 u^2 |x y|            two inner products 1 each, their sum 2, the outer sum 3, low times low left out 1
//   reciprocal  11 u^2 / |y|             one Newton step from fl(1 / high); 1 - p is exact by Sterbenz' lemma
//   exp         2^-92 relative           for -88 <= x <= 2^-20; 0 below, an absolute error under 2^-126
// Products and sums of two float64 are split exactly (Dekker 1971, Knuth), so that the bounds hold
// with and without fused multiplication; the same bits come out of both.
#if defined(UNWEAVE_ALGORITHMS_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNWEAVE_ALGORITHMS_PAIRS_INL_H_
#undef UNWEAVE_ALGORITHMS_PAIRS_INL_H_
#else
#define UNWEAVE_ALGORITHMS_PAIRS_INL_H_
#endif

#include <hwy/highway.h>

#include "algorithms/solvers/exact/exp_tables.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using PairTag = hn::ScalableTag<double>;
using PairVector = hn::Vec<PairTag>;

struct PairOf {
  PairVector high, low;
};

/// high + low = a + b exactly.
HWY_INLINE PairOf two_sum(PairVector a, PairVector b) {
  const PairVector sum = hn::Add(a, b), part = hn::Sub(sum, a);
  return {sum, hn::Add(hn::Sub(a, hn::Sub(sum, part)), hn::Sub(b, part))};
}

/// high + low = a b exactly, for magnitudes between 2^-450 and 2^450, and for zeros.
HWY_INLINE PairOf two_product(PairVector a, PairVector b) {
  const PairVector product = hn::Mul(a, b);
#if HWY_NATIVE_FMA
  return {product, hn::MulSub(a, b, product)};
#else
  const PairVector splitter = hn::Set(PairTag(), 134217729.0);  // 2^27 + 1
  const auto high_part = [&](PairVector x) {
    const PairVector scaled = hn::Mul(splitter, x);
    return hn::Sub(scaled, hn::Sub(scaled, x));
  };
  const PairVector a1 = high_part(a), a2 = hn::Sub(a, a1), b1 = high_part(b), b2 = hn::Sub(b, b1);
  PairVector low = hn::Sub(hn::Mul(a1, b1), product);
  low = hn::Add(low, hn::Mul(a1, b2));
  low = hn::Add(low, hn::Mul(a2, b1));
  return {product, hn::Add(low, hn::Mul(a2, b2))};
#endif
}

HWY_INLINE PairOf add(PairOf x, PairOf y) {
  const PairOf sum = two_sum(x.high, y.high);
  return two_sum(sum.high, hn::Add(sum.low, hn::Add(x.low, y.low)));
}

HWY_INLINE PairOf multiply(PairOf x, PairOf y) {
  const PairOf product = two_product(x.high, y.high);
  const PairVector cross = hn::Add(hn::Mul(x.high, y.low), hn::Mul(x.low, y.high));
  return two_sum(product.high, hn::Add(product.low, cross));
}

HWY_INLINE PairOf reciprocal(PairOf y) {
  const PairVector one = hn::Set(PairTag(), 1.0), guess = hn::Div(one, y.high);
  const PairOf product = two_product(y.high, guess);
  const PairVector rest = hn::Sub(hn::Sub(hn::Sub(one, product.high), product.low), hn::Mul(y.low, guess));
  return two_sum(guess, hn::Mul(rest, guess));
}

HWY_INLINE PairOf negate(PairOf x) {
  return {hn::Neg(x.high), hn::Neg(x.low)};
}

/// With N = rint(4096 x / ln 2) = 4096 k + 64 i + j and t = x - N ln 2 / 4096, |t| <= 2^-13.5: exp
/// x = 2^k 2^(i/64) 2^(j/4096) (1 + (e^t - 1)), e^t - 1 = t + t^2 / 2 in pairs, the rest of the
/// series in float64. The errors: t 2^-98.4, series 2^-93.1 and, cut off, 2^-106.9, its sums 2 x
/// 2^-96.1, tables 2 x 2^-106, products and sums of pairs.
HWY_INLINE PairOf exp(PairOf x) {
  const PairTag d;
  const hn::RebindToSigned<PairTag> whole;
  const auto under = hn::Lt(x.high, hn::Set(d, -88.0));
  x = {hn::IfThenZeroElse(under, x.high), hn::IfThenZeroElse(under, x.low)};
  const PairVector steps = hn::Round(hn::Mul(x.high, hn::Set(d, kStepsAUnit)));
  const PairOf first = two_sum(x.high, hn::Neg(hn::Mul(steps, hn::Set(d, kStep1))));
  const PairOf second = two_sum(first.high, hn::Neg(hn::Mul(steps, hn::Set(d, kStep2))));
  const PairVector rest = hn::Sub(hn::Add(hn::Add(first.low, second.low), x.low), hn::Mul(steps, hn::Set(d, kStep3)));
  const PairOf t = two_sum(second.high, rest);

  PairOf square = two_product(t.high, t.high);
  square.low = hn::Add(square.low, hn::Mul(hn::Mul(hn::Set(d, 2.0), t.high), t.low));
  PairVector series = hn::Add(hn::Set(d, 1.0 / 120), hn::Mul(t.high, hn::Set(d, 1.0 / 720)));
  series = hn::Add(hn::Set(d, 1.0 / 24), hn::Mul(t.high, series));
  series = hn::Add(hn::Set(d, 1.0 / 6), hn::Mul(t.high, series));
  const PairVector cubic = hn::Mul(hn::Mul(square.high, t.high), series), half = hn::Set(d, 0.5);
  const PairOf sum = two_sum(t.high, hn::Mul(half, square.high));
  const PairOf minus_one =
      two_sum(sum.high, hn::Add(sum.low, hn::Add(hn::Add(t.low, hn::Mul(half, square.low)), cubic)));

  const auto n = hn::ConvertTo(whole, steps);
  const auto low_bits = hn::Set(whole, 63);
  const auto fine = hn::And(n, low_bits), coarse = hn::And(hn::ShiftRight<6>(n), low_bits);
  const PairOf base = multiply({hn::GatherIndex(d, kCoarseHigh, coarse), hn::GatherIndex(d, kCoarseLow, coarse)},
                               {hn::GatherIndex(d, kFineHigh, fine), hn::GatherIndex(d, kFineLow, fine)});
  const PairOf value = add(base, multiply(base, minus_one));
  const auto exponent = hn::Add(hn::ShiftRight<12>(n), hn::Set(whole, 1023));
  const PairVector power = hn::BitCast(d, hn::ShiftLeft<52>(exponent));
  return {hn::IfThenZeroElse(under, hn::Mul(value.high, power)), hn::IfThenZeroElse(under, hn::Mul(value.low, power))};
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // UNWEAVE_ALGORITHMS_PAIRS_INL_H_
