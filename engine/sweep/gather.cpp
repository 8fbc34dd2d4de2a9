// engine/sweep/gather.cpp - sums and rounds rows. Highway includes this file once for every vector extension.
#include "engine/sweep/gather.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/sweep/gather.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::CappedTag<std::int32_t, 16>;
using V32 = hn::Vec<D32>;
using D64f = hn::CappedTag<double, 8>;
using D64 = hn::RebindToSigned<D64f>;
using DHalf = hn::Rebind<std::int32_t, D64f>;  // as many int32 as D64f has lanes

constexpr std::size_t kLane = hn::MaxLanes(D32());
constexpr std::size_t kHalfLane = hn::MaxLanes(DHalf());
constexpr std::size_t kMaxVectors = 8;  // accumulators of a panel: 128 columns at 512 bits, half the registers at 256
constexpr std::size_t kPanel = kMaxVectors * kLane;
constexpr std::size_t kCacheLine = 64;  // bytes
/// Rows between prefetch and use: as many as make 96 cache lines, 12 at least and 48 at most. Where rows fill one line,
/// a memory serves a quarter more at 48 rows.
constexpr std::size_t rows_ahead(std::size_t row_bytes) {
  return std::clamp<std::size_t>(96 * kCacheLine / row_bytes, 12, 48);
}

/// The stream of target ids a gather runs through, for prefetching across the ends of lists.
struct Stream {
  const NodeId* ids;
  std::size_t size;
  std::span<const NodeId> next;

  HWY_INLINE NodeId ahead(std::size_t position, std::size_t rows) const {
    const std::size_t later = position + rows;
    if (HWY_LIKELY(later < size)) return ids[later];
    return later - size < next.size() ? next[later - size] : ids[position];
  }
};

/// Fetches the kVectors vectors at `row`: one touch a cache line, and one for the line an unaligned row ends in.
template <std::size_t kVectors, class T>
HWY_INLINE void prefetch_row(const T* row, bool unaligned) {
  for (std::size_t at = 0; at < kVectors * kLane; at += kCacheLine / sizeof(T)) __builtin_prefetch(row + at);
  if (unaligned) __builtin_prefetch(row + kVectors * kLane - 1);
}

HWY_INLINE V32 load_terms(const std::int32_t* row) {
  return hn::LoadU(D32(), row);
}

HWY_INLINE V32 load_terms(const std::int16_t* row) {
  return hn::PromoteTo(D32(), hn::LoadU(hn::Rebind<std::int16_t, D32>(), row));
}

