// tests/tools/cli/option_values_test.cpp - what counts as a number, a list or a size.
#include "tools/cli/option_values.h"

#include <doctest/doctest.h>

#include <limits>
#include <sstream>

namespace unweave {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

template <class T>
std::string written(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST_SUITE("unit") {
  TEST_CASE("sizes take binary suffixes") {
    struct Case {
      const char* text;
      std::uint64_t bytes;
    };
    for (const Case& one : {Case{"1", 1},
                            {"4096", 4096},
                            {"1K", 1024},
                            {"3k", 3072},
                            {"512M", 512ULL << 20},
                            {"8G", 8ULL << 30},
                            {"2t", 2ULL << 40},
                            {"16777215T", 16777215ULL << 40},
                            {"18446744073709551615", kMax}}) {
      CAPTURE(one.text);
      const auto bytes = Bytes::read(one.text);
      REQUIRE(bytes);
      CHECK(bytes->value == one.bytes);
    }
  }

  TEST_CASE("what is not a positive size that fits 64 bits is refused") {
    for (const char* text : {"", "G", "0", "0G", "-1", "+1", "8GB", "8 G", " 8G", "1.5G", "8X", "0x10", "16777216T",
                             "18446744073709551616", "1e9"}) {
      CAPTURE(text);
      CHECK_FALSE(Bytes::read(text));
    }
  }

  TEST_CASE("counts are whole and not negative") {
    CHECK(Count::read("0")->value == 0);
    CHECK(Count::read("18446744073709551615")->value == kMax);
    for (const char* text : {"", "-1", "+1", "1.0", "1e3", "18446744073709551616", "7 ", "ten"}) {
      CAPTURE(text);
      CHECK_FALSE(Count::read(text));
    }
  }

  TEST_CASE("numbers are finite") {
    CHECK(Real::read("-0.5")->value == -0.5);
    CHECK(Real::read("1e-4")->value == 1e-4);
    for (const char* text : {"", "nan", "inf", "-inf", "1e999", "1,5", "1x", " 1"}) {
      CAPTURE(text);
      CHECK_FALSE(Real::read(text));
    }
  }

  TEST_CASE("lists hold at least one number and no empty place") {
    CHECK(RealList::read("0,-1,1")->values == std::vector<double>{0, -1, 1});
    CHECK(RealList::read("0.25")->values == std::vector<double>{0.25});
    for (const char* text : {"", ",", "1,", ",1", "1,,2", "1;2", "1,nan"}) {
      CAPTURE(text);
      CHECK_FALSE(RealList::read(text));
    }
  }

  TEST_CASE("defaults print as they would be typed") {
    CHECK(written(Count{100}) == "100");
    CHECK(written(Real{1e-4}) == "0.0001");
    CHECK(written(RealList{{0, -1, 0.1}}) == "0,-1,0.1");
  }
}

}  // namespace
}  // namespace unweave
