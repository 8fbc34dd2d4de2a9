// tests/algorithms/privacy/accounting/descend_test.cpp - bounds of Descent-to-Delete against runs
// on one number.
#include "algorithms/privacy/accounting/descend.h"

#include <doctest/doctest.h>

#include <cmath>

#include "algorithms/privacy/accounting/head_constants.h"
#include "algorithms/privacy/accounting/rewind.h"
#include "storage/io/error.h"
#include "support/scalar_descent.h"
#include "support/special_values.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

using testing::kInfinity;
using testing::kNaN;

/// Logistic regression with lambda = 0.1 on rows of norm 1: L = 0.35, B = 3.5, C = 0.7 ln 2; 10 of
/// 400 rows, eta = 0.5.
UnprojectedPlan logistic_plan(std::uint64_t steps, double initial_loss) {
  const LossConstants loss = loss_constants(Head::kLogistic, {.lambda = 0.1});
  const SecondMoment moment = strongly_convex_second_moment(loss.smoothness, 0.1, loss.loss_at_zero);
  return {GradientStep::strongly_convex_lemma15(0.5, loss.smoothness, 0.1),
          steps,
          400,
          10,
          moment.relative,
          moment.constant,
          initial_loss};
}

/// E|unlearnt - retrained|^2 with independent batches of one row, losses (theta - a_i)^2 / 2 with
/// a_i = 1 for every second row of `rows` and -1 for the others; the first `removed` disappear.
double measured_square(std::size_t rows, std::size_t removed, double size, std::size_t steps, std::size_t back,
                       double start) {
  std::mt19937_64 random(77 + back);
  std::uniform_int_distribution<std::size_t> any(0, rows - 1), kept(removed, rows - 1);
  const auto target = [](std::size_t i) { return i % 2 == 0 ? 1.0 : -1.0; };
  const int trials = 4000;
  double sum = 0;
  for (int trial = 0; trial < trials; ++trial) {
    double unlearnt = start, retrained = start;
    for (std::size_t t = 0; t < steps; ++t) unlearnt -= size * (unlearnt - target(any(random)));
    for (std::size_t t = 0; t < back; ++t) unlearnt -= size * (unlearnt - target(kept(random)));
    for (std::size_t t = 0; t < steps; ++t) retrained -= size * (retrained - target(kept(random)));
    sum += (unlearnt - retrained) * (unlearnt - retrained) / trials;
  }
  return sum;
}

/// The recursion behind Theorem 4, step by step. Loss above its minimum on D': a step on D leaves 1
/// - eta mu / 2 of it and adds eta (C / 4 B) / 2 + L eta^2 C / 2, a step on D' leaves 1 - eta mu
/// and adds the last term alone.
double slow_second_moment(const UnprojectedPlan& plan, std::uint64_t back) {
  const double mu = plan.step.strong_convexity(), size = plan.step.size();
  const double bias = plan.constant / (4 * plan.relative);
  const double noise = plan.step.smoothness() * size * size * plan.constant / 2;
  double unlearnt = plan.initial_loss, retrained = plan.initial_loss;
  for (std::uint64_t t = 0; t < plan.steps; ++t) {
    unlearnt += -size * mu / 2 * unlearnt + size * bias / 2 + noise;
    retrained += -size * mu * retrained + noise;
  }
  for (std::uint64_t t = 0; t < back; ++t) unlearnt += -size * mu * unlearnt + noise;
  return 4 / mu * (unlearnt + retrained);
}

