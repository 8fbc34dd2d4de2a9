// tests/faults/crash_test.cpp - the power fails before every change of a disk; a store opens and
// goes on to the same bits.
#include <doctest/doctest.h>

#include <cstdlib>

#include "support/faults/scenarios.h"

namespace unweave::testing {
namespace {

Tried walk(const Setting& setting, int seeds) {
  const Tried tried = cut_power(setting.before, setting.scenario, seeds);
  MESSAGE(setting.scenario.name, ": power cut at ", tried.points, " points, ", tried.states, " disks");
  return tried;
}

}  // namespace

TEST_SUITE("heavy") {
  TEST_CASE("power cuts while importing") {
    CHECK(walk(import_setting("none"), 8).points > 50);
    CHECK(walk(import_setting("degree"), 8).points > 50);
  }
  TEST_CASE("power cuts while propagating") {
    CHECK(walk(propagate_setting(false), 8).points > 20);
    CHECK(walk(propagate_setting(true), 8).points > 20);
  }
  TEST_CASE("power cuts while training") {
    CHECK(walk(train_setting("newton"), 8).points > 5);
    CHECK(walk(train_setting("exact"), 8).points > 5);
    CHECK(walk(train_setting("hessian-free"), 8).points > 10);
    CHECK(walk(train_setting("rewind"), 8).points > 10);
  }
  TEST_CASE("power cuts while streaming with a model") {
    CHECK(walk(stream_setting("newton"), 8).points > 50);
    CHECK(walk(stream_setting("exact"), 8).points > 50);
    CHECK(walk(stream_setting("rewind"), 8).points > 50);
    if (std::getenv("UNWEAVE_ALL_FAULTS") == nullptr) return;
    CHECK(walk(stream_setting("langevin"), 8).points > 50);
    CHECK(walk(stream_setting("hessian-free"), 8).points > 50);
  }
  TEST_CASE("power cuts at checkpoints") {
    CHECK(walk(checkpoint_setting(), 8).points > 50);
    CHECK(walk(whole_graphs_setting(), 8).points > 40);
    CHECK(walk(held_edges_setting(), 8).points > 40);
  }
  TEST_CASE("power cuts while folding") {
    CHECK(walk(fold_setting(), 8).points > 50);
    CHECK(walk(graph_fold_setting(), 8).points > 50);
  }
  TEST_CASE("power cuts while repairing") {
    CHECK(walk(repair_setting(), 8).points > 20);
  }
  TEST_CASE("power cuts while growing") {
    CHECK(walk(grow_setting({"none", FeatureType::f32, true}, false), 8).points > 20);
    CHECK(walk(grow_setting({"degree", FeatureType::f32, false}, true), 8).points > 20);
  }
  TEST_CASE("power cuts while purging in steps") {
    CHECK(walk(purge_steps_setting(false), 8).points > 100);
    CHECK(walk(purge_steps_setting(true), 1).points > 100);
  }
  TEST_CASE("power cuts while purging") {
    CHECK(walk(purge_setting({"none", FeatureType::f32, true}, false), 8).points > 50);
    CHECK(walk(purge_model_setting(), 8).points > 50);
    CHECK(walk(purge_setting({"degree", FeatureType::f32, false}, true), 8).points > 50);
    CHECK(walk(purge_graphs_setting(), 8).points > 40);
    CHECK(walk(purge_pairs_setting(), 8).points > 40);
  }
}

}  // namespace unweave::testing
