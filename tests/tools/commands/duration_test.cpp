// tests/tools/commands/duration_test.cpp - times with their units, up to what a clock can count.
#include "tools/commands/duration.h"

#include <doctest/doctest.h>

#include "storage/io/error.h"

namespace unweave {

TEST_SUITE("unit") {
  TEST_CASE("a time is a whole number and its unit, 36,500 days at most") {
    using std::chrono::milliseconds;
    CHECK(read_duration("every", "500ms") == milliseconds(500));
    CHECK(read_duration("every", "5s") == milliseconds(5000));
    CHECK(read_duration("every", "2min") == milliseconds(120'000));
    CHECK(read_duration("every", "24h") == milliseconds(86'400'000));
    CHECK(read_duration("every", "36500d") == milliseconds(86'400'000) * 36'500);
    // Added to a moment, the longest one is still a moment, in the nanoseconds of every clock.
    CHECK(std::chrono::system_clock::now() + std::chrono::nanoseconds(read_duration("every", "36500d")) >
          std::chrono::system_clock::now());
    for (const char* const text : {"", "5", "s", "-1s", "1.5s", "5 s", "5m", "36501d", "876001h",
                                   "99999999999999999999s", "3153600000001ms", "18446744073709551615d"}) {
      CAPTURE(text);
      CHECK_THROWS_AS((void)read_duration("every", text), UsageError);
    }
  }
}

}  // namespace unweave
