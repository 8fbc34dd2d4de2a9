// algorithms/propagation/row_values.h - the numbers of a row of the embedding from normalised sums:
// in one order, so that rows that are kept have the bits of rows that are derived.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace unweave {

/// 2^-scale_bits, the unit of normalised sums.
[[nodiscard]] inline double unit_of(std::uint32_t scale_bits) {
  return std::ldexp(1.0, -static_cast<int>(scale_bits));
}

/// Adds a level to a row of Z before its factor: sum[c] += weight * t[c]. A level of weight 0 is
/// left out by the caller.
template <class Value>
void add_level(double weight, std::span<const Value> t, double* sum) {
  for (std::size_t c = 0; c < t.size(); ++c) sum[c] += weight * t[c];
}

/// The row itself: factor is d^(1-rho) 2^-scale_bits.
inline void finish_row(double factor, std::span<const double> sum, float* out) {
  for (std::size_t c = 0; c < sum.size(); ++c) out[c] = static_cast<float>(factor * sum[c]);
}

/// The row of a single level: what the two functions above leave of it.
inline void finish_level(double weight, double factor, std::span<const std::int32_t> t, float* out) {
  for (std::size_t c = 0; c < t.size(); ++c) out[c] = static_cast<float>(factor * (0.0 + weight * t[c]));
}

/// Which levels have a weight other than 0 in some block: levels + 1 flags.
[[nodiscard]] inline std::vector<bool> used_levels(std::span<const double> weights, std::size_t levels) {
  std::vector<bool> used(levels + 1);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] != 0) used[i % (levels + 1)] = true;
  return used;
}

}  // namespace unweave
