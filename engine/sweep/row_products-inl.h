// engine/sweep/row_products-inl.h - rows in vectors, and their products with factors and weights,
// for each vector extension anew: included by files that Highway compiles once a target.

#if defined(UNWEAVE_ENGINE_SWEEP_ROW_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNWEAVE_ENGINE_SWEEP_ROW_PRODUCTS_INL_H_
#undef UNWEAVE_ENGINE_SWEEP_ROW_PRODUCTS_INL_H_
#else
#define UNWEAVE_ENGINE_SWEEP_ROW_PRODUCTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/sweep/fingerprint.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::CappedTag<std::int32_t, 16>;
using V32 = hn::Vec<D32>;

constexpr std::size_t kLane = hn::MaxLanes(D32());
constexpr std::size_t kMaxVectors = 8;  // accumulators of a panel: 128 columns at 512 bits, half the registers at 256
constexpr std::size_t kPanel = kMaxVectors * kLane;

HWY_INLINE V32 load_terms(const std::int32_t* row) {
  return hn::LoadU(D32(), row);
}

HWY_INLINE V32 load_terms(const std::int16_t* row) {
  return hn::PromoteTo(D32(), hn::LoadU(hn::Rebind<std::int16_t, D32>(), row));
}

/// A row, and the difference of two rows modulo 2^32, as add_products() reads them.
template <class T>
struct RowOf {
  const T* values;

  HWY_INLINE std::int32_t operator[](std::size_t c) const { return values[c]; }
  HWY_INLINE V32 vector(std::size_t c) const { return load_terms(values + c); }
};
struct ChangeOf {
  const std::int32_t* after;
  const std::int32_t* before;

  HWY_INLINE std::int32_t operator[](std::size_t c) const {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(after[c]) - static_cast<std::uint32_t>(before[c]));
  }
  HWY_INLINE V32 vector(std::size_t c) const { return hn::Sub(load_terms(after + c), load_terms(before + c)); }
};

#if HWY_TARGET == HWY_SCALAR

constexpr std::size_t kHalfVector = kLane;
using V64 = std::int64_t;
inline V64 no_products() {
  return 0;
}
inline void add_wrapped(std::int64_t& sum, std::int64_t x) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(x));
}

template <class Row>
void add_products(const Row& row, std::size_t columns, const std::int32_t* factors, V64& low, V64& high) {
  for (std::size_t c = 0; c < columns; ++c) {
    const std::int64_t product = std::int64_t{row[c]} * factors[c];
    add_wrapped(low, product);
    high += product >> 32;
  }
}

inline std::uint64_t sum_of_products(V64 low, V64 high, const Modulus& modulus) {
  return modulus.residue(high, static_cast<std::uint64_t>(low) - (static_cast<std::uint64_t>(high) << 32));
}

#else

using DWide = hn::Repartition<std::int64_t, D32>;
using V64 = hn::Vec<DWide>;
constexpr std::size_t kHalfVector = kLane / 2;

HWY_INLINE V64 no_products() {
  return hn::Zero(DWide());
}

/// The lanes 1, 3, .. where products take theirs from: 0, 2, ..
HWY_INLINE V32 odd_lanes(V32 values) {
  return hn::BitCast(D32(), hn::ShiftRight<32>(hn::BitCast(DWide(), values)));
}

/// Adds x to sums modulo 2^64 and its upper half to others: together they tell the exact sum.
HWY_INLINE void add_lanes(V64 x, V64& low, V64& high) {
  low = hn::Add(low, x);
  high = hn::Add(high, hn::ShiftRight<32>(x));
}

/// Adds up the products of kPanel columns at most with their factors.
template <class Row>
HWY_INLINE void add_products(const Row& row, std::size_t columns, const std::int32_t* factors, V64& low, V64& high) {
  // A lane adds up a product of each vector: 31 + kFactorBits bits, and three more for kMaxVectors
  // of them. The sum can reach -2^63, which fits, and not 2^63.
  static_assert(31 + kFactorBits + 3 <= 63 && kMaxVectors <= 8);
  const D32 d;
  V64 even = no_products(), odd = no_products();
  const auto add = [&](V32 values, std::size_t c) HWY_ATTR {
    const V32 multipliers = hn::LoadU(d, factors + c);
    even = hn::Add(even, hn::MulEven(values, multipliers));
    odd = hn::Add(odd, hn::MulEven(odd_lanes(values), odd_lanes(multipliers)));
  };
  std::size_t c = 0;
  for (; c + kLane <= columns; c += kLane) add(row.vector(c), c);
  if (c < columns) {
    alignas(64) std::array<std::int32_t, kLane> rest{};
    for (std::size_t i = c; i < columns; ++i) rest[i - c] = row[i];
    add(hn::Load(d, rest.data()), c);
  }
  add_lanes(even, low, high);
  add_lanes(odd, low, high);
}

