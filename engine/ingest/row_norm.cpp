// engine/ingest/row_norm.cpp - divides rows so that their norm is at most 1 after float32 rounding,
// too.
#include "engine/ingest/row_norm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "storage/codec/half.h"

namespace unweave {
namespace {

constexpr std::uint32_t kSignedZero = 0x80000000;

/// The float32 next to a value on the side of zero.
float toward_zero(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  return std::abs(double{nearest}) > std::abs(value) ? std::nextafter(nearest, 0.0F) : nearest;
}

double squared_norm_over(std::span<const double> values, double divisor) noexcept {
  double sum = 0;
  for (const double value : values) sum += (value / divisor) * (value / divisor);
  return sum;
}

/// What rounding of the norm itself may have left above 1.
void trim(std::span<float> row) noexcept {
  while (squared_norm(row) > 1) {
    float& largest =
        *std::max_element(row.begin(), row.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
    largest = std::nextafter(largest, 0.0F);
  }
}

}  // namespace

double squared_norm(std::span<const float> row) noexcept {
  double sum = 0;
  for (const float value : row) sum += double{value} * double{value};
  return sum;
}

double bound_row(std::span<const double> values, std::span<float> out, double divisor) noexcept {
  double square = 0;
  for (const double value : values) square += value * value;
  double norm = std::sqrt(square);
  if (square <= divisor * divisor) {
    std::transform(values.begin(), values.end(), out.begin(),
                   [&](double value) { return static_cast<float>(value / divisor); });
    if (squared_norm(out) > 1)
      std::transform(values.begin(), values.end(), out.begin(),
                     [&](double value) { return toward_zero(value / divisor); });
  } else if (std::isfinite(square)) {
    std::transform(values.begin(), values.end(), out.begin(), [&](double value) { return toward_zero(value / norm); });
  } else {
    double largest = 0;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    const double times = std::sqrt(squared_norm_over(values, largest));
    std::transform(values.begin(), values.end(), out.begin(),
                   [&](double value) { return toward_zero(value / largest / times); });
    norm = largest * times;
  }
  trim(out);
  return norm;
}

void round_to_type(std::span<float> values, FeatureType type) noexcept {
  if (type == FeatureType::f16) truncate_to_halves(values);
  drop_signs_of_zeros(values);
}

// By bits: a processor that takes subnormal numbers for zeros would not tell them apart.
void drop_signs_of_zeros(std::span<float> values) noexcept {
  for (float& value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    value = std::bit_cast<float>(bits == kSignedZero ? 0 : bits);
  }
}

bool has_signed_zero(std::span<const float> values) noexcept {
  std::uint32_t found = 0;  // without a branch, so that whole vectors are compared
  for (const float value : values) found |= std::bit_cast<std::uint32_t>(value) == kSignedZero ? 1U : 0U;
  return found != 0;
}

}  // namespace unweave
