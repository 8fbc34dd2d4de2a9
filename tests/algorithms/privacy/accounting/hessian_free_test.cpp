// tests/algorithms/privacy/accounting/hessian_free_test.cpp - printed bounds by their printed
// values, the account by hand.
#include "algorithms/privacy/accounting/hessian_free.h"

#include <doctest/doctest.h>

#include <cmath>

#include "algorithms/privacy/accounting/mechanisms.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// The paper's logistic set-up: 1,000 rows in batches of 32, 15 epochs.
PrintedRun paper_run(double rho) {
  return {.step_size = 0.05, .decay = 0.995, .gradient = 5, .rho = rho, .steps = 480, .epoch_steps = 32, .batch = 32};
}

TEST_SUITE("unit") {
  TEST_CASE("Theorem 4 and its noise in the paper's logistic set-up") {
    const double last = 1 - 0.5 * 0.05 * std::pow(0.995, 480);
    CHECK(printed_distance(paper_run(0.975), 1) == doctest::Approx(19.84).epsilon(1e-3));
    CHECK(printed_distance(paper_run(last), 1) == doctest::Approx(238.3).epsilon(1e-3));
    CHECK(printed_distance(paper_run(1), 1) == doctest::Approx(412.7).epsilon(1e-3));
    CHECK(printed_distance(paper_run(1), 7) == doctest::Approx(7 * printed_distance(paper_run(1), 1)));

    const double distance = printed_distance(paper_run(0.975), 1);
    CHECK(classic_sigma(distance, {1, 1e-3}, BoundRule::kPaper) == doctest::Approx(74.92).epsilon(1e-3));
    CHECK(sigma_of(distance, 1, 1e-3) == doctest::Approx(51.08).epsilon(1e-3));
    CHECK(classic_sigma(1, {1, 1e-5}, BoundRule::kPaper) == doctest::Approx(4.8448).epsilon(1e-4));
    CHECK(classic_sigma(1, {100, 0.1}, BoundRule::kPaper) == doctest::Approx(0.0225).epsilon(2e-3));
    CHECK(sigma_of(1, 100, 0.1) == doctest::Approx(0.0770).epsilon(1e-3));
  }

  TEST_CASE("Theorem 4 is finite where rho is q or its square, and refuses a decay of 1") {
    for (const double rho : {0.995, 0.995 * 0.995})
      CHECK(printed_distance(paper_run(rho), 1) ==
            doctest::Approx(printed_distance(paper_run(rho * (1 + 1e-7)), 1)).epsilon(1e-4));
    PrintedRun run = paper_run(1);
    run.decay = 1;
    CHECK_THROWS_AS(static_cast<void>(printed_distance(run, 1)), UsageError);
  }

  TEST_CASE("the cost model takes the propagator where the rows outnumber its width") {
    const StatisticsCost few = statistics_cost(15, 1000, 1000, 7840, 784),
                         many = statistics_cost(15, 60000, 60000, 7840, 784);
    CHECK(few.forward == 2.0 * 15 * 1000 * 1000 * 7840);
    CHECK(few.backward == 2.0 * 15 * 1000 * 7840 * 784);
    CHECK(many.backward < many.forward / 50);
    CHECK(statistics_cost(15, 1000, 10, 7840, 784).forward < few.backward);
  }

  TEST_CASE("two steps of the account, by hand") {
    RunConstants constants = run_constants(Head::kLogistic, 0.5, 1, 8, 4, 10);
    CHECK(constants.curvature == 0.25);
    CHECK(constants.slope == 2);
    CHECK(constants.third == doctest::Approx(1 / (6 * std::sqrt(3.0))));
    CHECK(run_constants(Head::kSoftmax, 0.5, 1, 8, 4, 10).third == doctest::Approx(0.2722).epsilon(1e-3));
    CHECK(run_constants(Head::kLeastSquares, 0.5, 1, 8, 4, 10).third == 0);

    RemovalAccount account(constants);
    account.advance(0.1, 10, 1, 2);
    CHECK(account.size() == doctest::Approx(0.2));
    CHECK(account.distance() < 1e-12);
    account.advance(0.1, 10, 1, 1);
    const double rho = 1 - 0.1 * 0.5 * 9;
    CHECK(account.size() == doctest::Approx(rho * 0.2 + 0.1));
    CHECK(account.distance() == doctest::Approx(0.1 * (9 * constants.third / 2 * 0.04 + (0.25 + 0.5) * 0.2)));
  }

  TEST_CASE("a step that is too long stretches") {
    const RunConstants constants = run_constants(Head::kLogistic, 0.5, 1, 8, 4, 10);
    CHECK(StepBounds(constants, 0.1, 10, 10).contraction(0) == doctest::Approx(0.5));
    CHECK(StepBounds(constants, 0.1, 10, 10).contraction(10) == doctest::Approx(1));
    CHECK(StepBounds(constants, 1, 10, 10).contraction(0) == doctest::Approx(6.5));
  }
}

}  // namespace
}  // namespace unweave
