// tests/engine/ingest/row_norm_test.cpp - rows come out within the bound and next to what exact
// scaling gives.
#include "engine/ingest/row_norm.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace unweave {
namespace {

std::vector<float> bounded(const std::vector<double>& row) {
  std::vector<float> out(row.size());
  bound_row(row, out);
  return out;
}

/// The norm in extended precision, by hypot: no overflow, no shared code.
long double plain_norm(const std::vector<double>& row) {
  long double norm = 0;
  for (const double value : row) norm = std::hypot(norm, static_cast<long double>(value));
  return norm;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows of any size end at norm 1 or below, each value within two float32 steps of exact scaling") {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    for (int run = 0; run < 3000; ++run) {
      const double scale = std::pow(10.0, static_cast<int>(random() % 9) - 6);
      std::vector<double> row(1 + random() % 200);
      for (double& value : row) value = scale * normal(random);
      if (run % 3 == 0) {  // right at the bound, where rounding to nearest may cross it
        const auto norm = static_cast<double>(plain_norm(row));
        for (double& value : row) value /= norm;
      }
      const auto out = bounded(row);
      double square = 0;
      for (const float value : out) square += static_cast<double>(value) * static_cast<double>(value);
      CHECK(square <= 1.0);
      const long double divisor = std::max(1.0L, plain_norm(row));
      for (std::size_t i = 0; i < row.size(); ++i) {
        const auto exact = static_cast<double>(static_cast<long double>(row[i]) / divisor);
        CHECK(std::abs(static_cast<double>(out[i]) - exact) <= std::abs(exact) * 0x1p-22);
      }
    }
  }

  TEST_CASE("rows within the bound are merely rounded, to nearest where that stays within it") {
    CHECK(bounded({0.1, -0.2, 0}) == std::vector<float>{0.1F, -0.2F, 0});
    CHECK(bounded({1}) == std::vector<float>{1});
    CHECK(bounded({-1, 0}) == std::vector<float>{-1, 0});
    CHECK(bounded({3, 4}) == std::vector<float>{0.59999996F, 0.79999995F});  // toward zero
    CHECK(bounded({2, 2, 2, 2}) == std::vector<float>{0.5F, 0.5F, 0.5F, 0.5F});
    CHECK(bounded({0, 0}) == std::vector<float>{0, 0});
    CHECK(bounded({1 - 0x1p-30}) == std::vector<float>{1});
  }

  TEST_CASE("no zero keeps a sign, and nothing else changes") {
    constexpr float kTiny = 0x1p-149F;  // a zero for processors that flush subnormal numbers
    const auto rounded = [](std::vector<float> row, FeatureType type) {
      round_to_type(row, type);
      std::vector<std::uint32_t> bits;
      for (const float value : row) bits.push_back(std::bit_cast<std::uint32_t>(value));
      return bits;
    };
    const std::vector<float> row{-0.0F, 0.0F, -kTiny, kTiny, -1e-9F, -0.5F, -0.0F};
    CHECK(rounded(row, FeatureType::f32) ==
          std::vector<std::uint32_t>{0, 0, 0x80000001, 1, std::bit_cast<std::uint32_t>(-1e-9F), 0xBF000000, 0});
    CHECK(rounded(row, FeatureType::f16) == std::vector<std::uint32_t>{0, 0, 0, 0, 0, 0xBF000000, 0});
    CHECK(has_signed_zero(row));
    CHECK_FALSE(has_signed_zero(std::vector<float>{0, -kTiny, kTiny, -1, 1}));
  }

  TEST_CASE("a divisor: rows within it are divided by it, those above by their norm, which is returned") {
    const auto divided = [](const std::vector<double>& row, double divisor) {
      std::vector<float> out(row.size());
      CHECK(bound_row(row, out, divisor) == doctest::Approx(static_cast<double>(plain_norm(row))));
      CHECK(squared_norm(out) <= 1);
      return out;
    };
    CHECK(divided({3, 4}, 10) == std::vector<float>{0.3F, 0.4F});
    CHECK(divided({3, 4}, 5) == std::vector<float>{0.59999996F, 0.79999995F});
    CHECK(divided({3, 4}, 1) == bounded({3, 4}));
    CHECK(divided({0.25, 0}, 0.5) == std::vector<float>{0.5F, 0});
    CHECK(divided({0.75, 0}, 0.5) == std::vector<float>{1, 0});
    CHECK(divided({1e99, 0}, 1e100) == std::vector<float>{0.1F, 0});
    CHECK(divided({1e-99, 0}, 1e-100) == std::vector<float>{1, 0});
    CHECK(divided({1e308, 1e308, 0}, 1e100)[0] == doctest::Approx(std::sqrt(0.5)));
  }

  TEST_CASE("squares that overflow or underflow float64 do no harm") {
    const double big = 1.7e308;
    CHECK(bounded({big, big, -big, big}) == std::vector<float>{0.5F, 0.5F, -0.5F, 0.5F});
    CHECK(bounded({1e200, 0}) == std::vector<float>{1, 0});
    CHECK(bounded({1e-200, 0}) == std::vector<float>{0, 0});
  }

  TEST_CASE("zeros may be left out") {
    std::mt19937 random(2);
    for (int run = 0; run < 100; ++run) {
      std::vector<double> dense(60), sparse;
      for (double& value : dense) value = random() % 4 == 0 ? static_cast<double>(random() % 100) / 30 - 1.5 : 0;
      for (const double value : dense)
        if (value != 0) sparse.push_back(value);
      const auto from_sparse = bounded(sparse);
      std::size_t at = 0;
      const auto from_dense = bounded(dense);
      for (std::size_t i = 0; i < dense.size(); ++i)
        if (dense[i] != 0) CHECK(from_dense[i] == from_sparse[at++]);
    }
  }
}

}  // namespace unweave
