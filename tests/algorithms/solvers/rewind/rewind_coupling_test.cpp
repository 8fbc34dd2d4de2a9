// tests/algorithms/solvers/rewind/rewind_coupling_test.cpp - T4: coupled runs stay within the
// account, step by step and along streams.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/privacy/accounting/rewind.h"
#include "algorithms/registry/registry.h"
#include "algorithms/solvers/rewind/rewind_solver.h"
#include "algorithms/solvers/rewind/rewind_state.h"
#include "storage/io/error.h"
#include "support/langevin_runs.h"
#include "support/learner_data.h"
#include "support/released_iterate.h"
#include "support/rewind_runs.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

SolverOptions rewind_run_options(Head head, double lambda, double sampling = 0) {
  SolverOptions options;
  options.head = head;
  options.lambda = lambda;
  options.seed = 3;
  options.parameters["sampling"] = sampling;
  options.parameters["epochs"] = 12;
  return options;
}

/// The removed rows of a change alone.
BatchChange removals_of(const BatchChange& change) {
  BatchChange only(change.removed.features(), change.removed.classes(), change.removed.form());
  only.removed = change.removed;
  return only;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE(
      "T4: coupled runs in turn stay within the bound at every K, for rewind and descend; without the moved rows it would be too small") {
    for (const bool descend : {false, true})
      for (const auto& kind : {std::pair(32.0, false), {200.0, false}, {32.0, true}})
        for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax}) {
          const double batch_rows = kind.first;
          const bool intercept = kind.second;
          CAPTURE(descend);
          CAPTURE(intercept);
          SolverOptions options = rewind_run_options(head, 0.02);
          options.intercept = intercept;
          options.parameters["batch-rows"] = batch_rows;
          const TrainingSet before = random_rows(200, 6, 3, 61, 0, intercept);
          const BatchChange change = coherent_change(before, head == Head::kLogistic ? 2 : 0, 80, 0.3F);
          TrainingSet after = before;
          after.apply(change);
          const RewindRuns runs(descend, before, options);
          const RunChange all = runs.change(change), ignoring = runs.change(removals_of(change));
          bool exceeded = false;
          double last = 1e300;
          for (std::uint64_t epochs = 1; epochs < runs.constants.epochs; ++epochs) {
            const double apart = runs.apart(descend, before, after, epochs);
            const double bound = runs.account.distance(all, epochs);
            REQUIRE(apart <= bound);
            REQUIRE(apart > 0);
            exceeded |= apart > runs.account.distance(ignoring, epochs);
            CHECK(bound < last);
            last = bound;
          }
          // The start of descend is charged as if learning had gone nowhere near, which hides small
          // changes.
          if (!descend && !intercept) CHECK(exceeded);  // with it the removed rows weigh more than the moves
          const double unmoved = runs.account.distance(ignoring, 3) - runs.account.distance(RunChange{}, 3);
          const double moved = runs.account.distance(all, 3) - runs.account.distance(RunChange{}, 3);
          CHECK(moved > 1.5 * unmoved);
        }
  }

  TEST_CASE("the bound of one removed row is reached to the factor that its gradient leaves") {
    // Rows e_1, all alike, least squares from 0: the gradient stays near its bound, and all runs
    // along one line.
    TrainingSet before(1, 1);
    for (NodeId i = 0; i < 64; ++i) {
      const float value = 1;
      before.append(i, std::span(&value, 1), 0);
    }
    SolverOptions options = rewind_run_options(Head::kLogistic, 0.001);
    options.parameters["batch-rows"] = 64;
    options.parameters["step-size"] = 0.05;
    const RewindRuns runs(false, before, options);
    const BatchChange change = coherent_change(before, 8, 0, 0);
    TrainingSet after = before;
    after.apply(change);
    const double bound = runs.account.distance(runs.change(change), 1), apart = runs.apart(false, before, after, 1);
    CHECK(apart <= bound);
    CHECK(apart > 0.4 * bound);  // the logistic slope at 0 is half of its bound
  }

  TEST_CASE("T4: drawn runs with common slots keep to the mean and to the tail, which ignoring moved rows would not") {
    for (const bool descend : {false, true}) {
      const SolverOptions options = rewind_run_options(Head::kLogistic, 0.05, 1);
      const TrainingSet before = random_rows(200, 6, 3, 61);
      const BatchChange change = coherent_change(before, 1, 100, 0.6F);
      TrainingSet after = before;
      after.apply(change);
      const RewindRuns runs(descend, before, options);
      const RunChange all = runs.change(change), ignoring = runs.change(removals_of(change));
      const NoisySgdConstants& sgd = runs.account.sgd().constants();
      const double start = runs.account.distance(RunChange{}, 2);
      const auto tail = [&](const RunChange& of, double failure) {
        const DescentPlan plan{GradientStep::strongly_convex(sgd.step_size, sgd.smoothness, sgd.strong_convexity),
                               runs.constants.epochs * runs.account.sgd().batches(), sgd.batch_rows,
                               DataChange::weighted(sgd.rows, sgd.gradient_bound, of.total)};
        return start + rewind_tail(plan, 2 * runs.account.sgd().batches(), failure);
      };
      constexpr std::uint64_t kRuns = 60;
      double mean = 0, most = 0;
      for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
        const double apart = runs.apart(descend, before, after, 2, seed);
        mean += apart / kRuns;
        most = std::max(most, apart);
      }
      CHECK(mean <= runs.account.distance(all, 2));
      CHECK(most <= tail(all, 1e-3));
      CHECK(mean > runs.account.distance(ignoring, 2) - (descend ? start : 0));
      CHECK(tail(all, 1e-3) > runs.account.distance(all, 2));
    }
  }

  TEST_CASE("T4: along a sequence every release stands within its residual bound of retraining") {
    for (const bool descend : {false, true}) {
      const testing::TempDir folder;
      SolverOptions options = rewind_run_options(Head::kLogistic, 0.05);
      options.parameters.erase("epochs");
      options.parameters["capacity"] = 1;
      const auto solver = make_solver(descend ? "descend" : "rewind", options, {0, folder / "models" / "x"});
      TrainingSet rows = random_rows(150, 5, 3, 62);
      const TrainingSet original = rows;
      const RewindRuns runs(descend, rows, options);
      Fit fit = solver->fit(rows, kExact);
      double ignored = 0, last_bound = 0;
      for (unsigned request = 0; request < 6; ++request) {
        const BatchChange change = coherent_change(rows, request % 3, 40 + 10 * request, 0.2F);
        rows.apply(change);
        const StepReport report = solver->absorb(fit.model, rows, change, kExact);
        REQUIRE_FALSE(report.retrained);
        REQUIRE(report.certified);
        CHECK(report.residual_bound <= report.budget);
        Matrix retrained = runs.zero(rows);
        runs.run(rows, 0, runs.constants.epochs, retrained);
        const Matrix iterate = without_noise(fit.model, report, options);
        const double grid = report.terms.at("grid") * std::sqrt(15.0);
        const double apart = (iterate - retrained).norm();
        CHECK(apart <= report.residual_bound + grid);
        // Charged against the rows before this batch alone, the account would forget what came
        // before.
        const double own = runs.account.residual(runs.change(change), static_cast<std::uint64_t>(report.passes));
        if (request > 2) CHECK(report.residual_bound > own);
        ignored = std::max(ignored, apart);
        last_bound = report.residual_bound;
      }
      CHECK(ignored > 0);
      CHECK(last_bound > 0);
    }
  }

  TEST_CASE("a run in other orders of summation stays within the rounding charged") {
    const SolverOptions options = rewind_run_options(Head::kLogistic, 0.05);
    const TrainingSet rows = random_rows(96, 40, 2, 63);
    const RewindRuns runs(false, rows, options);
    Matrix program = runs.zero(rows);
    runs.run(rows, 0, 12, program);
    using Long = long double;
    const NoisySgdConstants& sgd = runs.account.sgd().constants();
    const Batches batches(runs.constants, runs.slots, rows);
    std::vector<Long> exact(80, 0);
    for (int epoch = 0; epoch < 12; ++epoch)
      for (std::uint64_t batch = 0; batch < runs.account.sgd().batches(); ++batch) {
        std::vector<Long> gradient(80, 0);
        for (const std::uint32_t i : batches.rows_of(batch))
          for (std::size_t c = 0; c < 2; ++c) {
            Long margin = 0;
            for (std::size_t f = 40; f-- > 0;) margin += static_cast<Long>(rows.row(i)[f]) * exact[2 * f + c];
            const Long target = rows.labels()[i] == c ? 1 : -1;
            const Long slope = -target / (1 + std::exp(target * margin));
            for (std::size_t f = 0; f < 40; ++f) gradient[2 * f + c] += static_cast<Long>(rows.row(i)[f]) * slope;
          }
        for (std::size_t k = 0; k < 80; ++k)
          exact[k] -= static_cast<Long>(sgd.step_size) * (gradient[k] / static_cast<Long>(sgd.batch_rows) +
                                                          static_cast<Long>(sgd.strong_convexity) * exact[k]);
      }
    double apart = 0;
    for (std::size_t k = 0; k < 80; ++k) apart = std::hypot(apart, static_cast<double>(exact[k]) - program.data()[k]);
    CHECK(apart > 0);
    CHECK(apart <= runs.account.rounding() / 2);
    CHECK(runs.account.rounding() < 1e-9);
  }
}
