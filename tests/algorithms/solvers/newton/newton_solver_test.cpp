// tests/algorithms/solvers/newton/newton_solver_test.cpp - T1: distance and noise of every release,
// and the sabotage they catch.
#include "algorithms/solvers/newton/newton_solver.h"

#include <doctest/doctest.h>

#include <cmath>

#include "algorithms/learning/newton.h"
#include "algorithms/privacy/residual_bounds.h"
#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/released_iterate.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr Head kReleasedHeads[] = {Head::kLogistic, Head::kSoftmax};

SolverOptions newton_options(Head head = Head::kLogistic) {
  SolverOptions options;
  options.head = head;
  options.seed = 77;
  return options;
}

/// Distance from the exact minimiser in units of what T1 allows.
double distance_ratio(const Matrix& iterate, const StepReport& report, const TrainingSet& rows,
                      const SolverOptions& options) {
  const double rounding = report.terms.at("grid") / 2 * std::sqrt(static_cast<double>(iterate.size())) + 1e-11;
  return (iterate - dense_minimiser(rows, options.lambda, options.head)).norm() /
         (report.terms.at("distance") + rounding);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("T1: over 20 rounds of removals and moves every release stands within tau / mu of the exact minimiser") {
    for (const Head head : kReleasedHeads) {
      const SolverOptions options = newton_options(head);
      const auto solver = make_solver("newton", options);
      TrainingSet rows = random_rows(400, 8, 3, 41);
      Fit fit = solver->fit(rows, kExact);
      CHECK(distance_ratio(without_noise(fit.model, fit.report, options), fit.report, rows, options) <= 1);
      for (unsigned round = 0; round < 20; ++round) {
        const BatchChange change = random_change(rows, round % 7, 50, 5, 30, 0.05, round);
        rows.apply(change);
        const StepReport report = solver->absorb(fit.model, rows, change, kExact);
        CHECK(report.certified);
        CHECK(report.claim == "T1");
        CHECK(report.residual_bound <= report.budget / 2);  // the other half is the reference's
        CHECK(report.steps >= 1);
        CHECK(distance_ratio(without_noise(fit.model, report, options), report, rows, options) <= 1);
        CHECK(fit.model.trained_rows == rows.size());
      }
      CHECK(rows.size() == 300);
    }
  }

  TEST_CASE("T1 sabotage: skipped moved rows, no step at all, and a tenth of the noise are each caught") {
    for (const Head head : kReleasedHeads) {
      const SolverOptions options = newton_options(head);
      const auto solver = make_solver("newton", options);
      const TrainingSet before = random_rows(300, 8, 3, 42);
      const BatchChange change = random_change(before, 0, 40, 4, 60, 0.05, 1);
      TrainingSet after = before;
      after.apply(change);
      BatchChange removals_only(before.features(), before.classes());
      removals_only.removed = change.removed;
      TrainingSet stale = before;
      stale.apply(removals_only);

      Fit fit = solver->fit(before, kExact);
      CHECK(distance_ratio(without_noise(fit.model, fit.report, options), fit.report, after, options) > 1);
      Model skipped = fit.model;
      const StepReport wrong = solver->absorb(skipped, stale, removals_only, kExact);
      CHECK(distance_ratio(without_noise(skipped, wrong, options), wrong, after, options) > 1);
      CHECK(
          gradient_with_error(objective_of(after, options.lambda, head), without_noise(skipped, wrong, options)).norm >
          options.tau);
      const StepReport right = solver->absorb(fit.model, after, change, kExact);
      CHECK(distance_ratio(without_noise(fit.model, right, options), right, after, options) <= 1);
    }
  }

  TEST_CASE("published weights scatter around the exact minimiser with the stated sigma, for newton and retrain") {
    const TrainingSet rows = random_rows(200, 40, 5, 43);
    for (const auto& [name, head] :
         {std::pair{"newton", Head::kLogistic}, {"retrain", Head::kLogistic}, {"newton", Head::kSoftmax}}) {
      SolverOptions options;
      options.head = head;
      const Matrix best = dense_minimiser(rows, options.lambda, head);
      const Fit fit = make_solver(name, options)->fit(rows, kExact);
      CHECK(fit.report.certified);
      CHECK_FALSE(fit.report.for_tests);
      CHECK(fit.report.retrained);
      const double ratio =
          (fit.model.published - best).squaredNorm() / (200 * std::pow(fit.report.terms.at("sigma"), 2));
      const double spread = 6 * std::sqrt(2.0 / 200) + 0.05;  // the iterate itself may be off by tau / mu
      CHECK(std::abs(ratio - 1) < spread);
      CHECK(std::abs(ratio / 100 - 1) > spread);  // what a tenth of the noise would give
    }
  }

  TEST_CASE("retrain forgets its start: equal rows and seed give equal weights") {
    const SolverOptions options = newton_options();
    const auto solver = make_solver("retrain", options);
    const TrainingSet before = random_rows(120, 6, 2, 44);
    const BatchChange change = random_change(before, 0, 20, 3, 10, 0.1, 2);
    TrainingSet after = before;
    after.apply(change);
    Fit first = solver->fit(before, kExact);
    Model other = first.model;
    other.published.setConstant(3);
    const StepReport report = solver->absorb(first.model, after, change, kExact);
    CHECK(report.retrained);
    solver->absorb(other, after, change, kExact);
    CHECK(first.model.published == other.published);
  }

  TEST_CASE("newton continues from the published weights: fewer readings of the rows than retrain") {
    const TrainingSet before = random_rows(600, 30, 3, 49);
    const BatchChange change = random_change(before, 0, 300, 1, 2, 0.01, 2);
    TrainingSet after = before;
    after.apply(change);
    int passes[2] = {};
    int which = 0;
    for (const char* name : {"newton", "retrain"}) {
      const auto solver = make_solver(name, newton_options());
      Fit fit = solver->fit(before, kExact);
      passes[which++] = solver->absorb(fit.model, after, change, kExact).passes;
    }
    CHECK(passes[0] < passes[1]);
  }

  TEST_CASE("an approximate embedding is charged, and refused once it spends its share") {
    for (const Head head : kReleasedHeads) {
      SolverOptions options = newton_options(head);
      options.tau = 0.05;
      const auto solver = make_solver("newton", options);
      const TrainingSet rows = random_rows(150, 5, 2, 45);
      ApproximationError lazy;
      lazy.euclidean = Vector::Constant(5, 1e-4);
      lazy.absolute = Vector::Constant(5, 1e-3);
      lazy.residue_sum = Vector::Zero(5);
      const Fit fit = solver->fit(rows, lazy);
      CHECK(fit.report.certified);
      CHECK(fit.report.terms.at("approximation") > 0);
      CHECK(fit.report.residual_bound >= fit.report.terms.at("approximation") + fit.report.terms.at("residual"));
      CHECK(fit.report.residual_bound <= options.tau);
      lazy.euclidean.setConstant(1);
      const Fit refused = solver->fit(rows, lazy);
      CHECK(refused.report.flush_needed);
      CHECK_FALSE(refused.report.certified);
      CHECK(refused.model.published.size() == 0);
      Model model = fit.model;
      CHECK(solver->absorb(model, rows, BatchChange(5, 2), lazy).flush_needed);
      CHECK(model.published == fit.model.published);
    }
  }

  TEST_CASE("nothing is certified on standardised features, and a seed marks the report") {
    SolverOptions options = newton_options();
    options.standardized = true;
    const Fit fit = make_solver("newton", options)->fit(random_rows(30, 3, 2, 46), kExact);
    CHECK_FALSE(fit.report.certified);
    CHECK_FALSE(fit.report.claim.has_value());
    CHECK(fit.report.for_tests);
  }

  TEST_CASE("degenerate tasks release too: no rows, one class, one feature, classes without members") {
    for (const Head head : kReleasedHeads)
      for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{25}})
        for (const std::size_t features : {std::size_t{1}, std::size_t{4}})
          for (const std::size_t classes : {std::size_t{1}, std::size_t{4}}) {
            const SolverOptions options = newton_options(head);
            const auto solver = make_solver("newton", options);
            TrainingSet set = random_rows(rows, features, classes, 47, 1);
            Fit fit = solver->fit(set, kExact);
            CHECK(fit.report.certified);
            const BatchChange change = random_change(set, 0, 1, rows, 0, 0, 1);  // everything leaves
            set.apply(change);
            const StepReport report = solver->absorb(fit.model, set, change, kExact);
            CHECK(report.certified);
            CHECK(set.size() == 0);
            CHECK(without_noise(fit.model, report, options).norm() <= report.terms.at("distance") * 1.01 + 1e-11);
          }
  }

  TEST_CASE("models, rows and batches that do not belong together are refused") {
    const auto solver = make_solver("newton", newton_options());
    const TrainingSet rows = random_rows(20, 3, 2, 48);
    Fit fit = solver->fit(rows, kExact);
    CHECK_THROWS_AS(make_solver("retrain", newton_options())->absorb(fit.model, rows, BatchChange(3, 2), kExact),
                    UsageError);
    CHECK_THROWS_AS(solver->absorb(fit.model, random_rows(20, 4, 2, 1), BatchChange(4, 2), kExact), UsageError);
    CHECK_THROWS_AS(solver->absorb(fit.model, random_rows(19, 3, 2, 1), BatchChange(3, 2), kExact), UsageError);
  }

  TEST_CASE("solvers are known by name and refuse options out of range") {
    CHECK_FALSE(solver_names().empty());
    for (const std::string_view name : solver_names())
      CHECK(make_solver(name, taken_options(name, {}))->name() == name);
    CHECK_THROWS_AS(static_cast<void>(make_solver("magic", SolverOptions{})), UsageError);
    const auto refused = [](auto change) {
      SolverOptions options;
      change(options);
      CHECK_THROWS_AS(static_cast<void>(make_solver("newton", options)), UsageError);
    };
    refused([](SolverOptions& o) { o.epsilon = 0; });
    refused([](SolverOptions& o) { o.delta = 1; });
    refused([](SolverOptions& o) { o.lambda = -1; });
    refused([](SolverOptions& o) { o.tau = std::nan(""); });
    refused([](SolverOptions& o) { o.alpha = -1; });
    SolverOptions softmax;
    softmax.head = Head::kSoftmax;
    for (const char* name : {"newton", "retrain"}) CHECK(make_solver(name, softmax)->name() == name);
    for (const char* name : {"scalegun", "cgu", "ceu"})
      CHECK_THROWS_WITH_AS(static_cast<void>(make_solver(name, softmax)),
                           doctest::Contains("one-vs-rest heads alone; head=softmax is for exact, newton"), UsageError);
    CHECK(parse_head("least-squares") == Head::kLeastSquares);
    CHECK(parse_head("softmax") == Head::kSoftmax);
    CHECK_THROWS_AS(static_cast<void>(parse_head("hinge")), UsageError);
    CHECK(parse_bound("paper") == BoundRule::kPaper);
    CHECK_THROWS_AS(static_cast<void>(parse_bound("none")), UsageError);
  }
}
