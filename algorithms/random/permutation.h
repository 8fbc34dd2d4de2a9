// algorithms/random/permutation.h - a random order of 0 .. n - 1 that is computed, not stored.
//
// source   Black, Rogaway, Ciphers with arbitrary finite domains, CT-RSA 2002: a Feistel network
// over a x b >= n numbers
//          whose halves are added modulo a and b, repeated while the result lies outside.
#pragma once

#include <cstdint>

#include "algorithms/random/counter_random.h"

namespace unweave {

/// A bijection of [0, size) chosen by `key`. Immutable; any number of threads at once.
class Permutation {
 public:
  /// 1 <= size <= 2^40; takes sqrt(size) steps.
  Permutation(std::uint64_t size, std::uint64_t key) noexcept : size_(size), key_(key) {
    while (rows_ * rows_ < size) ++rows_;
    columns_ = (size + rows_ - 1) / rows_;
  }

  /// `place` < size.
  [[nodiscard]] std::uint64_t at(std::uint64_t place) const noexcept {
    // Fewer than rows_ of the numbers lie outside, so hardly ever is a second turn needed.
    do {
      std::uint64_t row = place / columns_;
      std::uint64_t column = place % columns_;
      for (std::uint64_t round = 0; round < kRounds; round += 2) {
        row = added(row, step(round, column, rows_), rows_);
        column = added(column, step(round + 1, row, columns_), columns_);
      }
      place = row * columns_ + column;
    } while (place >= size_);
    return place;
  }

  /// The inverse: the same rounds backwards.
  [[nodiscard]] std::uint64_t place_of(std::uint64_t item) const noexcept {
    do {
      std::uint64_t row = item / columns_;
      std::uint64_t column = item % columns_;
      for (std::uint64_t round = kRounds; round > 0; round -= 2) {
        column = added(column, columns_ - step(round - 1, row, columns_), columns_);
        row = added(row, rows_ - step(round - 2, column, rows_), rows_);
      }
      item = row * columns_ + column;
    } while (item >= size_);
    return item;
  }

 private:
  static constexpr std::uint64_t kRounds = 4;

  [[nodiscard]] std::uint64_t step(std::uint64_t round, std::uint64_t half, std::uint64_t bound) const noexcept {
    return bits_below(random_bits(key_ + round, half), bound);
  }
  [[nodiscard]] static std::uint64_t added(std::uint64_t x, std::uint64_t y, std::uint64_t bound) noexcept {
    const std::uint64_t sum = x + y;
    return sum < bound ? sum : sum - bound;
  }

  std::uint64_t size_;
  std::uint64_t key_;
  std::uint64_t rows_ = 1;
  std::uint64_t columns_;
};

}  // namespace unweave