/// out[0, columns) = own row (if any) + rows of stream positions [begin, end), of kVectors vectors from tile.rows +
/// column on, the last of which may be partial. The caller keeps the number of terms within int32.
template <std::size_t kVectors, class T>
HWY_INLINE void sum_panel(const TileOf<T>& tile, std::size_t column, std::size_t columns, const T* own,
                          const Stream& stream, std::size_t begin, std::size_t end, std::int32_t* HWY_RESTRICT out) {
  const D32 d;
  const T* const base = tile.rows + column;
  const std::size_t width = tile.width;
  const bool unaligned = width * sizeof(T) % kCacheLine != 0;
  constexpr std::size_t kAhead = rows_ahead(kVectors * kLane * sizeof(T));
  // Named accumulators, because vectors of scalable extensions cannot form arrays.
  const V32 zero = hn::Zero(d);
  V32 a0 = zero, a1 = zero, a2 = zero, a3 = zero, a4 = zero, a5 = zero, a6 = zero, a7 = zero;
  const auto add = [&](const T* row) HWY_ATTR {
    a0 = hn::Add(a0, load_terms(row));
    if constexpr (kVectors > 1) a1 = hn::Add(a1, load_terms(row + 1 * kLane));
    if constexpr (kVectors > 2) a2 = hn::Add(a2, load_terms(row + 2 * kLane));
    if constexpr (kVectors > 3) a3 = hn::Add(a3, load_terms(row + 3 * kLane));
    if constexpr (kVectors > 4) a4 = hn::Add(a4, load_terms(row + 4 * kLane));
    if constexpr (kVectors > 5) a5 = hn::Add(a5, load_terms(row + 5 * kLane));
    if constexpr (kVectors > 6) a6 = hn::Add(a6, load_terms(row + 6 * kLane));
    if constexpr (kVectors > 7) a7 = hn::Add(a7, load_terms(row + 7 * kLane));
  };
  if (own != nullptr) add(own);
  for (std::size_t i = begin; i < end; ++i) {
    prefetch_row<kVectors>(base + stream.ahead(i, kAhead) * width, unaligned);
    add(base + stream.ids[i] * width);
  }
  const auto store = [&](std::int32_t* to) HWY_ATTR {
    hn::StoreU(a0, d, to);
    if constexpr (kVectors > 1) hn::StoreU(a1, d, to + 1 * kLane);
    if constexpr (kVectors > 2) hn::StoreU(a2, d, to + 2 * kLane);
    if constexpr (kVectors > 3) hn::StoreU(a3, d, to + 3 * kLane);
    if constexpr (kVectors > 4) hn::StoreU(a4, d, to + 4 * kLane);
    if constexpr (kVectors > 5) hn::StoreU(a5, d, to + 5 * kLane);
    if constexpr (kVectors > 6) hn::StoreU(a6, d, to + 6 * kLane);
    if constexpr (kVectors > 7) hn::StoreU(a7, d, to + 7 * kLane);
  };
  if (columns == kVectors * kLane) {
    store(out);
  } else {
    alignas(64) std::array<std::int32_t, kVectors * kLane> whole;
    store(whole.data());
    std::memcpy(out, whole.data(), columns * sizeof(std::int32_t));
  }
}

/// sum_panel for a panel of any width in [1, kPanel].
template <std::size_t kVectors = kMaxVectors, class T>
HWY_INLINE void sum_columns(const TileOf<T>& tile, std::size_t column, std::size_t columns, const T* own,
                            const Stream& stream, std::size_t begin, std::size_t end, std::int32_t* out) {
  if constexpr (kVectors > 1)
    if (columns <= (kVectors - 1) * kLane)
      return sum_columns<kVectors - 1>(tile, column, columns, own, stream, begin, end, out);
  sum_panel<kVectors>(tile, column, columns, own, stream, begin, end, out);
}

/// sums[0, columns) += part[0, columns).
HWY_INLINE void add_widened(const std::int32_t* part, std::size_t columns, std::int64_t* sums) {
  const D64 d;
  const DHalf half;
  std::size_t c = 0;
  for (; c + kHalfLane <= columns; c += kHalfLane)
    hn::StoreU(hn::Add(hn::LoadU(d, sums + c), hn::PromoteTo(d, hn::LoadU(half, part + c))), d, sums + c);
  for (; c < columns; ++c) sums[c] += part[c];
}

template <class T>
std::size_t partial_terms(const TileOf<T>& tile) {
  return static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max() >> tile.scale_bits);
}

/// sums[c] += own row (if any) + rows of stream positions [begin, end), however many.
template <class T>
void add_wide(const TileOf<T>& tile, const T* own, const Stream& stream, std::size_t begin, std::size_t end,
              std::int64_t* sums) {
  alignas(64) std::array<std::int32_t, kPanel> part;
  const std::size_t most = partial_terms(tile);
  for (std::size_t column = 0; column < tile.width; column += kPanel) {
    const std::size_t columns = std::min(kPanel, tile.width - column);
    for (std::size_t c = 0; own != nullptr && c < columns; ++c) sums[column + c] += own[column + c];
    for (std::size_t from = begin; from < end; from += most) {
      sum_columns(tile, column, columns, static_cast<const T*>(nullptr), stream, from, std::min(end, from + most),
                  part.data());
      add_widened(part.data(), columns, sums + column);
    }
  }
}

