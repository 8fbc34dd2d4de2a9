// tests/storage/codec/half_test.cpp - 16-bit numbers on every vector extension, against the
// definition in plain arithmetic.
#include "storage/codec/half.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "support/vector_targets.h"

namespace unweave {
namespace {

constexpr unsigned kMagnitudes = 0x7C00;  ///< finite halves are 0, 2^-24, .. 65504, in order of their bits

bool is_finite(Half half) {
  return (half & 0x7FFFU) < kMagnitudes;
}

/// Binary16 by its definition.
float value_of(Half half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return static_cast<float>((half & 0x8000U) != 0 ? -magnitude : magnitude);
}

/// The largest magnitude that is not above the value's, with the value's sign.
Half naive_truncation(float value) {
  unsigned low = 0, high = kMagnitudes;
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (value_of(static_cast<Half>(middle)) <= std::abs(value) ? low : high) = middle;
  }
  return static_cast<Half>(low | (std::signbit(value) ? 0x8000U : 0U));
}

std::vector<Half> truncated(const std::vector<float>& values) {
  std::vector<Half> halves(values.size());
  truncate_to_halves(values, halves.data());
  return halves;
}

/// Every finite half, what lies beside it and between it and the next one, and random bits of
/// finite numbers.
std::vector<float> sample_values() {
  std::vector<float> values;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<Half>(bits);
    if (!is_finite(half)) continue;
    const float value = value_of(half);
    const float next = value_of(static_cast<Half>(is_finite(static_cast<Half>(bits + 1)) ? bits + 1 : bits));
    const float middle = value + (next - value) / 2;
    for (const float one : {value, middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e9F)})
      values.push_back(one);
    for (const float to : {-1e9F, 1e9F}) values.push_back(std::nextafter(value, to));
  }
  std::mt19937 random(7);
  for (int i = 0; i < 300'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(value)) values.push_back(value);
    // Where features are, subnormal halves among them.
    const auto fraction = static_cast<double>(random()) / 4294967296.0 - 0.5;
    values.push_back(static_cast<float>(std::ldexp(fraction, -static_cast<int>(random() % 28))));
  }
  return values;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("every finite half widens to its value and comes back") {
    std::vector<Half> halves;
    for (unsigned bits = 0; bits < 0x10000; ++bits)
      if (is_finite(static_cast<Half>(bits))) halves.push_back(static_cast<Half>(bits));
    CHECK(halves.size() == 2 * kMagnitudes);
    testing::for_each_target([&] {
      std::vector<float> wide(halves.size());
      widen_halves(halves, wide.data());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < halves.size(); ++i) {
        const float expected = value_of(halves[i]);
        wrong += std::bit_cast<std::uint32_t>(wide[i]) == std::bit_cast<std::uint32_t>(expected) ? 0 : 1;
      }
      CHECK(wrong == 0);
      CHECK(truncated(wide) == halves);
    });
  }

  TEST_CASE("what is no finite half never widens to a value that a feature may have") {
    std::vector<Half> halves;
    for (unsigned bits = 0; bits < 0x10000; ++bits)
      if (!is_finite(static_cast<Half>(bits))) halves.push_back(static_cast<Half>(bits));
    testing::for_each_target([&] {
      std::vector<float> wide(halves.size());
      widen_halves(halves, wide.data());
      std::size_t wrong = 0;
      for (const float value : wide) wrong += std::abs(value) < 65536 ? 1 : 0;
      CHECK(wrong == 0);
    });
  }

  TEST_CASE("rounding is toward zero, at once and in place, for any number of values") {
    const std::vector<float> values = sample_values();
    std::vector<Half> expected;
    for (const float value : values) expected.push_back(naive_truncation(value));
    testing::for_each_target([&] {
      CHECK(truncated(values) == expected);
      std::vector<float> in_place = values;
      truncate_to_halves(std::span(in_place));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float kept = value_of(expected[i]);
        wrong += std::bit_cast<std::uint32_t>(in_place[i]) == std::bit_cast<std::uint32_t>(kept) ? 0 : 1;
        wrong += std::abs(in_place[i]) > std::abs(values[i]) ? 1 : 0;
      }
      CHECK(wrong == 0);
      for (std::size_t size = 0; size < 70; ++size) {
        // One more on each side, which must stay.
        std::vector<Half> part(size + 2, 0x1234);
        truncate_to_halves(std::span(values).subspan(1000, size), part.data() + 1);
        CHECK(part.front() == 0x1234);
        CHECK(part.back() == 0x1234);
        CHECK(std::equal(part.begin() + 1, part.end() - 1, expected.begin() + 1000));
        std::vector<float> wide(size + 2, -7.0F);
        widen_halves(std::span(part).subspan(1, size), wide.data() + 1);
        CHECK(wide.front() == -7.0F);
        CHECK(wide.back() == -7.0F);
        for (std::size_t i = 0; i < size; ++i) CHECK(wide[i + 1] == value_of(part[i + 1]));
      }
    });
  }
}

}  // namespace unweave
