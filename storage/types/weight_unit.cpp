// storage/types/weight_unit.cpp - reads units and weights, and rounds weights to units.
#include "storage/types/weight_unit.h"

#include <charconv>
#include <cmath>

#include "storage/io/error.h"
#include "storage/io/message.h"
#include "storage/io/number_text.h"
#include "storage/io/types.h"

namespace unweave {
namespace {

/// A whole text that is a number.
std::optional<double> number_of_text(std::string_view text) noexcept {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::uint32_t WeightUnit::units(double weight) const noexcept {
  const double units = std::nearbyint(std::ldexp(weight, -exponent));  // ldexp rounds nothing here
  return units >= 1 && units <= kMostWeight ? static_cast<std::uint32_t>(units) : 0;
}

double WeightUnit::weight(std::uint64_t units) const noexcept {
  return std::ldexp(static_cast<double>(units), exponent);
}

std::string WeightUnit::text(std::uint64_t units) const {
  return shortest_text(weight(units));
}

std::optional<int> unit_exponent(std::string_view text) {
  constexpr std::string_view kPower = "2^";
  double unit = 0;
  if (text.starts_with(kPower)) {
    const std::string_view digits = text.substr(kPower.size());
    int exponent = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    if (exponent < WeightUnit::kLeastExponent || exponent > 0) return std::nullopt;
    return exponent;
  }
  const std::optional<double> number = number_of_text(text);
  if (!number || !(*number > 0) || *number > 1) return std::nullopt;
  int exponent = 0;
  unit = std::frexp(*number, &exponent);  // 0.5 where it is a power of two
  if (unit != 0.5 || exponent - 1 < WeightUnit::kLeastExponent) return std::nullopt;
  return exponent - 1;
}

WeightUnit weight_unit_named(std::string_view text) {
  constexpr std::string_view kUnit = "unit=";
  const std::optional<int> exponent = text.starts_with(kUnit) ? unit_exponent(text.substr(kUnit.size())) : std::nullopt;
  if (exponent) return unit_of_exponent(*exponent);
  throw UsageError(option("weights", std::string(text)) +
                   ": write unit=U, where U is a power of two from 2^-30 to 1, as in unit=2^-10 or unit=0.125");
}

std::string unit_text(int exponent) {
  return exponent == 0 ? "1" : "2^" + std::to_string(exponent);
}

std::optional<double> weight_of_text(std::string_view text) noexcept {
  const std::optional<double> number = number_of_text(text);
  if (!number || !std::isfinite(*number) || !(*number > 0)) return std::nullopt;
  return number;
}

}  // namespace unweave