/// Copies the sums to int32 and says true, or fills `out` with zeros and says false when one does not fit.
bool narrow(const std::int64_t* sums, std::size_t width, std::int32_t* out) {
  bool fits = true;
  for (std::size_t c = 0; c < width; ++c) {
    out[c] = static_cast<std::int32_t>(sums[c]);
    fits &= out[c] == sums[c];
  }
  if (!fits) std::fill_n(out, width, 0);
  return fits;
}

HWY_INLINE hn::Vec<D64f> load_doubles(const std::int32_t* sums) {
  return hn::PromoteTo(D64f(), hn::LoadU(DHalf(), sums));
}

HWY_INLINE hn::Vec<D64f> load_doubles(const std::int64_t* sums) {
  return hn::ConvertTo(D64f(), hn::LoadU(D64(), sums));
}

template <class Sum, class T>
void quotients_of(const Sum* sums, std::size_t width, std::uint32_t degree, T* quotients) {
  const hn::Rebind<T, D64f> to;
  const auto divisor = hn::Set(D64f(), static_cast<double>(degree));
  std::size_t c = 0;
  for (; c + kHalfLane <= width; c += kHalfLane) {
    const auto whole = hn::DemoteTo(DHalf(), hn::Round(hn::Div(load_doubles(sums + c), divisor)));
    if constexpr (sizeof(T) < sizeof(std::int32_t))
      hn::StoreU(hn::DemoteTo(to, whole), to, quotients + c);
    else
      hn::StoreU(whole, to, quotients + c);
  }
  for (; c < width; ++c) quotients[c] = static_cast<T>(std::nearbyint(static_cast<double>(sums[c]) / degree));
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
  // A lane adds up a product of each vector: 31 + kFactorBits bits, and three more for kMaxVectors of them. The sum
  // can reach -2^63, which fits, and not 2^63.
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
  const std::int64_t upper = hn::GetLane(hn::SumOfLanes(DWide(), high));
  const auto all = static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(DWide(), low)));
  return modulus.residue(upper, all - (static_cast<std::uint64_t>(upper) << 32));
}

#endif

template <class T>
std::uint64_t fingerprint(const T* values, std::size_t width, const ColumnFactors& factors) {
  V64 low = no_products(), high = no_products();
  for (std::size_t column = 0; column < width; column += kPanel)
    add_products(RowOf<T>{values + column}, std::min(kPanel, width - column), factors.values + column, low, high);
  return sum_of_products(low, high, factors.modulus);
}

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

/// Adds rows times weights to the sums of `columns` columns. Those of a vector's even columns come before those of its odd
/// ones.
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

/// Adds rows to sums by panels, so that the sums stay in the nearest cache while rows pass by.
template <class T, class RowAt>
void add_to_sums(std::size_t count, const RowAt& row_at, const std::int32_t* weights, ColumnTotals& sums) {
  for (std::size_t column = 0; column < sums.width(); column += kPanel)
    for (std::size_t first = 0; first < count; first += kSummedRows)
      add_weighted(WeightedRows<T>(
                       std::min(kSummedRows, count - first), [&](std::size_t r) { return row_at(first + r) + column; },
                       weights + first),
                   std::min(kPanel, sums.width() - column), sums.low() + column, sums.high() + column);
}

void AddColumns32(const std::int32_t* rows, std::size_t count, const std::int32_t* weights, ColumnTotals& sums) {
  add_to_sums<std::int32_t>(
      count, [&](std::size_t r) { return rows + r * sums.width(); }, weights, sums);
}

void AddColumns16(const std::int16_t* rows, std::size_t count, const std::int32_t* weights, ColumnTotals& sums) {
  add_to_sums<std::int16_t>(
      count, [&](std::size_t r) { return rows + r * sums.width(); }, weights, sums);
}

void AddColumnsAt(const std::int32_t* const* rows, std::size_t count, const std::int32_t* weights, ColumnTotals& sums) {
  add_to_sums<std::int32_t>(
      count, [&](std::size_t r) { return rows[r]; }, weights, sums);
}

