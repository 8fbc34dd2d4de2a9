// tests/algorithms/evaluation/solver_trial_test.cpp - trials of solvers, beside trainings and
// batches on all rows.
#include "algorithms/evaluation/solver_trial.h"

#include <doctest/doctest.h>

#include <string>

#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using testing::TrainedStore;

TEST_SUITE("unit") {
  TEST_CASE("a trial on all rows is the training, and writes nothing") {
    const TrainedStore world;
    for (const char* solver : {"exact", "newton", "retrain"}) {
      CAPTURE(solver);
      StoreWriter live(world.store, ample_budget());
      const std::vector<double>& weights = live.embedding().spec().weights;
      const SolverTrial trial = try_solver(live, ample_budget(), solver, testing::unseeded(), weights, 1);
      CHECK_FALSE(std::filesystem::exists(world.model(solver)));
      const std::uint64_t before = ample_budget().used();
      const Learner learner =
          Learner::train(live, ample_budget(), solver, testing::unseeded(), weights, testing::kContext);
      CHECK(trial.memory_bytes == ample_budget().used() - before);  // what a session goes on to hold
      CHECK(trial.rows == learner.rows().size());
      CHECK(trial.training.passes == learner.last_step().passes);
      for (const SolverCost& cost : {trial.training, trial.batch, trial.later_batch}) {
        CHECK(cost.passes > 0);
        CHECK(cost.seconds > 0);
      }
    }
  }

  TEST_CASE("a trial takes as many rows as it may, at least four, and every solver without an account") {
    const TrainedStore world;
    const StoreReader live(world.store, ample_budget());
    const std::vector<double>& weights = live.embedding().spec().weights;
    for (const SolverEntry* const entry : all_solvers()) {
      if (entry->plan != nullptr || entry->needs != nullptr || !entry->linear.trained) continue;
      CAPTURE(entry->name);
      const SolverTrial trial = try_solver(live, ample_budget(), entry->name, testing::unseeded(), weights, 1000, 12);
      CHECK(trial.rows == 12);
      CHECK(trial.training.passes > 0);
    }
    CHECK(try_solver(live, ample_budget(), "exact", testing::unseeded(), weights, 1, 1).rows == 4);
  }
}

}  // namespace
}  // namespace unweave
