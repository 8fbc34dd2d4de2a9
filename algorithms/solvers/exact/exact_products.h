// algorithms/solvers/exact/exact_products.h - matrix products without rounding: numbers are cut
// into slices of whole numbers, so short that float64 products of them are exact, whatever the
// order of their sums (Ozaki, Ogita, Oishi, Rump 2012).
//
// Slices of rows have 24 bits, those of weights and slopes 20, and at most kInnerLength = 512
// products meet in one float64: 24 + 20 + 9 = 53 bits. Rows are therefore cut into runs of 512
// features, and slices of a block lie run by run: all rows of the first run, row-major, then all
// rows of the next.
#pragma once

#include <cstddef>

#include "algorithms/numerics/matrix.h"

namespace unweave {

inline constexpr int kRowBits = 24, kWeightBits = 20;
inline constexpr double kExactBits = 104;  ///< sums of at most so many bits in pairs are exact
inline constexpr double kUnitSquare = kUnitRoundoff * kUnitRoundoff;
inline constexpr std::size_t kInnerLength = 512;

/// The least e with |x| <= 2^e where `largest` is the largest |x|, at least -100; `least` where all
/// are 0.
[[nodiscard]] int exponent_above(double largest, int least = 0);

/// A block of float32 rows as z = 2^e (2^-24 first + 2^-48 second) + rest, exactly, |z| <= 2^e.
/// Each part has room for count x features.
struct RowSlices {
  double *whole, *first, *second, *rest;
  bool has_rest = false;  ///< else every rest is 0: no entry of the block lies below 2^(e - 25) and needs it
};
void slice_rows(const float* rows, std::size_t count, std::size_t features, int exponent, RowSlices& out);

/// Weights that are the exact sum of so many slices: value = 2^exponent sum_s 2^-20s slice_s.
struct SlicedWeights {
  Matrix value;   ///< F x C
  Matrix slices;  ///< F x (levels C): the first slice of all classes, then the next
  int exponent = 0;
  int levels = 0;
};
/// The nearest such weights, of `levels` slices.
[[nodiscard]] SlicedWeights slice_weights(const Matrix& weights, int levels);

/// Cuts slopes, count x classes pairs (high, low), |high| <= 2^exponent, into `levels` slices,
/// count x (levels classes), and what is left, count x classes, rounded to float64.
void slice_slopes(const double* high, const double* low, std::size_t count, std::size_t classes, int exponent,
                  int levels, double* slices, double* rest);

/// (high, low) += a b in pairs, a: a part of RowSlices (count x features), b: slices of weights, F
/// x (levels C); entry (i, c) of slice s counts 2^(exponent - 20 (s + 1)). `product` has room for
/// count x levels x classes.
void add_margins(const double* part, std::size_t count, std::size_t features, const double* slices, std::size_t classes,
                 int levels, int exponent, double* product, double* high, double* low);
/// (high, low) += a^T b in pairs, F x C, a as above, b slices of slopes. count <= 512. `product`
/// has room for min(F, 512) x levels x classes.
void add_gradients(const double* part, std::size_t count, std::size_t features, const double* slices,
                   std::size_t classes, int levels, int exponent, double* product, double* high, double* low);

/// out (count x columns) += a b in plain float64, and out (F x columns) += a^T b.
void add_product(const double* part, std::size_t count, std::size_t features, const double* b, std::size_t columns,
                 double* out);
void add_transposed_product(const double* part, std::size_t count, std::size_t features, const double* b,
                            std::size_t columns, double* product, double* out);

}  // namespace unweave
