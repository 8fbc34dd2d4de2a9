// algorithms/numerics/whole_products.h - float64 products of matrices of whole numbers, which are
// exact.
//
// While the moduli of an entry's products add up to 2^53 at most, every intermediate value is a
// whole number that float64 holds: neither the order of sums, nor fused operations, nor how a
// library cuts a product into blocks reaches its bits.
#pragma once

namespace unweave {

/// The nearest whole number, halves to the even one, |x| < 2^51: what lies below one does not fit
/// beside 2^52.
[[nodiscard]] inline double whole_of(double x) noexcept {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

/// Multiplies numbers at these limits, whose products are known, once in a process. Throws
/// ResourceError where the BLAS that is linked does not keep them: one that multiplies by
/// Strassen's method, or in a narrower format.
void require_exact_products();

}  // namespace unweave
