// tests/algorithms/updates/batch_pace_test.cpp - predictions of batches come to what batches take.
#include "algorithms/updates/batch_pace.h"

#include <doctest/doctest.h>

using namespace unweave;

TEST_SUITE("unit") {
  TEST_CASE("before the first batch it is what the planner and the disk say") {
    const BatchPace pace(0.002);
    CHECK(pace.predict(0.5, false) == 0.502);
    CHECK(pace.predict(0.5, true) == 0.502);
  }

  TEST_CASE("after some batches it is what they took, for pushes and for sweeps apart") {
    BatchPace pace(0.002);
    for (int batch = 0; batch < 30; ++batch) pace.learn(0.1, false, 0.01, 0.3);
    CHECK(pace.predict(0.2, false) == doctest::Approx(0.01 + 0.6).epsilon(0.01));
    CHECK(pace.predict(0.2, true) == doctest::Approx(0.01 + 0.2).epsilon(0.01));
  }

  TEST_CASE("one batch that stood still hardly moves it, and one with nothing to push tells of the journal alone") {
    BatchPace pace;
    pace.learn(1e-6, false, 0, 1000);
    CHECK(pace.predict(1, false) < 6);
    const double before = pace.predict(1, false);
    pace.learn(0, false, 4, 1);
    CHECK(pace.predict(1, false) == doctest::Approx(before + 2));
  }
}
