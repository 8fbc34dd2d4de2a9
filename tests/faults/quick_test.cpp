// tests/faults/quick_test.cpp - some of the faults of the heavy tests, in less than a minute.
#include <doctest/doctest.h>

#include <cerrno>

#include "support/faults/scenarios.h"

namespace unweave::testing {
namespace {

const Fault kFullDisk{kWrite | kFolder | kResize, 0, ENOSPC, true, false};

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("power cuts at checkpoints, those without chance") {
    const Setting setting = checkpoint_setting();
    CHECK(cut_power(setting.before, setting.scenario, 0).states > 100);
  }
  TEST_CASE("a full disk and power cuts at checkpoints of whole graphs") {
    const Setting setting = whole_graphs_setting();
    CHECK(cut_power(setting.before, setting.scenario, 0).states > 80);
    CHECK(fail_calls(setting.before, setting.scenario, kFullDisk).failed > 10);
  }
  TEST_CASE("a full disk and power cuts at checkpoints of held edges") {
    const Setting setting = held_edges_setting();
    CHECK(cut_power(setting.before, setting.scenario, 0).states > 80);
    CHECK(fail_calls(setting.before, setting.scenario, kFullDisk).failed > 10);
  }
  TEST_CASE("a full disk and power cuts while purging whole graphs and held edges") {
    for (const Setting& setting : {purge_graphs_setting(), purge_pairs_setting()}) {
      CHECK(cut_power(setting.before, setting.scenario, 0).states > 80);
      CHECK(fail_calls(setting.before, setting.scenario, kFullDisk).failed > 10);
    }
  }
  TEST_CASE("a full disk and power cuts while importing") {
    for (const char* order : {"none", "degree"}) {
      const Setting setting = import_setting(order);
      CHECK(fail_calls(setting.before, setting.scenario, kFullDisk).failed > 10);
      // What a sync has lost no later one brings back: the import must not go on.
      CHECK(fail_calls(setting.before, setting.scenario, {kSync, 0, EIO, false, false}).failed > 3);
      CHECK(cut_power(setting.before, setting.scenario, 0).states > 100);
    }
  }
  TEST_CASE("power cuts while streaming with a model, those without chance") {
    const Setting setting = stream_setting("newton");
    CHECK(cut_power(setting.before, setting.scenario, 0).states > 100);
  }
  TEST_CASE("power cuts while streaming with a model in two files, those without chance") {
    const Setting setting = stream_setting("exact");
    CHECK(cut_power(setting.before, setting.scenario, 0).states > 100);
  }
  TEST_CASE("a full disk and power cuts while purging a store whose model stays") {
    const Setting setting = purge_model_setting();
    CHECK(fail_calls(setting.before, setting.scenario, kFullDisk).failed > 10);
    CHECK(cut_power(setting.before, setting.scenario, 0).states > 100);
  }
  TEST_CASE("a full disk and power cuts while certifying given weights") {
    const Setting setting = certify_setting("exact");
    CHECK(fail_calls(setting.before, setting.scenario, kFullDisk).failed > 5);
    CHECK(cut_power(setting.before, setting.scenario, 0).states > 20);
  }
  TEST_CASE("a full disk and missing memory at checkpoints") {
    const Setting setting = checkpoint_setting();
    CHECK(fail_calls(setting.before, setting.scenario, kFullDisk).failed > 10);
    CHECK(fail_allocations(setting.before, setting.scenario, 8).failed > 4);
  }
  TEST_CASE("a full disk and power cuts while purging in steps") {
    const Setting setting = purge_steps_setting(false);
    CHECK(cut_power(setting.before, setting.scenario, 0).states > 100);
    CHECK(fail_calls(setting.before, setting.scenario, kFullDisk).failed > 20);
  }
  TEST_CASE("a full disk while purging") {
    const Setting setting = purge_setting({"none", FeatureType::f32, true}, false);
    CHECK(fail_calls(setting.before, setting.scenario, kFullDisk).failed > 10);
  }
}

}  // namespace unweave::testing
