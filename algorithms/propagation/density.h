// algorithms/propagation/density.h - the formulas between features, exact sums, normalised sums and
// embedding (one node, all columns).
//
// With d(u) the degree, s the scale bits and rho the exponent of the normalisation:
//   t^0(u) = rint(2^s x(u) d(u)^(rho-1)), clamped to +-2^s        level 0, from the features
//   t^l(u) = rint(S^l(u) / d(u))                                  level l, from the exact sums
//   Z(u)   = d(u)^(1-rho) 2^-s sum_l w_l t^l(u)                   the embedding, float64, then rounded to float32
// rho = 1/2 gives Z = sum_l w_l (D^-1/2 A D^-1/2)^l X. Every quotient is a true float64 division,
// ties go to even.
#pragma once

#include <cstdint>
#include <span>

#include "storage/formats/state_file.h"

namespace unweave {

/// degree^exponent rounded to 40 bits, to nearest; `approximation` is that power within four units
/// in the last place, of any library. Where these leave it open, 50 digits decide (Ziv 1991).
[[nodiscard]] double round_power(std::uint32_t degree, double exponent, double approximation);

/// d^(rho-1): exact division or root for rho 0, 1/2, 1; otherwise correctly rounded to 40 bits, so
/// that no difference between mathematical libraries reaches the integers.
class DegreePower {
 public:
  explicit DegreePower(double rho);
  /// out[c] = t^0 of a row with this degree.
  void level0(std::span<const float> x, std::uint32_t degree, std::uint32_t scale_bits, std::int32_t* out) const;
  /// d^(1-rho).
  [[nodiscard]] double inverse(std::uint32_t degree) const;

 private:
  double rho_;
};

/// out[c] = t^l of a row of sums.
void density_from_sums(const StateRow& sums, std::uint32_t columns, std::uint32_t degree, std::int32_t* out);

}  // namespace unweave