std::uint64_t TakeColumns(ColumnTotals& sums, const ColumnFactors& factors) {
  const Modulus& modulus = factors.modulus;
  std::uint64_t total = 0;
  for (std::size_t c = 0; c < sums.width(); ++c) {
    const std::size_t at = c / kLane * kLane + (kHalfVector < kLane ? c % 2 * kHalfVector + c % kLane / 2 : 0);
    const std::int64_t high = sums.high()[at];
    const auto rest = static_cast<std::uint64_t>(sums.low()[at]) - (static_cast<std::uint64_t>(high) << 32);
    total = modulus.residue(total + modulus.residue(high, rest) * static_cast<std::uint64_t>(factors.values[c]));
  }
  return total;
}

/// The sums of some rows, which become quotients together.
struct SummedRows {
  std::array<const std::int32_t*, kSummedRows> narrow{};
  std::array<const std::int64_t*, kSummedRows> wide{};  ///< null where they fit 32 bits
  std::array<std::uint32_t, kSummedRows> degrees{};
  std::size_t count = 0;
};

/// The quotients of rows that lie one after another. Those of whole cache lines pass by the caches.
template <class T>
void put_quotients(const SummedRows& in, std::size_t width, bool past_caches, const std::int32_t* weights,
                   ColumnTotals* sums, T* quotients) {
  const hn::CappedTag<T, kCacheLine / sizeof(T)> d;  // whole vectors: some extensions cannot stream parts of one
  alignas(64) std::array<T, kSummedRows * kPanel> panel;
  for (std::size_t column = 0; column < width; column += kPanel) {
    const std::size_t columns = std::min(kPanel, width - column);
    for (std::size_t r = 0; r < in.count; ++r) {
      T* const formed = panel.data() + r * kPanel;
      T* const to = quotients + r * width + column;
      if (in.wide[r] == nullptr)
        quotients_of(in.narrow[r] + column, columns, in.degrees[r], formed);
      else
        quotients_of(in.wide[r] + column, columns, in.degrees[r], formed);
      if (past_caches)
        for (std::size_t c = 0; c < columns; c += hn::Lanes(d)) hn::Stream(hn::Load(d, formed + c), d, to + c);
      else
        std::copy_n(formed, columns, to);
    }
    if (sums != nullptr)
      add_weighted(WeightedRows<T>(
                       in.count, [&](std::size_t r) { return panel.data() + r * kPanel; }, weights),
                   columns, sums->low() + column, sums->high() + column);
  }
}

/// delta = quotient - published; returns the largest |delta|. The quotients go to a panel too.
template <class Sum>
std::uint32_t differences_of(const Sum* sums, std::size_t width, std::uint32_t degree, const std::int32_t* published,
                             std::int32_t* delta, std::int32_t* quotients) {
  const DHalf d;
  const auto divisor = hn::Set(D64f(), static_cast<double>(degree));
  auto most = hn::Zero(d);
  std::size_t c = 0;
  for (; c + kHalfLane <= width; c += kHalfLane) {
    const auto quotient = hn::DemoteTo(d, hn::Round(hn::Div(load_doubles(sums + c), divisor)));
    const auto difference = hn::Sub(quotient, hn::LoadU(d, published + c));
    hn::StoreU(quotient, d, quotients + c);
    most = hn::Max(most, hn::Abs(difference));
    hn::StoreU(difference, d, delta + c);
  }
  auto largest = static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(d, most)));
  for (; c < width; ++c) {
    quotients[c] = static_cast<std::int32_t>(std::nearbyint(static_cast<double>(sums[c]) / degree));
    delta[c] = quotients[c] - published[c];
    largest = std::max(largest, static_cast<std::uint32_t>(std::abs(delta[c])));
  }
  return largest;
}