/// gamma^T travel.
double travel_left(const DescentPlan& plan, double travel) {
  return std::pow(1 + plan.step.excess(), static_cast<double>(plan.steps)) * travel;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("descend: reference values of the distance with shared batches and of the second moment without") {
    const DescentPlan plan{GradientStep::strongly_convex(0.5, 0.35, 0.1), 120, 8, DataChange::removal(400, 10, 1)};
    CHECK(travel_left(plan, 10) + rewind_distance(plan, 30) == doctest::Approx(0.1274824326).epsilon(1e-9));
    CHECK(descend_second_moment(logistic_plan(200, std::log(2.0)), 50) == doctest::Approx(78.56778199).epsilon(1e-9));
  }

  TEST_CASE("shifted batches: runs stay below the travel that is left and the distance of rewind, and have no floor") {
    const std::size_t n = 40, m = 2, batch = 2, steps = 60;
    const double size = 0.1, start = 3, gradient = 1;
    const ScalarData data = scalar_data(1, n, m, gradient);
    const DescentPlan plan{GradientStep::strongly_convex(size, 1, 1), steps, batch,
                           DataChange::removal(n, m, gradient)};
    const double left = travel_left(plan, 2 * (start + gradient));  // iterates stay between -start and start
    double last = kInfinity;
    for (const std::size_t back : {0, 5, 20, 40, 55}) {
      const auto distances = scalar_distances(data, size, batch, steps, back, true, start, 4000);
      const SampleMean mean = mean_of(distances);
      const double bound = left + rewind_distance(plan, back);
      CHECK(mean.value - mean.margin <= bound);
      CHECK(distances[3959] <= left + rewind_tail(plan, back, 0.01));
      CHECK(bound < last);
      last = bound;
      std::mt19937_64 random;
      CHECK(scalar_distance(data, size, 0, steps, back, true, start, random) <= bound);
    }
    // Without removals the travel alone remains, and is met: theta_K - theta_0 of a run without
    // noise.
    const ScalarData same = scalar_data(1, n, 0, gradient);
    std::mt19937_64 random;
    const double moved = (start - gradient) * (1 - std::pow(0.9, 20));
    CHECK(scalar_distance(same, size, 0, steps, 20, true, start, random) ==
          doctest::Approx(travel_left(plan, moved)).epsilon(1e-9));
  }

  TEST_CASE("travel: a bound that a run meets") {
    // From 0, l = a theta + lambda theta^2 / 2: theta_K = -(a / lambda) (1 - (1 - eta lambda)^K).
    for (const std::uint64_t steps : {0, 1, 7, 400}) {
      double theta = 0;
      for (std::uint64_t t = 0; t < steps; ++t) theta -= 0.3 * (2 + 0.5 * theta);
      CHECK(largest_regularised_travel(2, 0.5, 0.3, steps) == doctest::Approx(std::abs(theta)).epsilon(1e-12));
    }
    CHECK(largest_regularised_travel(2, 0.5, 2, 1) == 4);
    CHECK(largest_regularised_travel(1, 1e-300, 1, 1000000) == doctest::Approx(1e6));
    for (const double bad : {-1.0, kNaN}) {
      CHECK_THROWS_AS(static_cast<void>(largest_regularised_travel(bad, 1, 1, 5)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(largest_regularised_travel(1, bad, 1, 5)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(largest_regularised_travel(1, 1, bad, 5)), UsageError);
    }
    CHECK_THROWS_AS(static_cast<void>(largest_regularised_travel(1, 1, 1.1, 5)), UsageError);
  }

  TEST_CASE("the noise of descend never grows with the steps, and stays above that of rewind") {
    const PrivacyTarget total{1, 1e-4};
    const DescentPlan plan{GradientStep::strongly_convex(0.2, 1, 0.5), 60, 4, DataChange::removal(100, 5, 1)};
    const double left = travel_left(plan, 4);
    for (const DistanceRule rule : {DistanceRule::kMean, DistanceRule::kTail}) {
      double before = kInfinity;
      for (std::uint64_t back = 0; back <= 60; ++back) {
        const double sigma = shifted_sigma(plan, back, left, total, rule);
        CHECK(sigma <= before);
        CHECK(sigma > shifted_sigma(plan, back, 0, total, rule));
        before = sigma;
      }
    }
  }

  TEST_CASE("independent batches: measured second moments stay below Theorem 4, and do not vanish with K") {
    // (theta - a)^2 / 2, a = +-1: L = mu = B = 1; l(z; 0) = 1/2, so C = 1.
    const SecondMoment moment = strongly_convex_second_moment(1, 1, 0.5);
    const double size = 0.2, start = 2, initial_loss = 4.5;
    double floor = kInfinity;
    for (const std::size_t back : {0, 3, 10, 27}) {
      const UnprojectedPlan plan{
          GradientStep::strongly_convex(size, 1, 1), 40, 50, 5, moment.relative, moment.constant, initial_loss};
      const double measured = measured_square(50, 5, size, 40, back, start);
      CHECK(measured <= descend_second_moment(plan, back));
      floor = std::min(floor, measured);
    }
    CHECK(floor > 0.1);  // 2 eta / (2 - eta) of two independent runs: no number of steps removes it
    const UnprojectedPlan long_run{GradientStep::strongly_convex(size, 1, 1), 1000000, 50, 5, 1, 1, initial_loss};
    CHECK(descend_second_moment(long_run, 500000) == doctest::Approx(4 * size));
    const UnprojectedPlan logistic = logistic_plan(1000000000, 1);
    CHECK(descend_second_moment(logistic, 900000000) == doctest::Approx(4 * 0.35 * 0.5 * logistic.constant / 0.01));
  }

  TEST_CASE("Theorem 4 is above the recursion that it comes from, however long the runs, and knows no share of rows") {
    for (const std::uint64_t steps : {60, 300, 4000}) {
      UnprojectedPlan plan = logistic_plan(steps, 1);
      for (const std::uint64_t back : {0, 1, 4, 40}) {
        const double square = descend_second_moment(plan, back);
        CHECK(slow_second_moment(plan, back) <= square);
        for (const std::uint64_t m : {0, 1, 18}) {
          plan.removed = m;
          CHECK(descend_second_moment(plan, back) == square);
        }
      }
    }
  }

  TEST_CASE("conditions of Theorem 4 are kept") {
    const auto refused = [](const UnprojectedPlan& plan, std::uint64_t back) {
      CHECK_THROWS_AS(static_cast<void>(descend_second_moment(plan, back)), UsageError);
    };
    UnprojectedPlan plan = logistic_plan(99, 6.056418);
    refused(plan, 50);  // 99.42531733 learning steps are needed
    plan.steps = 100;
    CHECK(descend_second_moment(plan, 50) > 0);
    refused(plan, 101);
    plan.initial_loss = 0;
    CHECK(descend_second_moment(plan, 100) > 0);
    plan.removed = 19;  // m (6 B + 1) = 418
    refused(plan, 50);
    plan.removed = 0;
    plan.rows = 0;
    refused(plan, 50);
    const UnprojectedPlan good = logistic_plan(300, 1);
    for (const double bad : {-1.0, kNaN, kInfinity, 0.0}) {
      plan = good;
      plan.relative = bad;
      refused(plan, 50);
      plan = good;
      plan.constant = bad;
      refused(plan, 50);
      plan = good;
      plan.initial_loss = bad;
      if (bad != 0) refused(plan, 50);
    }
    plan = good;
    plan.relative = 10;  // eta above 1 / (L B)
    refused(plan, 50);
    refused({GradientStep::strongly_convex(0.1, 1, 1e-300), 1000, 400, 1, 1, 1, 1}, 50);  // vacuous
  }
}
