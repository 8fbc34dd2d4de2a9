// tests/algorithms/privacy/accounting/descend_test.cpp - bounds of Descent-to-Delete against runs on one number.
#include "algorithms/privacy/accounting/descend.h"

#include <doctest/doctest.h>

#include <cmath>

#include "algorithms/privacy/accounting/head_constants.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "storage/io/error.h"
#include "support/scalar_descent.h"
#include "support/special_values.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

using testing::kInfinity;
using testing::kNaN;

/// Logistic regression with lambda = 0.1 on rows of norm 1: L = 0.35, B = 3.5, C = 0.7 ln 2; 10 of 400 rows, eta = 0.5.
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

/// E|unlearnt - retrained|^2 with independent batches of one row, losses (theta - a_i)^2 / 2 with a_i = 1 for every
/// second row of `rows` and -1 for the others; the first `removed` disappear.
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

/// The recursion behind the second moments, step by step. Loss above its minimum on D': a step on D leaves
/// (1 - eta mu (1 - M)) of it and adds eta D / 2 + L eta^2 C / 2, a step on D' the same with M = D = 0.
double slow_second_moment(const UnprojectedPlan& plan, std::uint64_t back, double share, double bias) {
  const double mu = plan.step.strong_convexity(), size = plan.step.size();
  const double noise = plan.step.smoothness() * size * size * plan.constant / 2;
  double unlearnt = plan.initial_loss, retrained = plan.initial_loss;
  for (std::uint64_t t = 0; t < plan.steps; ++t) {
    unlearnt += -size * mu * (1 - share) * unlearnt + size * bias / 2 + noise;
    retrained += -size * mu * retrained + noise;
  }
  for (std::uint64_t t = 0; t < back; ++t) unlearnt += -size * mu * unlearnt + noise;
  return 4 / mu * (unlearnt + retrained);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("descend distance: reference values") {
    const DescentPlan plan{GradientStep::strongly_convex(0.5, 0.35, 0.1), 120, 8, DataChange::removal(400, 10, 1)};
    CHECK(descend_distance(plan, 10, 30) == doctest::Approx(0.1274824326).epsilon(1e-9));
    CHECK(descend_distance(plan, 10, 30) - rewind_distance(plan, 30) == doctest::Approx(10 * std::pow(0.95, 120)));
    CHECK(descend_second_moment(logistic_plan(200, std::log(2.0)), 50, SecondMomentRule::kTheorem4) ==
          doctest::Approx(78.56778199).epsilon(1e-9));
    CHECK(theorem4_learning_steps(logistic_plan(200, 6.056418), 50) == doctest::Approx(99.42531733).epsilon(1e-6));
    CHECK(descend_second_moment(logistic_plan(300, 6.056418), 50, SecondMomentRule::kAnyLength) ==
          doctest::Approx(37.6536936).epsilon(1e-6));
  }

  TEST_CASE("shifted batches: runs stay below the bounds and have no floor") {
    const std::size_t n = 40, m = 2, batch = 2, steps = 60;
    const double size = 0.1, start = 3, gradient = 1;
    const ScalarData data = scalar_data(1, n, m, gradient);
    const DescentPlan plan{GradientStep::strongly_convex(size, 1, 1), steps, batch,
                           DataChange::removal(n, m, gradient)};
    const double travel = 2 * (start + gradient);  // iterates stay between -start and start
    double last = kInfinity;
    for (const std::size_t back : {0, 5, 20, 40, 55}) {
      const auto distances = scalar_distances(data, size, batch, steps, back, true, start, 4000);
      const SampleMean mean = mean_of(distances);
      const double bound = descend_distance(plan, travel, back);
      CHECK(mean.value - mean.margin <= bound);
      CHECK(distances[3959] <= descend_tail(plan, travel, back, 0.01));
      CHECK(bound < last);
      last = bound;
      std::mt19937_64 random;
      CHECK(scalar_distance(data, size, 0, steps, back, true, start, random) <= bound);
    }
    // Without removals the travel alone remains, and is met: theta_K - theta_0 of a run without noise.
    const ScalarData same = scalar_data(1, n, 0, gradient);
    const DescentPlan still{plan.step, steps, kFullBatch, DataChange::removal(n, 0, gradient)};
    std::mt19937_64 random;
    const double moved = (start - gradient) * (1 - std::pow(0.9, 20));
    CHECK(scalar_distance(same, size, 0, steps, 20, true, start, random) ==
          doctest::Approx(descend_distance(still, moved, 20)).epsilon(1e-9));
  }

  TEST_CASE("travel: bounds that runs meet") {
    // From 0, l = a theta + lambda theta^2 / 2: theta_K = -(a / lambda) (1 - (1 - eta lambda)^K).
    for (const std::uint64_t steps : {0, 1, 7, 400}) {
      double theta = 0;
      for (std::uint64_t t = 0; t < steps; ++t) theta -= 0.3 * (2 + 0.5 * theta);
      CHECK(largest_regularised_travel(2, 0.5, 0.3, steps) == doctest::Approx(std::abs(theta)).epsilon(1e-12));
      CHECK(largest_travel(kInfinity, 0.3, 2, steps) == doctest::Approx(0.6 * static_cast<double>(steps)));
      CHECK(largest_travel(10, 0.3, 2, steps) == doctest::Approx(std::min(10.0, 0.6 * static_cast<double>(steps))));
    }
    CHECK(largest_regularised_travel(2, 0.5, 2, 1) == 4);
    CHECK(largest_regularised_travel(1, 1e-300, 1, 1000000) == doctest::Approx(1e6));
    for (const double bad : {-1.0, kNaN}) {
      CHECK_THROWS_AS(static_cast<void>(largest_travel(bad, 1, 1, 5)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(largest_travel(1, bad, 1, 5)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(largest_travel(1, 1, bad, 5)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(largest_regularised_travel(bad, 1, 1, 5)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(largest_regularised_travel(1, bad, 1, 5)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(largest_regularised_travel(1, 1, bad, 5)), UsageError);
    }
    CHECK_THROWS_AS(static_cast<void>(largest_travel(kInfinity, 1, kInfinity, 5)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(largest_regularised_travel(1, 1, 1.1, 5)), UsageError);
  }

  TEST_CASE("least descend steps: equal to trying all; none where the travel is not forgotten") {
    const PrivacyTarget total{1, 1e-4};
    for (const DistanceRule rule : {DistanceRule::kSure, DistanceRule::kMean, DistanceRule::kTail}) {
      DescentPlan plan{GradientStep::strongly_convex(0.2, 1, 0.5), 60, rule == DistanceRule::kSure ? kFullBatch : 4,
                       DataChange::removal(100, 5, 1)};
      plan.step_rounding = 1e-6;
      double before = kInfinity;
      for (std::uint64_t back = 0; back <= 60; ++back) {
        const double sigma = descend_sigma(plan, 4, back, total, rule);
        CHECK(sigma <= before);
        CHECK(sigma > rewind_sigma(plan, back, total, rule));
        if (back % 20 == 7) {
          CHECK(before > sigma);
          CHECK(least_descend_steps(plan, 4, sigma, total, rule) == back);
        }
        before = sigma;
      }
      CHECK(least_descend_steps(plan, 4, before, total, rule).has_value());
      CHECK(!least_descend_steps(plan, 4, before * 0.999, total, rule).has_value());
      CHECK_THROWS_AS(static_cast<void>(least_descend_steps(plan, 4, kNaN, total, rule)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(descend_sigma(plan, kNaN, 5, total, rule)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(descend_sigma(plan, 4, 61, total, rule)), UsageError);
    }
    DescentPlan exact{GradientStep::strongly_convex(0.2, 1, 0.5), 60, kFullBatch, DataChange::removal(100, 0, 1)};
    CHECK(descend_sigma(exact, 4, 3, total, DistanceRule::kSure) ==
          doctest::Approx(sigma_of(4 * std::pow(0.9, 60), 1, 1e-4)).epsilon(1e-9));
    exact.step_rounding = 1e-3;
    const double rounding = 1e-3 * (2 - std::pow(0.9, 60) - std::pow(0.9, 120)) / 0.1;
    CHECK(descend_sigma(exact, 0, 3, total, DistanceRule::kSure) ==
          doctest::Approx(sigma_of(rounding, 1, 1e-4)).epsilon(1e-9));
    const DescentPlan convex{GradientStep::convex(0.2, 1), 60, kFullBatch, DataChange::removal(100, 5, 1)};
    CHECK_THROWS_AS(static_cast<void>(descend_distance(convex, 4, 3)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(descend_sigma(convex, 4, 3, total, DistanceRule::kSure)), UsageError);
  }

  TEST_CASE("independent batches: measured second moments stay below every rule, and do not vanish with K") {
    // (theta - a)^2 / 2, a = +-1: L = mu = B = 1; l(z; 0) = 1/2, so C = 1.
    const SecondMoment moment = strongly_convex_second_moment(1, 1, 0.5);
    const double size = 0.2, start = 2, initial_loss = 4.5;
    double floor = kInfinity;
    for (const std::size_t back : {0, 3, 10, 30}) {
      const UnprojectedPlan plan{
          GradientStep::strongly_convex(size, 1, 1), 40, 50, 5, moment.relative, moment.constant, initial_loss};
      const double measured = measured_square(50, 5, size, 40, back, start);
      const double any = descend_second_moment(plan, back, SecondMomentRule::kAnyLength);
      const double aware = descend_second_moment(plan, back, SecondMomentRule::kRemovalAware);
      CHECK(measured <= aware);
      CHECK(aware <= any);
      if (40 >= theorem4_learning_steps(plan, back))
        CHECK(any <= descend_second_moment(plan, back, SecondMomentRule::kTheorem4));
      floor = std::min(floor, measured);
    }
    CHECK(floor > 0.1);  // 2 eta / (2 - eta) of two independent runs: no number of steps removes it
    const UnprojectedPlan long_run{GradientStep::strongly_convex(size, 1, 1), 1000000, 50, 5, 1, 1, initial_loss};
    CHECK(descend_second_moment(long_run, 500000, SecondMomentRule::kTheorem4) == doctest::Approx(4 * size));
    CHECK(theorem4_learning_steps(long_run, 7) ==
          doctest::Approx(7 + std::log(initial_loss / 1.25) / -std::log(1 - size / 2)));
  }

  TEST_CASE(
      "second moments: the share of removed rows matters to the aware rule alone, which vanishes into plain SGD") {
    UnprojectedPlan plan = logistic_plan(300, 1);
    const double any = descend_second_moment(plan, 20, SecondMomentRule::kAnyLength);
    double before = 0;
    for (const std::uint64_t m : {0, 1, 10, 18}) {
      plan.removed = m;
      CHECK(descend_second_moment(plan, 20, SecondMomentRule::kAnyLength) == any);
      const double aware = descend_second_moment(plan, 20, SecondMomentRule::kRemovalAware);
      CHECK(aware > before);
      CHECK(aware < any);
      before = aware;
    }
    plan.removed = 19;  // m (6 B + 1) = 418
    CHECK_THROWS_AS(static_cast<void>(descend_second_moment(plan, 20, SecondMomentRule::kAnyLength)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(descend_second_moment(plan, 20, SecondMomentRule::kTheorem4)), UsageError);
    CHECK(descend_second_moment(plan, 20, SecondMomentRule::kRemovalAware) > before);
    plan.removed = 27;  // m (4 B + 1) = 405
    CHECK_THROWS_AS(static_cast<void>(descend_second_moment(plan, 20, SecondMomentRule::kRemovalAware)), UsageError);
  }

  TEST_CASE("second moments: above their recursion, and next to it after long runs") {
    for (const std::uint64_t steps : {5, 60, 4000}) {
      const UnprojectedPlan plan = logistic_plan(steps, 1e6);
      const double relative = plan.relative, constant = plan.constant, left = 400 - 10 - 2 * relative * 10;
      for (const std::uint64_t back : {0, 1, 4}) {
        const double any = descend_second_moment(plan, back, SecondMomentRule::kAnyLength);
        const double aware = descend_second_moment(plan, back, SecondMomentRule::kRemovalAware);
        const double slow_any = slow_second_moment(plan, back, 0.5, constant / (4 * relative));
        const double slow_aware = slow_second_moment(plan, back, 2 * relative * 10 / left, constant * 10 / left);
        CHECK(slow_any <= any * (1 + 1e-9));
        CHECK(slow_aware <= aware * (1 + 1e-9));
      }
      if (steps < 4000) continue;
      const double noise = 0.35 * 0.5 * constant / 0.1;  // at K = 0 the closed form counts K's floor on top
      CHECK(descend_second_moment(plan, 0, SecondMomentRule::kAnyLength) ==
            doctest::Approx(slow_second_moment(plan, 0, 0.5, constant / (4 * relative)) + 40 * noise / 2));
      CHECK(descend_second_moment(plan, 0, SecondMomentRule::kRemovalAware) ==
            doctest::Approx(slow_second_moment(plan, 0, 2 * relative * 10 / left, constant * 10 / left) +
                            40 * noise / 2));
    }
  }

  TEST_CASE("least steps for a second moment: equal to trying all; none below the floor") {
    const UnprojectedPlan plan = logistic_plan(300, 6);
    for (const SecondMomentRule rule : {SecondMomentRule::kAnyLength, SecondMomentRule::kRemovalAware}) {
      for (const std::uint64_t back : {0, 1, 40, 120})
        CHECK(least_descend_steps(plan, descend_second_moment(plan, back, rule), rule) == back);
      const double last = descend_second_moment(plan, 300, rule);
      CHECK(last > 4 * 0.35 * 0.5 * plan.constant / 0.01);  // 4 L eta C / mu^2
      CHECK(!least_descend_steps(plan, last * 0.999, rule).has_value());
    }
    CHECK_THROWS_AS(static_cast<void>(least_descend_steps(plan, 1, SecondMomentRule::kTheorem4)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(least_descend_steps(plan, kNaN, SecondMomentRule::kAnyLength)), UsageError);
  }

  TEST_CASE("conditions of Theorem 4 are kept") {
    UnprojectedPlan plan = logistic_plan(99, 6.056418);
    CHECK_THROWS_AS(static_cast<void>(descend_second_moment(plan, 50, SecondMomentRule::kTheorem4)), UsageError);
    plan.steps = 100;
    CHECK(descend_second_moment(plan, 50, SecondMomentRule::kTheorem4) > 0);
    CHECK_THROWS_AS(static_cast<void>(descend_second_moment(plan, 101, SecondMomentRule::kAnyLength)), UsageError);
    plan.initial_loss = 0;
    CHECK(theorem4_learning_steps(plan, 50) == 50);
    plan.constant = 0;
    CHECK_THROWS_AS(static_cast<void>(theorem4_learning_steps(plan, 50)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(descend_second_moment(plan, 50, SecondMomentRule::kTheorem4)), UsageError);
    CHECK(descend_second_moment(plan, 50, SecondMomentRule::kAnyLength) == 0);  // every sample has the same minimiser
    plan.relative = 0;
    CHECK_THROWS_AS(static_cast<void>(descend_second_moment(plan, 50, SecondMomentRule::kAnyLength)), UsageError);
    plan.relative = 10;  // eta above 1 / (L B)
    CHECK_THROWS_AS(static_cast<void>(descend_second_moment(plan, 50, SecondMomentRule::kAnyLength)), UsageError);
    plan = logistic_plan(300, 1);
    plan.step = GradientStep::convex(0.5, 0.35);
    CHECK_THROWS_AS(static_cast<void>(descend_second_moment(plan, 50, SecondMomentRule::kAnyLength)), UsageError);
    const UnprojectedPlan flat{GradientStep::strongly_convex(0.1, 1, 1e-300), 1000, 400, 1, 1, 1, 1};
    CHECK_THROWS_AS(static_cast<void>(descend_second_moment(flat, 50, SecondMomentRule::kAnyLength)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(descend_second_moment(flat, 50, SecondMomentRule::kTheorem4)), UsageError);
    plan = logistic_plan(1000000000, 1);
    CHECK(descend_second_moment(plan, 900000000, SecondMomentRule::kAnyLength) ==
          doctest::Approx(4 * 0.35 * 0.5 * plan.constant / 0.01));
  }
}
