// tests/algorithms/solvers/exact/exact_solver_test.cpp - releases of T0: equality with training from nothing, and what breaks it.
#include "algorithms/solvers/exact/exact_solver.h"

#include <doctest/doctest.h>

#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "support/exact_reference.h"
#include "support/learner_data.h"
#include "support/trained_store.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

SolverOptions exact_options(Head head) {
  SolverOptions options;
  options.head = head;
  return options;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("T0: unlearning publishes the bits of training from nothing, whatever was before") {
    for (const Head head : exact_heads()) {
      CAPTURE(name_of(head));
      const auto solver = make_solver("exact", exact_options(head));
      TrainingSet rows = random_rows(400, 8, 3, 41);
      Fit fit = solver->fit(rows, kExact);
      const Matrix first = fit.model.published;
      for (unsigned round = 0; round < 20; ++round) {
        const BatchChange change = random_change(rows, round % 7, 50, 5, 30, 0.05, round);
        rows.apply(change);
        const StepReport report = solver->absorb(fit.model, rows, change, kExact);
        CHECK(report.certified);
        CHECK(report.claim == "T0");
        CHECK(report.epsilon == 0);
        CHECK(report.delta_reached == 0.0);
        CHECK_FALSE(report.retrained);
        CHECK(report.terms.published() == std::vector<std::string>{"mu", "grid"});
        CHECK(fit.model.published == solver->fit(rows, kExact).model.published);
        CHECK(fit.model.published != first);
        CHECK(fit.model.state.numbers.empty());
        CHECK(fit.model.state.arrays.empty());
      }
    }
  }

  TEST_CASE("T0: putting back what was removed gives the first model") {
    for (const Head head : exact_heads()) {
      const auto solver = make_solver("exact", exact_options(head));
      const TrainingSet all = random_rows(200, 6, 3, 8, 0, true);
      TrainingSet fewer = all;
      const BatchChange change = random_change(all, 0, 20, 8, 0, 0, 1);
      fewer.apply(change);
      Fit fit = solver->fit(all, kExact);
      const Matrix first = fit.model.published;
      solver->absorb(fit.model, fewer, change, kExact);
      CHECK(fit.model.published != first);
      solver->catch_up(fit.model, all, kExact);
      CHECK(fit.model.published == first);
    }
  }

  TEST_CASE("T0 sabotage: skipped moved rows, no step, and a wrong mu are each seen in the bits") {
    for (const Head head : exact_heads()) {
      const auto solver = make_solver("exact", exact_options(head));
      const TrainingSet before = random_rows(300, 8, 3, 42);
      const BatchChange change = random_change(before, 0, 40, 4, 60, 0.05, 1);
      TrainingSet after = before, stale = before;
      after.apply(change);
      BatchChange removals_only(before.features(), before.classes());
      removals_only.removed = change.removed;
      stale.apply(removals_only);
      const Matrix honest = solver->fit(after, kExact).model.published;
      CHECK(solver->fit(stale, kExact).model.published != honest);
      CHECK(solver->fit(before, kExact).model.published != honest);
      SolverOptions other = exact_options(head);
      other.lambda *= 300.0 / 296;  // mu of the rows before
      CHECK(make_solver("exact", other)->fit(after, kExact).model.published != honest);
    }
  }

  TEST_CASE("stale rows are flushed first, standardised ones certify nothing, and a seed changes nothing") {
    SolverOptions options = exact_options(Head::kLogistic);
    const TrainingSet rows = random_rows(100, 5, 2, 7);
    const auto solver = make_solver("exact", options);
    Fit fit = solver->fit(rows, kExact);
    const Matrix first = fit.model.published;
    ApproximationError lazy;
    lazy.euclidean = Vector::Constant(100, 1e-12);
    lazy.absolute = lazy.euclidean;
    const StepReport refused = solver->catch_up(fit.model, rows, lazy);
    CHECK(refused.flush_needed);
    CHECK_FALSE(refused.certified);
    CHECK(fit.model.published == first);

    options.seed = 5;
    const Fit seeded = make_solver("exact", options)->fit(rows, kExact);
    CHECK(seeded.report.certified);
    CHECK_FALSE(seeded.report.for_tests);
    CHECK(seeded.model.published == first);
    options.standardized = true;
    CHECK_FALSE(make_solver("exact", options)->fit(rows, kExact).report.certified);
  }

  TEST_CASE("the grid is a parameter, and weights are its multiples") {
    SolverOptions options = exact_options(Head::kSoftmax);
    const TrainingSet rows = random_rows(100, 5, 3, 7);
    for (const double bits : {8.0, 24.0, 36.0}) {
      options.parameters["grid"] = bits;
      const Matrix weights = make_solver("exact", options)->fit(rows, kExact).model.published * std::exp2(bits);
      CHECK(weights == Matrix(weights.array().rint()));
      CHECK_FALSE(weights.isZero(0));
    }
    options.parameters["grid"] = 41;
    CHECK_THROWS_AS(static_cast<void>(make_solver("exact", options)), UsageError);
  }

  TEST_CASE(
      "verify trains from nothing and compares bits: one step of the grid, a model that never unlearnt, and a weight "
      "off the grid") {
    const TrainedStore world;
    world.train("exact");
    CHECK(text_of(world.verify()) == "");
    world.stream({world.edge_of_training_node()}, {"exact"});
    CHECK(text_of(world.verify()) == "");
    const ModelRecord good = load_model(world.store, "exact");
    const auto files = world.files_of("exact");

    world.forge("exact", [](ModelRecord& record) { record.model.published(3, 1) += 0x1p-24; });
    check_one(world.verify(), false,
              "releases: exact: 1 of 128 weights differ from those that training from nothing gives");
    TrainedStore::restore(files);
    world.forge("exact", [](ModelRecord& record) { record.model.published(3, 1) += 0x1p-30; });
    check_one(world.verify(), false, "is not a multiple of the grid");
    TrainedStore::restore(files);
    const TrainedStore untouched;  // holds what this store held before its batch
    untouched.train("exact");
    const Matrix before = load_model(untouched.store, "exact").model.published;
    CHECK(before != good.model.published);
    world.forge("exact", [&](ModelRecord& record) { record.model.published = before; });
    check_one(world.verify(), false, "weights differ from those that training from nothing gives");
  }
}
