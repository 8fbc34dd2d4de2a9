// storage/types/keyed_bits.h - 64 bits that are a function of a key and a number (FORMAT.md, "The
// orders of slots").
#pragma once

#include <cstdint>

namespace unweave {

inline constexpr std::uint64_t kGoldenRatio = 0x9E37'79B9'7F4A'7C15;  ///< 2^64 divided by the golden ratio, odd

/// A bijection of 64-bit numbers whose outputs for consecutive inputs look random (the finaliser of
/// SplitMix64: Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014).
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EB;
  return x ^ x >> 31;
}

/// A key of its own for each use of one seed.
[[nodiscard]] constexpr std::uint64_t random_key(std::uint64_t seed, std::uint64_t use) noexcept {
  return mix64(mix64(seed + kGoldenRatio) + use * kGoldenRatio);
}

}  // namespace unweave
