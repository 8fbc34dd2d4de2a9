// tests/faults/quick_test.cpp - some of the faults of the slow tests in a few seconds.
#include <doctest/doctest.h>

#include <cerrno>

#include "support/faults/scenarios.h"

namespace unweave::testing {

TEST_SUITE("unit") {
  TEST_CASE("power cuts at checkpoints, those without chance") {
    const Setting setting = checkpoint_setting();
    CHECK(cut_power(setting.before, setting.scenario, 0).states > 100);
  }
  TEST_CASE("a full disk and missing memory at checkpoints") {
    const Setting setting = checkpoint_setting();
    CHECK(fail_calls(setting.before, setting.scenario, {kWrite | kFolder | kResize, 0, ENOSPC, true, false}).failed >
          10);
    CHECK(fail_allocations(setting.before, setting.scenario, 8).failed > 4);
  }
}

}  // namespace unweave::testing
