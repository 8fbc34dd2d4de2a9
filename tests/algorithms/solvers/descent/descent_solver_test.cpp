// tests/algorithms/solvers/descent/descent_solver_test.cpp - Descent-to-Delete: finished to tau, or
// as published.
#include "algorithms/solvers/descent/descent_solver.h"

#include <doctest/doctest.h>

#include <cmath>

#include "algorithms/privacy/accounting/descent_to_delete.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/slot_constants.h"
#include "storage/io/error.h"
#include "support/langevin_runs.h"
#include "support/learner_data.h"
#include "support/released_iterate.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

SolverOptions descent_options(bool public_state, BoundRule bound = BoundRule::kCorrected) {
  SolverOptions options;
  options.lambda = 0.05;
  options.seed = 4;
  options.bound = bound;
  options.parameters["public-state"] = public_state ? 1 : 0;
  return options;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE(
      "T1: descent-to-delete stands within tau / mu of the exact minimiser, from a secret and from a public state") {
    for (const bool public_state : {false, true})
      for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax}) {
        SolverOptions options = descent_options(public_state);
        options.head = head;
        const auto solver = make_solver("descent-to-delete", options);
        TrainingSet rows = random_rows(150, 5, 3, 91);
        Fit fit = solver->fit(rows, kExact);
        CHECK(fit.report.retrained);
        StepReport report = fit.report;
        for (unsigned request = 0; request < 5; ++request) {
          CHECK(report.certified);
          CHECK(report.claim == "T1");
          CHECK(report.residual_bound <= options.tau);
          const double grid = report.terms.at("grid") * std::sqrt(15.0);
          const double apart =
              (without_noise(fit.model, report, options) - dense_minimiser(rows, options.lambda, head)).norm();
          CHECK(apart <= report.terms.at("distance") + grid + 1e-12);
          CHECK(fit.model.state.arrays.contains("iterate") != public_state);
          const BatchChange change = coherent_change(rows, 3, 50, 0.3F);
          rows.apply(change);
          report = solver->absorb(fit.model, rows, change, kExact);
          CHECK_FALSE(report.retrained);
        }
        // Work is saved: a request costs less than training.
        CHECK(report.passes < fit.report.passes);
      }
  }

  TEST_CASE("a step has the published size and the projection keeps the ball") {
    SolverOptions options = descent_options(false, BoundRule::kPaper);
    options.parameters["request-steps"] = 1;
    const auto solver = make_solver("descent-to-delete", options);
    TrainingSet rows = random_rows(80, 3, 2, 92);
    Fit fit = solver->fit(rows, kExact);
    const auto iterate = [&] {
      return Matrix(Eigen::Map<const Matrix>(fit.model.state.arrays.at("iterate").data(), 3, 2));
    };
    const Matrix before = iterate();
    const BatchChange change = coherent_change(rows, 1, 20, 0.3F);
    rows.apply(change);
    static_cast<void>(solver->absorb(fit.model, rows, change, kExact));
    Matrix expected = before;
    for (std::size_t c = 0; c < 2; ++c)
      expected.col(index_of(c)) -=
          2 / (0.25 + 2 * options.lambda) / 79.0 *
          dense_gradient(rows, options.lambda * 79, before.col(index_of(c)), c, options.head, Eigen::VectorXd::Zero(3));
    CHECK((iterate() - expected).norm() < 1e-12);
    const double radius = std::sqrt(2 * 2 * std::log(2.0) / options.lambda);
    fit.model.state.arrays["iterate"].assign(6, 1e6);
    static_cast<void>(solver->absorb(fit.model, rows, BatchChange(3, 2), kExact));
    CHECK(iterate().norm() <= radius * (1 + 1e-12));
  }

  TEST_CASE("as published: steps and noise of Theorems 9 and 28, one request for each removed row, never certified") {
    for (const bool public_state : {false, true}) {
      const SolverOptions options = descent_options(public_state, BoundRule::kPaper);
      const auto solver = make_solver("descent-to-delete", options);
      TrainingSet rows = random_rows(100, 3, 2, 93);
      Fit fit = solver->fit(rows, kExact);
      CHECK_FALSE(fit.report.certified);
      CHECK(fit.report.claim->starts_with("as published: Neel"));
      CHECK(fit.report.claim->find(public_state ? "Theorem 28" : "Theorem 9") != std::string::npos);
      const DescentToDelete accountant(100, options.lambda, 0.25 + options.lambda, std::sqrt(2.0));
      const auto steps = static_cast<std::uint64_t>(fit.report.terms.at("request_steps"));
      const double sigma =
          public_state ? accountant.private_sigma(steps, 1, 1e-4) : accountant.state_sigma(steps, 1, 1e-4);
      CHECK(fit.report.terms.at("sigma") == doctest::Approx(sigma).epsilon(1e-4));
      CHECK(sigma <= 0.01);
      if (!public_state) CHECK(accountant.state_sigma(steps - 1, 1, 1e-4) > 0.01);
      const BatchChange change = coherent_change(rows, 3, 20, 0.5F);
      rows.apply(change);
      const std::uint64_t releases = fit.model.releases;
      const StepReport report = solver->absorb(fit.model, rows, change, kExact);
      CHECK(fit.model.releases == releases + 1);  // three updates, of which one is seen
      CHECK_FALSE(report.certified);
      CHECK(report.claim->find("rows that moved are not in it") != std::string::npos);
      const std::uint64_t third = public_state ? accountant.private_request_steps(steps, 6, 3, 1e-4) : steps;
      CHECK(report.terms.at("steps") == doctest::Approx(static_cast<double>(third)));
    }
  }

  TEST_CASE(
      "approximate rows ask for a flush or pay from tau; what cannot be finished and odd parameters are refused") {
    const auto solver = make_solver("descent-to-delete", descent_options(false));
    const TrainingSet rows = random_rows(60, 3, 2, 94);
    ApproximationError lazy;
    lazy.euclidean = Vector::Constant(3, 1e-3);
    lazy.absolute = Vector::Constant(3, 1e-2);
    lazy.residue_sum = Vector::Zero(3);
    CHECK(solver->fit(rows, lazy).report.flush_needed);
    lazy.euclidean *= 1e-6;
    SolverOptions loose = descent_options(false);
    loose.tau = 1e-3;
    const StepReport paid = make_solver("descent-to-delete", loose)->fit(rows, lazy).report;
    CHECK(paid.certified);
    CHECK(paid.terms.at("approximation") > 0);
    CHECK(paid.residual_bound <= 1e-3);
    SolverOptions tight = descent_options(false);
    tight.tau = 1e-17;
    CHECK_THROWS_WITH_AS(make_solver("descent-to-delete", tight)->fit(rows, kExact),
                         doctest::Contains("do not reach tau="), UsageError);
    SolverOptions odd = descent_options(false);
    odd.parameters["public-state"] = 2;
    CHECK_THROWS_AS(make_solver("descent-to-delete", odd), UsageError);
    SolverOptions few = descent_options(true, BoundRule::kPaper);
    few.parameters["request-steps"] = 1;
    CHECK_THROWS_WITH_AS(make_solver("descent-to-delete", few)->fit(rows, kExact), doctest::Contains("request-steps"),
                         UsageError);
    Fit fit = solver->fit(rows, kExact);
    fit.model.state = {};
    CHECK_THROWS_AS(solver->absorb(fit.model, rows, BatchChange(3, 2), kExact), UsageError);
  }

  TEST_CASE("no rows left, one class, one feature: the minimiser is 0 and nothing is undefined") {
    for (const BoundRule bound : {BoundRule::kCorrected, BoundRule::kPaper})
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{20}}) {
        const auto solver = make_solver("descent-to-delete", descent_options(false, bound));
        TrainingSet set = random_rows(count, 1, 1, 95, 1);
        Fit fit = solver->fit(set, kExact);
        const BatchChange change = random_change(set, 0, 1, count, 0, 0, 1);
        set.apply(change);
        static_cast<void>(solver->absorb(fit.model, set, change, kExact));
        CHECK(fit.model.published.allFinite());
        CHECK(fit.model.trained_rows == 0);
      }
  }
}
