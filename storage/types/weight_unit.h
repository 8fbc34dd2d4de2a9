// storage/types/weight_unit.h - real weights of edges: whole multiples of a unit that is a power of
// two, and how lists of neighbours hold what edges weigh.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace unweave {

/// The unit of the weights of a store, and what the self loop of a node weighs. Both are public
/// constants, which the import fixes.
struct WeightUnit {
  static constexpr int kLeastExponent = -30;

  int exponent = 0;        ///< the unit is 2^exponent, kLeastExponent .. 0
  std::uint32_t self = 1;  ///< units of a self loop, 1 .. kMostSelfWeight

  /// The multiple of the unit that is nearest to a weight, of two the even one; 0 where that is not
  /// one of 1 .. kMostWeight. NaN has none.
  [[nodiscard]] std::uint32_t units(double weight) const noexcept;
  /// Gives the weight that so many units are; a float64 holds it exactly.
  [[nodiscard]] double weight(std::uint64_t units) const noexcept;
  /// Likewise as a text, which reads back to as many.
  [[nodiscard]] std::string text(std::uint64_t units) const;

  friend bool operator==(const WeightUnit&, const WeightUnit&) = default;
};

/// What a self loop weighs at most, in units: as much as a sum of 2^30 such loops leaves in 2^60.
inline constexpr std::uint32_t kMostSelfWeight = std::uint32_t{1} << 30;
/// What the edges of a node may weigh in a file, so that its degree has 32 bits whatever it says.
inline constexpr std::uint32_t kMostListWeight = std::numeric_limits<std::uint32_t>::max() - kMostSelfWeight;

/// The exponent that a text names, "2^-10" or a decimal that is a power of two, as "0.25"; none
/// where it names no power of two from 2^-30 to 1.
[[nodiscard]] std::optional<int> unit_exponent(std::string_view text);
/// The unit that "unit=U" names, with the self loop that stands for a weight of 1. Throws
/// UsageError for any other text.
[[nodiscard]] WeightUnit weight_unit_named(std::string_view text);
/// "2^-10", "1".
[[nodiscard]] std::string unit_text(int exponent);
/// The unit with the self loop that stands for a weight of 1.
[[nodiscard]] constexpr WeightUnit unit_of_exponent(int exponent) noexcept {
  return {exponent, std::uint32_t{1} << -exponent};
}
/// A positive finite number that a text says; none where it says no such number.
[[nodiscard]] std::optional<double> weight_of_text(std::string_view text) noexcept;

/// Units that a node's edges and its self loop weigh at most in sums of so many scale bits: what 53
/// bits hold of their products with numbers of +-2^scale_bits, and below 2^29.
[[nodiscard]] constexpr std::uint64_t most_degree(std::uint32_t scale_bits) noexcept {
  return scale_bits <= 24 ? (std::uint64_t{1} << 29) - 1 : std::uint64_t{1} << (53 - scale_bits);
}
inline constexpr std::uint32_t kDefaultScaleBits = 24;  ///< before there are sums

/// How lists of neighbours hold what edges weigh: an id stands there as often as its edge weighs,
/// or once, and the weights lie beside the ids.
struct ListForm {
  // Not explicit: lists without real weights are told by the largest weight alone.
  constexpr ListForm(std::uint32_t largest = 1, bool beside = false) noexcept  // NOLINT(google-explicit-constructor)
      : max_weight(largest), multiplied(beside) {}

  std::uint32_t max_weight;  ///< what an edge weighs at most, 1 where edges have no weights
  bool multiplied;           ///< weights lie beside the ids

  friend bool operator==(const ListForm&, const ListForm&) = default;
};

}  // namespace unweave