std::optional<std::uint64_t> AddRows(const Tile& tile, std::span<const NodeId> neighbours, const std::int32_t* before,
                                     const ColumnFactors& factors, std::int32_t* after) {
  if (neighbours.size() > partial_terms(tile)) return std::nullopt;
  const D32 d;
  const Stream stream{neighbours.data(), neighbours.size(), {}};
  alignas(64) std::array<std::int32_t, kPanel> part;
  auto overflow = hn::Zero(d);
  bool fits = true;
  V64 low = no_products(), high = no_products();
  for (std::size_t column = 0; column < tile.width; column += kPanel) {
    const std::size_t columns = std::min(kPanel, tile.width - column);
    sum_columns<kMaxVectors, std::int32_t>(tile, column, columns, nullptr, stream, 0, neighbours.size(), part.data());
    std::size_t c = 0;
    for (; c + kLane <= columns; c += kLane) {
      const auto old = hn::LoadU(d, before + column + c);
      const auto add = hn::LoadU(d, part.data() + c);
      const auto sum = hn::Add(old, add);
      overflow = hn::Or(overflow, hn::And(hn::Xor(old, sum), hn::Xor(add, sum)));  // negative where it wrapped
      hn::StoreU(sum, d, after + column + c);
    }
    for (; c < columns; ++c) {
      const std::int64_t sum = std::int64_t{before[column + c]} + part[c];
      after[column + c] = static_cast<std::int32_t>(sum);
      fits &= after[column + c] == sum;
    }
    add_products(ChangeOf{after + column, before + column}, columns, factors.values + column, low, high);
  }
  if (!fits || !hn::AllFalse(d, hn::Lt(overflow, hn::Zero(d)))) return std::nullopt;
  return sum_of_products(low, high, factors.modulus);
}

void GatherRows(const Tile& tile, std::span<const NodeId> neighbours, std::int64_t* sums) {
  add_wide<std::int32_t>(tile, nullptr, Stream{neighbours.data(), neighbours.size(), {}}, 0, neighbours.size(), sums);
}

/// gather_lists; quotients, of which nothing is read before the next level, go past the caches where they can.
template <class T>
std::size_t gather_block(const TileOf<T>& tile, const GatherLists& lists, const GatherOutputOf<T>& out) {
  const Stream stream{lists.targets, lists.num_targets, lists.lookahead};
  const std::size_t width = tile.width;
  const std::size_t most = partial_terms(tile);
  const bool past_caches = out.quotients != nullptr && width * sizeof(T) % kCacheLine == 0 &&
                           reinterpret_cast<std::uintptr_t>(out.quotients) % kCacheLine == 0;
  std::size_t wide_rows = 0;
  std::size_t begin = 0;
  SummedRows summed;
  for (std::size_t i = 0; i < lists.nodes.size(); ++i) {
    const std::uint32_t degree = lists.counts[i] + 1;
    const std::size_t end = begin + lists.counts[i];
    const T* const own = tile.rows + lists.nodes[i] * width;
    std::int32_t* const sums = out.sums + i * width;
    const std::int64_t* wide_sums = nullptr;
    if (degree <= most) {
      for (std::size_t column = 0; column < width; column += kPanel) {
        sum_columns(tile, column, std::min(kPanel, width - column), own + column, stream, begin, end, sums + column);
      }
    } else {
      std::int64_t* const wide = out.wide_sums + wide_rows * width;
      std::fill_n(wide, width, 0);
      add_wide(tile, own, stream, begin, end, wide);
      if (!narrow(wide, width, sums)) {
        out.wide_nodes[wide_rows++] = static_cast<std::uint32_t>(i);
        wide_sums = wide;
      }
    }
    begin = end;
    if (out.quotients == nullptr) continue;
    summed.narrow[summed.count] = sums;
    summed.wide[summed.count] = wide_sums;
    summed.degrees[summed.count++] = degree;
    if (summed.count < kSummedRows && i + 1 < lists.nodes.size()) continue;
    const std::size_t first = i + 1 - summed.count;
    put_quotients(summed, width, past_caches, out.quotient_sums == nullptr ? nullptr : out.quotient_weights + first,
                  out.quotient_sums, out.quotients + first * width);
    summed.count = 0;
  }
  if (past_caches) hwy::FlushStream();
  return wide_rows;
}

