// engine/sweep/modulus.h - arithmetic modulo a prime of 31 bits that is known at run time only.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "storage/io/types.h"

namespace unweave {

/// A prime p between 2^30 and 2^31. Residues are 0 .. p - 1; centred ones lie between -2^30 and
/// 2^30, so that four products with int32 add up in int64.
class Modulus {
 public:
  static constexpr std::uint32_t kLeast = std::uint32_t{1} << 30;

  explicit constexpr Modulus(std::uint32_t prime) noexcept
      : prime_(prime),
        reciprocal_(std::numeric_limits<std::uint64_t>::max() / prime),  // floor(2^64 / p): p does not divide 2^64
        shift_(((std::uint64_t{1} << 63) / prime + 1) * prime),
        high_unit_((std::uint64_t{1} << 32) % prime) {}

  [[nodiscard]] constexpr std::uint64_t prime() const noexcept { return prime_; }

  [[nodiscard]] constexpr std::uint64_t residue(std::uint64_t x) const noexcept {
    // What is dropped of 2^64 / p makes the quotient smaller by less than 1, so that at most one p
    // is left too many.
    const auto quotient = static_cast<std::uint64_t>((UInt128{x} * reciprocal_) >> 64);
    return less_prime(x - quotient * prime_);
  }
  /// That of a number between -2^63 and 2^62.
  [[nodiscard]] constexpr std::uint64_t signed_residue(std::int64_t x) const noexcept {
    return residue(static_cast<std::uint64_t>(x) + shift_);
  }
  /// That of 2^32 high + low, |high| < 2^62 and low < 2^62.
  [[nodiscard]] constexpr std::uint64_t residue(std::int64_t high, std::uint64_t low) const noexcept {
    return residue(signed_residue(high) * high_unit_ + low);
  }
  /// That of a number between -2^125 and 2^125.
  [[nodiscard]] constexpr std::uint64_t residue(Int128 x) const noexcept {
    const auto low = static_cast<std::uint64_t>(x);
    const std::uint64_t upper = residue(static_cast<std::int64_t>(x >> 64), low >> 32);
    return residue(upper * high_unit_ + (low & 0xFFFFFFFF));
  }
  [[nodiscard]] constexpr std::uint64_t add(std::uint64_t x, std::uint64_t y) const noexcept {
    return less_prime(x + y);
  }
  [[nodiscard]] constexpr std::uint64_t subtract(std::uint64_t x, std::uint64_t y) const noexcept {
    return less_prime(x + prime_ - y);
  }
  /// The product of a centred residue and a residue.
  [[nodiscard]] constexpr std::uint64_t multiply(std::int32_t x, std::uint64_t y) const noexcept {
    return signed_residue(x * static_cast<std::int64_t>(y));
  }
  [[nodiscard]] constexpr std::int32_t centred(std::uint64_t residue) const noexcept {
    const auto x = static_cast<std::int64_t>(residue);
    return static_cast<std::int32_t>(residue > prime_ / 2 ? x - static_cast<std::int64_t>(prime_) : x);
  }

 private:
  [[nodiscard]] constexpr std::uint64_t less_prime(std::uint64_t x) const noexcept {
    return x >= prime_ ? x - prime_ : x;
  }

  std::uint64_t prime_;
  std::uint64_t reciprocal_;
  std::uint64_t shift_;      ///< a multiple of p that leaves no number below 0
  std::uint64_t high_unit_;  ///< 2^32 mod p
};

/// Whether an odd number above 2 has no divisor. No composite number of 32 bits passes the test of
/// Miller and Rabin for these three bases (Jaeschke, On strong pseudoprimes to several bases, Math.
/// Comp. 61, 1993, table 1): each key draws a prime, and a batch of one request a key, for which
/// trial division takes as long as all else.
[[nodiscard]] constexpr bool is_prime(std::uint32_t odd) noexcept {
  const std::uint64_t modulus = odd;
  const int twos = std::countr_zero(odd - 1);
  for (const std::uint64_t base : {2U, 7U, 61U}) {
    if (base % modulus == 0) continue;
    std::uint64_t power = 1, square = base % modulus;
    for (std::uint32_t exponent = (odd - 1) >> twos; exponent > 0; exponent >>= 1) {
      if ((exponent & 1) != 0) power = power * square % modulus;
      square = square * square % modulus;
    }
    bool passes = power == 1 || power == modulus - 1;
    for (int i = 1; i < twos && !passes; ++i) {
      power = power * power % modulus;
      passes = power == modulus - 1;
    }
    if (!passes) return false;
  }
  return true;
}

}  // namespace unweave
