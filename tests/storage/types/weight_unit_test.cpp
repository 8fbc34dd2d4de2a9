// tests/storage/types/weight_unit_test.cpp - units of weights as text, and weights brought to
// units.
#include "storage/types/weight_unit.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "storage/io/types.h"

namespace unweave {

TEST_SUITE("unit") {
  TEST_CASE("a unit is a power of two from 2^-30 to 1, and nothing else") {
    CHECK(unit_exponent("1") == 0);
    CHECK(unit_exponent("2^0") == 0);
    CHECK(unit_exponent("2^-10") == -10);
    CHECK(unit_exponent("2^-30") == -30);
    CHECK(unit_exponent("0.5") == -1);
    CHECK(unit_exponent("0.0009765625") == -10);
    CHECK(unit_exponent("9.765625e-4") == -10);
    for (const char* const bad : {"", "2", "2^1", "2^-31", "2^", "2^-", "2^-1x", "0", "-0.5", "0.3", "0.1", "nan",
                                  "inf", "0.5 ", "1e-10", "4.6566128730773926e-10"})
      CHECK_MESSAGE(!unit_exponent(bad), bad);
    for (int exponent = WeightUnit::kLeastExponent; exponent <= 0; ++exponent) {
      CHECK(unit_exponent(unit_text(exponent)) == exponent);
      CHECK(unit_of_exponent(exponent).weight(unit_of_exponent(exponent).self) == 1.0);
    }
  }

  TEST_CASE("weights become the nearest multiple, ties the even one, and vanish or overflow as none") {
    const WeightUnit unit{-10, 1024};
    CHECK(unit.units(0.1) == 102);
    CHECK(unit.units(0.25) == 256);
    CHECK(unit.units(3.7) == 3789);
    CHECK(unit.units(1e-4) == 0);
    CHECK(unit.units(64.0) == 0);  // 65,536 units
    CHECK(unit.units(63.9990234375) == 65535);
    CHECK(unit.units(1.5 / 1024) == 2);
    CHECK(unit.units(2.5 / 1024) == 2);
    CHECK(unit.units(0.5 / 1024) == 0);
    CHECK(unit.units(0.0) == 0);
    CHECK(unit.units(-1.0) == 0);
    CHECK(unit.units(std::numeric_limits<double>::quiet_NaN()) == 0);
    CHECK(unit.units(std::numeric_limits<double>::infinity()) == 0);
    CHECK(WeightUnit{0, 1}.units(7.0) == 7);
  }

  TEST_CASE("the text of any multiple reads back to as many units") {
    std::mt19937 random(1);
    for (int exponent = WeightUnit::kLeastExponent; exponent <= 0; ++exponent) {
      const WeightUnit unit = unit_of_exponent(exponent);
      for (int i = 0; i < 200; ++i) {
        const auto units = static_cast<std::uint32_t>(1 + random() % kMostWeight);
        CHECK(unit.units(weight_of_text(unit.text(units)).value()) == units);
      }
    }
    for (const char* const bad : {"", "0", "-1", "nan", "inf", "x", "1x", " 1", "0.35 "})
      CHECK_MESSAGE(!weight_of_text(bad), bad);
  }

  TEST_CASE("what sums hold: d 2^s up to 2^53, and degrees below 2^29") {
    for (std::uint32_t bits = 8; bits <= 29; ++bits) {
      CHECK(most_degree(bits) < std::uint64_t{1} << 29);
      CHECK(std::ldexp(static_cast<double>(most_degree(bits)), static_cast<int>(bits)) <= std::ldexp(1.0, 53));
    }
    CHECK(most_degree(29) == std::uint64_t{1} << 24);
  }
}

}  // namespace unweave