std::size_t GatherBlock(const Tile& tile, const GatherLists& lists, const GatherOutput& out) {
  return gather_block(tile, lists, out);
}

std::size_t GatherShortBlock(const ShortTile& tile, const GatherLists& lists, const ShortGatherOutput& out) {
  return gather_block(tile, lists, out);
}

void Quotients32(const std::int32_t* sums, std::size_t width, std::uint32_t degree, std::int32_t* quotients) {
  quotients_of(sums, width, degree, quotients);
}

void Quotients64(const std::int64_t* sums, std::size_t width, std::uint32_t degree, std::int32_t* quotients) {
  quotients_of(sums, width, degree, quotients);
}

/// differences_of() by panels, with the fingerprint of quotients - published: of what was formed, not of what was stored.
template <class Sum>
RowDifference difference_of(const Sum* sums, std::size_t width, std::uint32_t degree, const std::int32_t* published,
                            const ColumnFactors* factors, std::int32_t* delta) {
  alignas(64) std::array<std::int32_t, kPanel> quotients;
  RowDifference result;
  V64 low = no_products(), high = no_products();
  for (std::size_t column = 0; column < width; column += kPanel) {
    const std::size_t columns = std::min(kPanel, width - column);
    const std::uint32_t largest =
        differences_of(sums + column, columns, degree, published + column, delta + column, quotients.data());
    result.largest = std::max(result.largest, largest);
    if (factors != nullptr)
      add_products(ChangeOf{quotients.data(), published + column}, columns, factors->values + column, low, high);
  }
  if (factors != nullptr) result.fingerprint = sum_of_products(low, high, factors->modulus);
  return result;
}

RowDifference Differences32(const std::int32_t* sums, std::size_t width, std::uint32_t degree,
                            const std::int32_t* published, const ColumnFactors* factors, std::int32_t* delta) {
  return difference_of(sums, width, degree, published, factors, delta);
}

RowDifference Differences64(const std::int64_t* sums, std::size_t width, std::uint32_t degree,
                            const std::int32_t* published, const ColumnFactors* factors, std::int32_t* delta) {
  return difference_of(sums, width, degree, published, factors, delta);
}

void Scaled(std::span<const float> x, double factor, double divisor, double limit, std::int32_t* out) {
  const D64f d;
  const hn::Rebind<float, D64f> narrow;
  std::size_t c = 0;
  for (; c + kHalfLane <= x.size(); c += kHalfLane) {
    const auto value = hn::Mul(hn::Set(d, factor), hn::PromoteTo(d, hn::LoadU(narrow, x.data() + c)));
    const auto rounded = hn::Round(hn::Div(value, hn::Set(d, divisor)));
    const auto clamped = hn::Min(hn::Max(rounded, hn::Set(d, -limit)), hn::Set(d, limit));
    hn::StoreU(hn::DemoteTo(DHalf(), clamped), DHalf(), out + c);
  }
  for (; c < x.size(); ++c) {
    const double value = std::nearbyint(factor * static_cast<double>(x[c]) / divisor);
    out[c] = static_cast<std::int32_t>(std::clamp(value, -limit, limit));
  }
}

std::uint64_t Fingerprint32(const std::int32_t* values, std::size_t width, const ColumnFactors& factors) {
  return fingerprint(values, width, factors);
}

std::uint64_t Fingerprint16(const std::int16_t* values, std::size_t width, const ColumnFactors& factors) {
  return fingerprint(values, width, factors);
}

const char* TargetName() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(AddColumns16);
HWY_EXPORT(AddColumns32);
HWY_EXPORT(AddColumnsAt);
HWY_EXPORT(AddRows);
HWY_EXPORT(Differences32);
HWY_EXPORT(Differences64);
HWY_EXPORT(Fingerprint16);
HWY_EXPORT(Fingerprint32);
HWY_EXPORT(GatherRows);
HWY_EXPORT(GatherBlock);
HWY_EXPORT(GatherShortBlock);
HWY_EXPORT(Quotients32);
HWY_EXPORT(Quotients64);
HWY_EXPORT(Scaled);
HWY_EXPORT(TakeColumns);
HWY_EXPORT(TargetName);

