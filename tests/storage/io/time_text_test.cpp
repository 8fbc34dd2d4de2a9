// tests/storage/io/time_text_test.cpp - moments printed and read, against the calendar of the C
// library.
#include "storage/io/time_text.h"

#include <doctest/doctest.h>

#include <array>
#include <ctime>
#include <limits>
#include <random>
#include <string>

namespace unweave {
namespace {

std::string printed_by_c(Millis time, const char* format) {
  const auto seconds = static_cast<std::time_t>(time / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

TEST_SUITE("unit") {
  TEST_CASE("moments are printed as the C library's calendar has them, and read back") {
    std::mt19937_64 random(1);
    for (int i = 0; i < 2000; ++i) {
      const auto time = static_cast<Millis>(random() % 8'000'000'000'000);
      const std::string millis = std::to_string(1000 + time % 1000).substr(1);
      CHECK(time_text(time) == printed_by_c(time, "%Y-%m-%dT%H:%M:%S.") + millis + "Z");
      CHECK(read_time(time_text(time)) == time);
      const Millis minute = time - time % 60'000;
      CHECK(read_time(minute_text(minute)) == minute);
      CHECK(read_time(minute_text(minute + 1)) == minute + 60'000);
      CHECK(read_time(printed_by_c(time, "%Y-%m-%dT%H:%M:%SZ")) == time - time % 1000);
      CHECK(read_time(printed_by_c(time, "%Y-%m-%d")) == time - time % 86'400'000);
    }
  }

  TEST_CASE("what a wrong clock leaves is printed as a moment that can be read") {
    const std::string last = "9999-12-31T23:59:59.999Z";
    CHECK(read_time(last) == kLastMoment);
    for (const Millis time : {kLastMoment, kLastMoment + 1, std::numeric_limits<Millis>::max()}) {
      CHECK(time_text(time) == last);
      CHECK(minute_text(time) == "9999-12-31T23:59Z");
    }
    for (const Millis time : {Millis{0}, Millis{-1}, std::numeric_limits<Millis>::min()}) {
      CHECK(time_text(time) == "1970-01-01T00:00:00.000Z");
      CHECK(minute_text(time) == "1970-01-01T00:00Z");
    }
    CHECK(present_time() > Millis{1'700'000'000'000});
    CHECK(present_time() <= kLastMoment);
  }

  TEST_CASE("other texts are no moments") {
    for (const char* text :
         {"", "2026", "2026-3-01", "2026-02-29", "2026-13-01", "1969-12-31", "2026-03-01T", "2026-03-01T12:00",
          "2026-03-01T24:00Z", "2026-03-01T12:60Z", "2026-03-01T12:00:60Z", "2026-03-01T12:00:00.1Z",
          "2026-03-01T12:00Z ", "2026-03-01 12:00Z", "+026-03-01", "-026-03-01", "2026-03-01T12:00+01:00"})
      CHECK_FALSE_MESSAGE(read_time(text).has_value(), text);
    CHECK(read_time("2028-02-29").has_value());
  }
}

}  // namespace
}  // namespace unweave
