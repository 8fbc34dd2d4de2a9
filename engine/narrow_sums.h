// engine/narrow_sums.h - whether a row of 64-bit sums fits 32 bits.
#pragma once

#include <cstdint>

namespace unweave {

[[nodiscard]] inline bool fits_narrow(const std::int64_t* sums, std::uint32_t columns) noexcept {
  // Branch-free, so that it vectorises: a sum fits iff narrowing and widening again changes nothing.
  std::int64_t difference = 0;
  for (std::uint32_t c = 0; c < columns; ++c) difference |= sums[c] ^ static_cast<std::int32_t>(sums[c]);
  return difference == 0;
}

}  // namespace unweave
