// tests/faults/errors_test.cpp - every call of an operation fails once; the operation says so or
// does without, and the store opens and goes on to the same bits. Some of the places that allocate
// and some of the solvers are tried, and all of them if UNWEAVE_ALL_FAULTS is set.
#include <doctest/doctest.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "support/faults/scenarios.h"

namespace unweave::testing {
namespace {

struct Failure {
  std::string name;
  Fault fault;
};
/// Where a disk takes no change any more, files can still be cut: in memory.
const Failure kFailures[] = {
    {"an I/O error", {kEveryFileCall, 0, EIO, false, false}},
    {"a disk that takes no change any more", {kEveryChange & ~kResize, 0, EIO, true, false}},
    {"a full disk", {kWrite | kFolder | kResize, 0, ENOSPC, true, false}},
    {"no memory for a map", {kMap, 0, ENOMEM, false, false}},
};

bool every_fault() {
  return std::getenv("UNWEAVE_ALL_FAULTS") != nullptr;
}

void walk(const Setting& setting) {
  Tried all;
  const auto tell = [&](const std::string& what, const Tried& tried) {
    MESSAGE(setting.scenario.name, ": ", what, ": ", tried.points, " faults, ", tried.failed, " of them told, ",
            tried.states, " disks", tried.ended > 0 ? ", ended by a library: " + std::to_string(tried.ended) : "");
    CHECK(4 * tried.ended <= tried.points);  // which places are tried is a matter of chance
    all.points += tried.points;
    all.failed += tried.failed;
  };
  for (const Failure& kind : kFailures) tell(kind.name, fail_calls(setting.before, setting.scenario, kind.fault));
  tell("no memory", fail_allocations(setting.before, setting.scenario, every_fault() ? 1'000'000 : 300));
  CHECK(all.failed > 100);
  CHECK(all.failed < all.points);  // something can always be done without, as the removal of what is of no use any more
}

}  // namespace

TEST_SUITE("heavy") {
  TEST_CASE("errors while importing") {
    walk(import_setting("none"));
    walk(import_setting("degree"));
  }
  TEST_CASE("errors while propagating") {
    walk(propagate_setting(false));
    walk(propagate_setting(true));
  }
  TEST_CASE("errors while training") {
    for (const char* solver : {"exact", "newton", "rewind", "hessian-free"}) walk(train_setting(solver));
  }
  TEST_CASE("errors while certifying given weights") {
    for (const char* solver : {"exact", "newton"})
      if (every_fault() || solver == std::string("exact")) walk(certify_setting(solver));
  }
  TEST_CASE("errors while streaming with a model") {
    for (const char* solver : {"exact", "newton", "langevin", "rewind", "hessian-free"})
      if (every_fault() || solver == std::string("exact")) walk(stream_setting(solver));
  }
  TEST_CASE("errors at checkpoints") {
    walk(checkpoint_setting());
    walk(whole_graphs_setting());
    walk(held_edges_setting());
  }
  TEST_CASE("errors while folding") {
    walk(fold_setting());
    walk(graph_fold_setting());
  }
  TEST_CASE("errors while repairing") {
    walk(repair_setting());
  }
  TEST_CASE("errors while purging a store whose model stays") {
    walk(purge_model_setting());
  }
  TEST_CASE("errors while growing") {
    walk(grow_setting({"none", FeatureType::f16, false}, true));
  }
  TEST_CASE("errors while purging in steps") {
    walk(purge_steps_setting(false));
  }
  TEST_CASE("errors while purging") {
    walk(purge_setting({"none", FeatureType::f16, false}, true));
    walk(purge_setting({"bfs", FeatureType::f16, false}, false));
    walk(purge_graphs_setting());
    walk(purge_pairs_setting());
  }
}

}  // namespace unweave::testing
