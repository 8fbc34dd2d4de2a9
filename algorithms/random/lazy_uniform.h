// algorithms/random/lazy_uniform.h - a uniform real in [0, 1), of which as many bits are drawn as
// comparisons ask for: answers are exact, and the first 32 bits decide nearly all of them: random
// bits are half the cost of noise.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "algorithms/random/random_source.h"
#include "storage/io/error.h"

namespace unweave {

/// `Source::bits32()` gives independent uniform words of 32 bits. Members throw ResourceError where
/// 256 bits do not decide.
template <class Source>
class LazyUniform {
 public:
  explicit LazyUniform(Source& source) : source_(&source) { words_[0] = source.bits32(); }

  /// Whether it is below an independent one.
  [[nodiscard]] bool below(LazyUniform& other) {
    if (words_[0] != other.words_[0]) return words_[0] < other.words_[0];
    for (std::size_t i = 1;; ++i) {
      const std::uint32_t mine = word(i), its = other.word(i);
      if (mine != its) return mine < its;
    }
  }
  /// Whether it is below numerator / denominator. numerator <= denominator, 1 <= denominator <
  /// 2^126.
  [[nodiscard]] bool below(Wide numerator, Wide denominator) {
    // Cut to 62 bits, n / (d + cut) <= numerator / denominator <= (n + cut) / d, and products fit.
    const auto high = static_cast<std::uint64_t>(denominator >> 64);
    const int width =
        high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(static_cast<std::uint64_t>(denominator));
    const int shift = width > 62 ? width - 62 : 0;
    const Wide n = numerator >> shift, d = denominator >> shift, cut = shift > 0 ? 1 : 0, first = words_[0];
    if ((first + 1) * (d + cut) <= n << 32) return true;
    if (first * d >= (n + cut) << 32) return false;
    return below_from(0, numerator, denominator);
  }
  /// floor(scale x) of this number x. 1 <= scale < 2^32.
  [[nodiscard]] std::uint64_t times(std::uint64_t scale) {
    const std::uint64_t product = scale * words_[0], whole = product >> 32;
    const std::uint64_t missing = (std::uint64_t{1} << 32) - (product & 0xFFFFFFFF);  // to the next whole
    return missing >= scale || below_from(1, missing, scale) ? whole : whole + 1;
  }

 private:
  std::uint32_t word(std::size_t i) {
    if (i == words_.size()) throw ResourceError("256 random bits came up twice; the randomness is broken");
    for (; drawn_ <= i; ++drawn_) words_[drawn_] = source_->bits32();
    return words_[i];
  }
  /// Whether the words from i on, as a number in [0, 1), are below numerator / denominator: by long
  /// division.
  [[nodiscard]] bool below_from(std::size_t i, Wide numerator, Wide denominator) {
    for (;; ++i) {
      if (numerator == denominator) return true;
      std::uint32_t digits = 0;
      for (int bit = 0; bit < 32; ++bit) {
        numerator <<= 1;
        digits <<= 1;
        if (numerator < denominator) continue;
        numerator -= denominator;
        digits |= 1;
      }
      if (word(i) != digits) return word(i) < digits;
      if (numerator == 0) return false;
    }
  }

  Source* source_;
  std::size_t drawn_ = 1;
  std::array<std::uint32_t, 8> words_;
};

}  // namespace unweave
