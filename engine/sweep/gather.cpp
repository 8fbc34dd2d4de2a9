// engine/sweep/gather.cpp - sums and rounds rows. Highway includes this file once for every vector
// extension.
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

#include "engine/sweep/row_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D64f = hn::CappedTag<double, 8>;
using D64 = hn::RebindToSigned<D64f>;
using DHalf = hn::Rebind<std::int32_t, D64f>;  // as many int32 as D64f has lanes

constexpr std::size_t kHalfLane = hn::MaxLanes(DHalf());
constexpr std::size_t kCacheLine = 64;  // bytes
/// Rows between prefetch and use: as many as make 256 cache lines, a third of the nearest cache,
/// and 144 at most. With a third of that the loop waits for the rows that come from memory even
/// where others are in a cache.
constexpr std::size_t rows_ahead(std::size_t row_bytes) {
  return std::clamp<std::size_t>(256 * kCacheLine / row_bytes, 12, 144);
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

/// Fetches the kVectors vectors at `row`: one touch a cache line, and one for the line an unaligned
/// row ends in.
template <std::size_t kVectors, class T>
HWY_INLINE void prefetch_row(const T* row, bool unaligned) {
  for (std::size_t at = 0; at < kVectors * kLane; at += kCacheLine / sizeof(T)) __builtin_prefetch(row + at);
  if (unaligned) __builtin_prefetch(row + kVectors * kLane - 1);
}

/// out[0, columns) = own row (if any) + rows of stream positions [begin, end), of kVectors vectors
/// from tile.rows + column on, the last of which may be partial. The caller keeps the number of
/// terms within int32.
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

/// Vectors of a panel of multiplied rows, each of which adds up in two: half of what adds up alone
/// where there are 16 registers.
constexpr std::size_t kMaxMultiplied = kLane >= 16 ? kMaxVectors : kMaxVectors / 2;
constexpr std::size_t kMultipliedPanel = kMaxMultiplied * kLane;

/// A stream of targets, and what the row of each counts.
struct WeightedStream {
  Stream targets;
  const std::uint32_t* weights;
};

#if HWY_TARGET == HWY_SCALAR

template <class T>
void multiply_columns(const TileOf<T>& tile, std::size_t column, std::size_t columns, const T* own,
                      std::uint32_t own_weight, const WeightedStream& stream, std::size_t begin, std::size_t end,
                      std::int64_t* out) {
  for (std::size_t c = 0; c < columns; ++c) {
    out[c] = std::int64_t{own[c]} * own_weight;
    for (std::size_t i = begin; i < end; ++i)
      out[c] += std::int64_t{tile.rows[stream.targets.ids[i] * tile.width + column + c]} * stream.weights[i];
  }
}

#else

/// out[0, columns) = own row and rows of stream positions [begin, end), each times its weight, of
/// kVectors vectors from tile.rows + column on, the last of which may be partial.
template <std::size_t kVectors, class T>
HWY_INLINE void multiply_panel(const TileOf<T>& tile, std::size_t column, std::size_t columns, const T* own,
                               std::uint32_t own_weight, const WeightedStream& stream, std::size_t begin,
                               std::size_t end, std::int64_t* HWY_RESTRICT out) {
  const D32 d;
  const DWide wide;
  const T* const base = tile.rows + column;
  const std::size_t width = tile.width;
  const bool unaligned = width * sizeof(T) % kCacheLine != 0;
  constexpr std::size_t kAhead = rows_ahead(kVectors * kLane * sizeof(T));
  // Products of even and of odd columns; named, because vectors of scalable extensions cannot form
  // arrays.
  const V64 zero = no_products();
  V64 e0 = zero, e1 = zero, e2 = zero, e3 = zero, e4 = zero, e5 = zero, e6 = zero, e7 = zero;
  V64 o0 = zero, o1 = zero, o2 = zero, o3 = zero, o4 = zero, o5 = zero, o6 = zero, o7 = zero;
  const auto add_one = [](const T* row, V32 weight, V64& even, V64& odd) HWY_ATTR {
    const V32 values = load_terms(row);
    even = hn::Add(even, hn::MulEven(values, weight));
    odd = hn::Add(odd, hn::MulEven(odd_lanes(values), weight));
  };
  const auto add = [&](const T* row, std::uint32_t times) HWY_ATTR {
    const V32 weight = hn::Set(d, static_cast<std::int32_t>(times));
    add_one(row, weight, e0, o0);
    if constexpr (kVectors > 1) add_one(row + 1 * kLane, weight, e1, o1);
    if constexpr (kVectors > 2) add_one(row + 2 * kLane, weight, e2, o2);
    if constexpr (kVectors > 3) add_one(row + 3 * kLane, weight, e3, o3);
    if constexpr (kVectors > 4) add_one(row + 4 * kLane, weight, e4, o4);
    if constexpr (kVectors > 5) add_one(row + 5 * kLane, weight, e5, o5);
    if constexpr (kVectors > 6) add_one(row + 6 * kLane, weight, e6, o6);
    if constexpr (kVectors > 7) add_one(row + 7 * kLane, weight, e7, o7);
  };
  add(own, own_weight);
  for (std::size_t i = begin; i < end; ++i) {
    prefetch_row<kVectors>(base + stream.targets.ahead(i, kAhead) * width, unaligned);
    add(base + stream.targets.ids[i] * width, stream.weights[i]);
  }
  const auto store = [&](std::int64_t* to) HWY_ATTR {
    hn::StoreInterleaved2(e0, o0, wide, to);
    if constexpr (kVectors > 1) hn::StoreInterleaved2(e1, o1, wide, to + 1 * kLane);
    if constexpr (kVectors > 2) hn::StoreInterleaved2(e2, o2, wide, to + 2 * kLane);
    if constexpr (kVectors > 3) hn::StoreInterleaved2(e3, o3, wide, to + 3 * kLane);
    if constexpr (kVectors > 4) hn::StoreInterleaved2(e4, o4, wide, to + 4 * kLane);
    if constexpr (kVectors > 5) hn::StoreInterleaved2(e5, o5, wide, to + 5 * kLane);
    if constexpr (kVectors > 6) hn::StoreInterleaved2(e6, o6, wide, to + 6 * kLane);
    if constexpr (kVectors > 7) hn::StoreInterleaved2(e7, o7, wide, to + 7 * kLane);
  };
  if (columns == kVectors * kLane) {
    store(out);
  } else {
    alignas(64) std::array<std::int64_t, kVectors * kLane> whole;
    store(whole.data());
    std::memcpy(out, whole.data(), columns * sizeof(std::int64_t));
  }
}

/// multiply_panel for a panel of any width in [1, kMultipliedPanel].
template <std::size_t kVectors = kMaxMultiplied, class T>
HWY_INLINE void multiply_columns(const TileOf<T>& tile, std::size_t column, std::size_t columns, const T* own,
                                 std::uint32_t own_weight, const WeightedStream& stream, std::size_t begin,
                                 std::size_t end, std::int64_t* out) {
  if constexpr (kVectors > 1)
    if (columns <= (kVectors - 1) * kLane)
      return multiply_columns<kVectors - 1>(tile, column, columns, own, own_weight, stream, begin, end, out);
  multiply_panel<kVectors>(tile, column, columns, own, own_weight, stream, begin, end, out);
}

#endif

/// The sums of one node's list, and their divisor.
template <class T>
std::uint32_t multiply_list(const TileOf<T>& tile, const T* own, std::uint32_t own_weight, const WeightedStream& stream,
                            std::size_t begin, std::size_t end, std::int64_t* sums) {
  for (std::size_t column = 0; column < tile.width; column += kMultipliedPanel)
    multiply_columns(tile, column, std::min(kMultipliedPanel, tile.width - column), own + column, own_weight, stream,
                     begin, end, sums + column);
  std::uint32_t degree = own_weight;
  for (std::size_t i = begin; i < end; ++i) degree += stream.weights[i];
  return degree;
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

/// sums[c] += rows of a stream that is not empty, each times its weight.
void add_multiplied(const Tile& tile, const WeightedStream& stream, std::int64_t* sums) {
  alignas(64) std::array<std::int64_t, kMultipliedPanel> part;
  const std::int32_t* const first = tile.rows + stream.targets.ids[0] * tile.width;
  for (std::size_t column = 0; column < tile.width; column += kMultipliedPanel) {
    const std::size_t columns = std::min(kMultipliedPanel, tile.width - column);
    multiply_columns(tile, column, columns, first + column, stream.weights[0], stream, 1, stream.targets.size,
                     part.data());
    for (std::size_t c = 0; c < columns; ++c) sums[column + c] += part[c];
  }
}

/// Copies the sums to int32 and says true, or fills `out` with zeros and says false when one does
/// not fit.
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

std::optional<std::uint64_t> AddRows(const Tile& tile, const ListedRows& list, const std::int32_t* before,
                                     const ColumnFactors& factors, std::int32_t* after) {
  const std::size_t terms = list.neighbours.size();
  if (list.weights != nullptr || terms > partial_terms(tile)) return std::nullopt;
  const D32 d;
  const Stream stream{list.neighbours.data(), terms, list.lookahead};
  alignas(64) std::array<std::int32_t, kPanel> part;
  auto overflow = hn::Zero(d);
  bool fits = true;
  V64 low = no_products(), high = no_products();
  for (std::size_t column = 0; column < tile.width; column += kPanel) {
    const std::size_t columns = std::min(kPanel, tile.width - column);
    sum_columns<kMaxVectors, std::int32_t>(tile, column, columns, nullptr, stream, 0, terms, part.data());
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

void GatherRows(const Tile& tile, const ListedRows& list, std::int64_t* sums) {
  const Stream stream{list.neighbours.data(), list.neighbours.size(), list.lookahead};
  if (list.weights == nullptr)
    add_wide<std::int32_t>(tile, nullptr, stream, 0, stream.size, sums);
  else if (stream.size > 0)
    add_multiplied(tile, {stream, list.weights}, sums);
}

/// gather_lists; quotients, of which nothing is read before the next level, go past the caches
/// where they can.
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
    std::uint32_t degree = lists.counts[i] + 1;
    const std::size_t end = begin + lists.counts[i];
    const T* const own = tile.rows + lists.nodes[i] * width;
    std::int32_t* const sums = out.sums + i * width;
    const std::int64_t* wide_sums = nullptr;
    if (lists.weights != nullptr || lists.own_weight != 1) {  // lists without targets may have no weights
      std::int64_t* const wide = out.wide_sums + wide_rows * width;
      degree = multiply_list(tile, own, lists.own_weight, {stream, lists.weights}, begin, end, wide);
      if (!narrow(wide, width, sums)) {
        out.wide_nodes[wide_rows++] = static_cast<std::uint32_t>(i);
        wide_sums = wide;
      }
    } else if (degree <= most) {
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

/// differences_of() by panels, with the fingerprint of quotients - published: of what was formed,
/// not of what was stored.
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

const char* TargetName() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(AddRows);
HWY_EXPORT(Differences32);
HWY_EXPORT(Differences64);
HWY_EXPORT(GatherRows);
HWY_EXPORT(GatherBlock);
HWY_EXPORT(GatherShortBlock);
HWY_EXPORT(Quotients32);
HWY_EXPORT(Quotients64);
HWY_EXPORT(Scaled);
HWY_EXPORT(TargetName);

void gather_rows(const Tile& tile, const ListedRows& list, std::int64_t* sums) {
  HWY_DYNAMIC_DISPATCH(GatherRows)(tile, list, sums);
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

std::optional<std::uint64_t> add_rows(const Tile& tile, const ListedRows& list, const std::int32_t* before,
                                      const ColumnFactors& factors, std::int32_t* after) {
  return HWY_DYNAMIC_DISPATCH(AddRows)(tile, list, before, factors, after);
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

const char* gather_instructions() {
  return HWY_DYNAMIC_DISPATCH(TargetName)();
}

}  // namespace unweave
#endif  // HWY_ONCE