void gather_rows(const Tile& tile, std::span<const NodeId> neighbours, std::int64_t* sums) {
  HWY_DYNAMIC_DISPATCH(GatherRows)(tile, neighbours, sums);
}

std::size_t gather_lists(const Tile& tile, const GatherLists& lists, const GatherOutput& out) {
  return HWY_DYNAMIC_DISPATCH(GatherBlock)(tile, lists, out);
}

std::size_t gather_lists(const ShortTile& tile, const GatherLists& lists, const ShortGatherOutput& out) {
  return HWY_DYNAMIC_DISPATCH(GatherShortBlock)(tile, lists, out);
}

void round_quotients(std::span<const std::int32_t> sums, std::uint32_t degree, std::int32_t* quotients) {
  HWY_DYNAMIC_DISPATCH(Quotients32)(sums.data(), sums.size(), degree, quotients);
}

void round_quotients(std::span<const std::int64_t> sums, std::uint32_t degree, std::int32_t* quotients) {
  HWY_DYNAMIC_DISPATCH(Quotients64)(sums.data(), sums.size(), degree, quotients);
}

std::optional<std::uint64_t> add_rows(const Tile& tile, std::span<const NodeId> neighbours, const std::int32_t* before,
                                      const ColumnFactors& factors, std::int32_t* after) {
  return HWY_DYNAMIC_DISPATCH(AddRows)(tile, neighbours, before, factors, after);
}

RowDifference round_differences(std::span<const std::int32_t> sums, std::uint32_t degree, const std::int32_t* published,
                                const ColumnFactors* factors, std::int32_t* delta) {
  return HWY_DYNAMIC_DISPATCH(Differences32)(sums.data(), sums.size(), degree, published, factors, delta);
}

RowDifference round_differences(std::span<const std::int64_t> sums, std::uint32_t degree, const std::int32_t* published,
                                const ColumnFactors* factors, std::int32_t* delta) {
  return HWY_DYNAMIC_DISPATCH(Differences64)(sums.data(), sums.size(), degree, published, factors, delta);
}

void round_scaled(std::span<const float> x, double factor, double divisor, double limit, std::int32_t* out) {
  HWY_DYNAMIC_DISPATCH(Scaled)(x, factor, divisor, limit, out);
}

std::uint64_t fingerprint_of(std::span<const std::int32_t> values, const ColumnFactors& factors) {
  return HWY_DYNAMIC_DISPATCH(Fingerprint32)(values.data(), values.size(), factors);
}

std::uint64_t fingerprint_of(std::span<const std::int16_t> values, const ColumnFactors& factors) {
  return HWY_DYNAMIC_DISPATCH(Fingerprint16)(values.data(), values.size(), factors);
}

void ColumnTotals::add(const std::int32_t* rows, std::size_t count, const std::int32_t* weights) {
  HWY_DYNAMIC_DISPATCH(AddColumns32)(rows, count, weights, *this);
}

void ColumnTotals::add(const std::int16_t* rows, std::size_t count, const std::int32_t* weights) {
  HWY_DYNAMIC_DISPATCH(AddColumns16)(rows, count, weights, *this);
}

void ColumnTotals::add(std::span<const std::int32_t* const> rows, const std::int32_t* weights) {
  HWY_DYNAMIC_DISPATCH(AddColumnsAt)(rows.data(), rows.size(), weights, *this);
}

std::uint64_t ColumnTotals::take(const ColumnFactors& factors) {
  const std::uint64_t y = HWY_DYNAMIC_DISPATCH(TakeColumns)(*this, factors);
  std::fill(lines_.begin(), lines_.end(), Line{});
  return y;
}

const char* gather_target() {
  return HWY_DYNAMIC_DISPATCH(TargetName)();
}

}  // namespace unweave
#endif  // HWY_ONCE
