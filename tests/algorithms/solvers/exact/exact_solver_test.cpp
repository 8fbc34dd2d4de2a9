// tests/algorithms/solvers/exact/exact_solver_test.cpp - releases of T0: equality with training
// from nothing, and what breaks it.
#include "algorithms/solvers/exact/exact_solver.h"

#include <doctest/doctest.h>

#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/checks/checked_model.h"
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

  TEST_CASE("T0: what a solver keeps from other rows does not reach the bits") {
    for (const Head head : exact_heads()) {
      CAPTURE(name_of(head));
      const auto solver = make_solver("exact", exact_options(head)), other = make_solver("exact", exact_options(head));
      TrainingSet rows = random_rows(300, 8, 3, 43);
      const TrainingSet strangers = random_rows(280, 8, 3, 44);
      Fit fit = solver->fit(rows, kExact);
      static_cast<void>(solver->fit(strangers, kExact));
      const BatchChange change = random_change(rows, 3, 40, 5, 30, 0.05, 7);
      rows.apply(change);
      static_cast<void>(solver->absorb(fit.model, rows, change, kExact));
      CHECK(fit.model.published == other->fit(rows, kExact).model.published);
      // Nor does what a caller leaves out, who has not been asked for the rows that moved.
      const BatchChange more = random_change(rows, 3, 40, 5, 30, 0.05, 8);
      rows.apply(more);
      BatchChange untold(8, 3);
      for (std::size_t i = 0; i < more.removed.size(); ++i)
        untold.removed.append(more.removed.nodes()[i], more.removed.row(i), more.removed.labels()[i]);
      static_cast<void>(solver->absorb(fit.model, rows, untold, kExact));
      CHECK(fit.model.published == other->fit(rows, kExact).model.published);
    }
  }

  TEST_CASE(
      "T0: a stream at a small lambda publishes the bits of training from nothing, or both end alike without a model") {
    for (const Head head : exact_heads())
      for (const double lambda : {1e-7, 1e-9, 1e-11, 1e-12}) {
        CAPTURE(name_of(head));
        CAPTURE(lambda);
        SolverOptions options = exact_options(head);
        options.lambda = lambda;
        const auto solver = make_solver("exact", options);
        TrainingSet rows = random_rows(150, 4, 3, 17);
        Fit fit = solver->fit(rows, kExact);
        for (unsigned round = 0; round < 4; ++round) {
          const BatchChange change = random_change(rows, 0, 20, 2, 20, 0.05, round);
          rows.apply(change);
          static_cast<void>(solver->absorb(fit.model, rows, change, kExact));
          CHECK(fit.model.published == solver->fit(rows, kExact).model.published);
        }
        options.lambda = 1e-60;
        const auto hopeless = make_solver("exact", options);
        const auto refusal = [](const auto& work) -> std::string {
          try {
            static_cast<void>(work());
          } catch (const UsageError& error) {
            return error.what();
          }
          return "";
        };
        const Matrix before = fit.model.published;
        const std::string fresh = refusal([&] { return hopeless->fit(rows, kExact); });
        if (head == Head::kLeastSquares && fresh.empty()) continue;  // may be solved all the same
        CHECK(fresh.find("has not converged") != std::string::npos);
        CHECK(
            refusal([&] { return hopeless->catch_up(fit.model, rows, kExact); }) ==
            fresh +
                "; requests that were acknowledged stay so, and the model of before, which has not absorbed them, is to be withdrawn");
        CHECK(fit.model.published == before);
        // Weights that are far from the minimiser are known without one to compare with.
        fit.model.published.setZero();
        const Json none;
        Statements say;
        const CheckedModel model{fit.model, options, rows.form(), "", none};
        CHECK_FALSE(kExactSolver.linear.check_release(model, rows, ample_budget(), say));
        REQUIRE(say.all_wrong().size() == 1);
        CHECK(say.all_wrong().front().find("nearest on the grid") != std::string::npos);
        REQUIRE(say.remarks().size() == 1);
        CHECK(say.remarks().front().find("has not converged") != std::string::npos);
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
      "verify trains from nothing and compares bits: one step of the grid, a model that never unlearnt, and a weight off the grid") {
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
