// algorithms/random/counter_random.h - random numbers that are a function of a key and a counter:
// any of them can be made on any thread, in any order, without storing a state.
#pragma once

#include <cstdint>

#include "storage/io/types.h"
#include "storage/types/keyed_bits.h"

namespace unweave {

/// 64 random bits: number `counter` of the stream that `key` names.
[[nodiscard]] constexpr std::uint64_t random_bits(std::uint64_t key, std::uint64_t counter) noexcept {
  return mix64(key + (counter + 1) * kGoldenRatio);
}

/// Random bits to a number in [0, bound), bound > 0; the bias is below bound / 2^64.
[[nodiscard]] constexpr std::uint64_t bits_below(std::uint64_t bits, std::uint64_t bound) noexcept {
  return static_cast<std::uint64_t>(static_cast<UInt128>(bits) * bound >> 64);
}

/// Random bits to a number of mean 0 and variance 1 that is nearly normal: the sum of four uniform
/// numbers (Irwin-Hall), at most 3.5 in absolute value. Integers up to one product, so every
/// machine gives the same bits.
[[nodiscard]] constexpr double bits_to_deviate(std::uint64_t bits) noexcept {
  constexpr double kMean = 4 * 65535 / 2.0;
  constexpr double kDeviation = 37837.22723720648;  // sqrt(4 (65536^2 - 1) / 12)
  const std::uint64_t sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
  return (static_cast<double>(static_cast<std::int64_t>(sum)) - kMean) * (1 / kDeviation);
}

}  // namespace unweave
