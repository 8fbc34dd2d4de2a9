// algorithms/numerics/skinny_products.cpp - tiles of sums that stay in registers. Highway includes
// this file once for every vector extension.
#include "algorithms/numerics/skinny_products.h"

#include <algorithm>

// A tile is an array of vectors, which has a length only where a vector has one.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/numerics/skinny_products.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
// Not sorted: the line above must come first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unweave::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of a strip of columns, and rows of a tile by the vectors of its strip: tile, one row of
/// b and an element of a fill the registers.
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int kStripVectors = 4;
constexpr int kTileRows[] = {0, 12, 12, 8, 6};
#else
constexpr int kStripVectors = 3;
constexpr int kTileRows[] = {0, 12, 6, 4};
#endif
constexpr int kFewRows = 4;               // Those of the tiles behind the last whole one; the rest comes one by one.
constexpr std::size_t kInnerSlice = 256;  // rows of b that stay in the nearest cache from tile to tile

template <class T>
struct Product {
  const T* a;
  std::size_t row_step, inner_step;
  const T* b;  ///< its first column of the strip
  T* out;
  std::size_t inner;    ///< products of the slice
  std::size_t columns;  ///< those of b and out
  std::size_t last;     ///< columns of the last vector of the strip
  bool add;
};

/// The first `count` numbers at `from`, and zeros. Where an extension has no such load, Highway's
/// reads a whole vector, of memory that is aligned.
template <class D, class M, class T>
HWY_INLINE hn::Vec<D> load_first(D d, M mask, std::size_t count, const T* from) {
#if HWY_TARGET <= HWY_AVX2
  static_cast<void>(count);
  return hn::MaskedLoad(mask, d, from);
#else
  static_cast<void>(mask);
  HWY_ALIGN T values[hn::MaxLanes(d)] = {};
  std::copy_n(from, count, values);
  return hn::Load(d, values);
#endif
}

/// Rows `row` to row + kRows of a strip of kVectors vectors, the last of which is cut off where
/// kCut.
template <int kRows, int kVectors, bool kCut, class T>
HWY_INLINE void add_tile(const Product<T>& p, std::size_t row) {
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  constexpr int kWhole = kVectors - (kCut ? 1 : 0);
  const auto mask = hn::FirstN(d, p.last);
  T* const out = p.out + row * p.columns;
  V sums[kRows][kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const T* const at = out + static_cast<std::size_t>(r) * p.columns + static_cast<std::size_t>(v) * kLanes;
      sums[r][v] = !p.add ? hn::Zero(d) : v < kWhole ? hn::LoadU(d, at) : load_first(d, mask, p.last, at);
    }
  }
  const T* a = p.a + row * p.row_step;
  const T* b = p.b;
  for (std::size_t k = 0; k < p.inner; ++k, a += p.inner_step, b += p.columns) {
    V row_of_b[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      row_of_b[v] = v < kWhole ? hn::LoadU(d, b + static_cast<std::size_t>(v) * kLanes)
                               : load_first(d, mask, p.last, b + static_cast<std::size_t>(v) * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const V element = hn::Set(d, a[static_cast<std::size_t>(r) * p.row_step]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(element, row_of_b[v], sums[r][v]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      T* const at = out + static_cast<std::size_t>(r) * p.columns + static_cast<std::size_t>(v) * kLanes;
      if (v < kWhole)
        hn::StoreU(sums[r][v], d, at);
      else
        hn::BlendedStore(sums[r][v], mask, d, at);
    }
  }
}

template <int kVectors, bool kCut, class T>
HWY_NOINLINE void add_strip(const Product<T>& p, std::size_t rows) {
  constexpr int kRows = kTileRows[kVectors];
  std::size_t row = 0;
  for (; row + kRows <= rows; row += kRows) add_tile<kRows, kVectors, kCut>(p, row);
  for (; row + kFewRows <= rows; row += kFewRows) add_tile<kFewRows, kVectors, kCut>(p, row);
  for (; row < rows; ++row) add_tile<1, kVectors, kCut>(p, row);
}

template <int kVectors, class T>
HWY_INLINE void add_strip_of(const Product<T>& p, std::size_t rows) {
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  if (p.last == hn::MaxLanes(d))
    add_strip<kVectors, false>(p, rows);
  else
    add_strip<kVectors, true>(p, rows);
}

template <class T>
void multiply_in_tiles(const T* a, std::size_t row_step, std::size_t inner_step, const T* b, T* out, std::size_t m,
                       std::size_t k, std::size_t n, bool add) {
  constexpr std::size_t kLanes = hn::MaxLanes(hn::CappedTag<T, 64 / sizeof(T)>());
  constexpr std::size_t kStrip = kStripVectors * kLanes;
  if (k == 0 && !add) std::fill_n(out, m * n, T(0));
  for (std::size_t first = 0; first < k; first += kInnerSlice) {
    const std::size_t inner = std::min(kInnerSlice, k - first);
    for (std::size_t column = 0; column < n; column += kStrip) {
      const std::size_t width = std::min(kStrip, n - column), vectors = (width + kLanes - 1) / kLanes;
      const Product<T> product{a + first * inner_step, row_step, inner_step, b + first * n + column,
                               out + column,           inner,    n,          width - (vectors - 1) * kLanes,
                               add || first > 0};
      if (vectors == 1)
        add_strip_of<1>(product, m);
      else if (vectors == 2)
        add_strip_of<2>(product, m);
      else if (vectors == 3)
        add_strip_of<3>(product, m);
      else if constexpr (kStripVectors == 4)
        add_strip_of<4>(product, m);
    }
  }
}

void Multiply32(const float* a, std::size_t row_step, std::size_t inner_step, const float* b, float* out, std::size_t m,
                std::size_t k, std::size_t n, bool add) {
  multiply_in_tiles(a, row_step, inner_step, b, out, m, k, n, add);
}

#if HWY_HAVE_FLOAT64
void Multiply64(const double* a, std::size_t row_step, std::size_t inner_step, const double* b, double* out,
                std::size_t m, std::size_t k, std::size_t n, bool add) {
  multiply_in_tiles(a, row_step, inner_step, b, out, m, k, n, add);
}
#else
void Multiply64(const double* a, std::size_t row_step, std::size_t inner_step, const double* b, double* out,
                std::size_t m, std::size_t k, std::size_t n, bool add) {
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t c = 0; c < n; ++c) {
      double sum = add ? out[i * n + c] : 0;
      for (std::size_t j = 0; j < k; ++j) sum += a[i * row_step + j * inner_step] * b[j * n + c];
      out[i * n + c] = sum;
    }
}
#endif

}  // namespace unweave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unweave {

HWY_EXPORT(Multiply32);
HWY_EXPORT(Multiply64);

void multiply_skinny(const float* a, std::size_t row_step, std::size_t inner_step, const float* b, float* out,
                     std::size_t m, std::size_t k, std::size_t n, bool add) {
  HWY_DYNAMIC_DISPATCH(Multiply32)(a, row_step, inner_step, b, out, m, k, n, add);
}

void multiply_skinny(const double* a, std::size_t row_step, std::size_t inner_step, const double* b, double* out,
                     std::size_t m, std::size_t k, std::size_t n, bool add) {
  HWY_DYNAMIC_DISPATCH(Multiply64)(a, row_step, inner_step, b, out, m, k, n, add);
}

}  // namespace unweave
#endif
