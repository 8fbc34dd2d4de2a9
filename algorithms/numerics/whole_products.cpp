// algorithms/numerics/whole_products.cpp - tries the products that proofs rely on.
#include "algorithms/numerics/whole_products.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/skinny_products.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

// 24 + 20 + 9 = 53 bits.
constexpr int kLeftBits = 24, kRightBits = 20;
constexpr std::size_t kInner = 512;

/// Odd numbers just below 2^bits, of changing sign in every third place.
double limit_number(std::size_t place, int bits) {
  const double size = std::ldexp(1.0, bits) - 1 - 2 * static_cast<double>(place % 61);
  return place % 3 == 2 ? -size : size;
}

bool are_exact(std::size_t rows, std::size_t columns) {
  std::vector<double> a(rows * kInner), across(rows * kInner), b(kInner * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < kInner; ++k)
      a[i * kInner + k] = across[k * rows + i] = limit_number(7 * i + k, kLeftBits);
  for (std::size_t k = 0; k < kInner; ++k)
    for (std::size_t j = 0; j < columns; ++j) b[k * columns + j] = limit_number(5 * j + 3 * k, kRightBits);
  std::vector<double> found(rows * columns), transposed(rows * columns);
  multiply(a.data(), b.data(), found.data(), rows, kInner, columns, false);
  multiply_transposed(across.data(), b.data(), transposed.data(), rows, kInner, columns, false);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < kInner; ++k)
        sum += static_cast<std::int64_t>(a[i * kInner + k]) * static_cast<std::int64_t>(b[k * columns + j]);
      const auto exact = static_cast<double>(sum);
      if (found[i * columns + j] != exact || transposed[i * columns + j] != exact) return false;
    }
  return true;
}

}  // namespace

void require_exact_products() {
  // Matrices of few columns have another way than those of many.
  static const bool kExact = are_exact(48, 24) && are_exact(12, kMostSkinnyColumns + 8);
  if (!kExact)
    throw ResourceError(
        "the BLAS library of this build rounds products of whole numbers below 2^53; build with another one");
}

}  // namespace unweave