HWY_INLINE std::uint64_t sum_of_products(V64 low, V64 high, const Modulus& modulus) {
  // What the lower halves add up to is small, lane by lane, so that the sum of lanes does not wrap
  // around either.
  const V64 rest = hn::Sub(low, hn::ShiftLeft<32>(high));
  const std::int64_t upper = hn::GetLane(hn::SumOfLanes(DWide(), high));
  const auto lower = static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(DWide(), rest)));
  return modulus.residue(upper, lower);
}

#endif

constexpr std::size_t kSummedRows = 8;  // whose multiples are added up in registers

/// Some rows, and what each is multiplied with.
template <class T>
struct WeightedRows {
  std::array<const T*, kSummedRows> rows;
  std::array<std::int32_t, kSummedRows> weights{};

  /// The first `count` of them; the others count for nothing.
  template <class RowAt>
  HWY_INLINE WeightedRows(std::size_t count, const RowAt& row_at, const std::int32_t* from) {
    for (std::size_t r = 0; r < kSummedRows; ++r) rows[r] = row_at(std::min(r, count - 1));
    std::copy_n(from, count, weights.begin());
  }
};

/// Adds rows times weights to the sums of `columns` columns. Those of a vector's even columns come
/// before those of its odd ones.
template <class T>
HWY_INLINE void add_weighted(const WeightedRows<T>& in, std::size_t columns, std::int64_t* HWY_RESTRICT low,
                             std::int64_t* HWY_RESTRICT high) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < kSummedRows; ++r) {
      const std::int64_t product = std::int64_t{in.rows[r][c]} * in.weights[r];
      add_wrapped(low[c], product);
      high[c] += product >> 32;
    }
#else
  const D32 d;
  const DWide wide;
  const V32 w0 = hn::Set(d, in.weights[0]), w1 = hn::Set(d, in.weights[1]), w2 = hn::Set(d, in.weights[2]),
            w3 = hn::Set(d, in.weights[3]), w4 = hn::Set(d, in.weights[4]), w5 = hn::Set(d, in.weights[5]),
            w6 = hn::Set(d, in.weights[6]), w7 = hn::Set(d, in.weights[7]);
  // Four products are as many as 64 bits hold: of 32 bits with numbers below 2^30.
  const auto sum = [&](V32 v0, V32 v1, V32 v2, V32 v3, V32 v4, V32 v5, V32 v6, V32 v7, std::size_t at) HWY_ATTR {
    V64 low_sum = hn::LoadU(wide, low + at), high_sum = hn::LoadU(wide, high + at);
    add_lanes(
        hn::Add(hn::Add(hn::MulEven(v0, w0), hn::MulEven(v1, w1)), hn::Add(hn::MulEven(v2, w2), hn::MulEven(v3, w3))),
        low_sum, high_sum);
    add_lanes(
        hn::Add(hn::Add(hn::MulEven(v4, w4), hn::MulEven(v5, w5)), hn::Add(hn::MulEven(v6, w6), hn::MulEven(v7, w7))),
        low_sum, high_sum);
    hn::StoreU(low_sum, wide, low + at);
    hn::StoreU(high_sum, wide, high + at);
  };
  const auto add = [&](const std::array<const T*, kSummedRows>& rows, std::size_t from, std::size_t at) HWY_ATTR {
    const V32 v0 = load_terms(rows[0] + from), v1 = load_terms(rows[1] + from), v2 = load_terms(rows[2] + from),
              v3 = load_terms(rows[3] + from), v4 = load_terms(rows[4] + from), v5 = load_terms(rows[5] + from),
              v6 = load_terms(rows[6] + from), v7 = load_terms(rows[7] + from);
    sum(v0, v1, v2, v3, v4, v5, v6, v7, at);
    sum(odd_lanes(v0), odd_lanes(v1), odd_lanes(v2), odd_lanes(v3), odd_lanes(v4), odd_lanes(v5), odd_lanes(v6),
        odd_lanes(v7), at + kHalfVector);
  };
  std::size_t c = 0;
  for (; c + kLane <= columns; c += kLane) add(in.rows, c, c);
  if (c < columns) {
    alignas(64) std::array<std::array<T, kLane>, kSummedRows> rest{};
    std::array<const T*, kSummedRows> rows;
    for (std::size_t r = 0; r < kSummedRows; ++r) {
      std::copy_n(in.rows[r] + c, columns - c, rest[r].begin());
      rows[r] = rest[r].data();
    }
    add(rows, 0, c);
  }
#endif
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
