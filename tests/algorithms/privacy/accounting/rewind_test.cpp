// tests/algorithms/privacy/accounting/rewind_test.cpp - bounds of Rewind-to-Delete against runs
// that meet them with equality.
#include "algorithms/privacy/accounting/rewind.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "algorithms/privacy/accounting/head_constants.h"
#include "algorithms/privacy/accounting/search.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "storage/io/error.h"
#include "support/scalar_descent.h"
#include "support/special_values.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

using testing::kInfinity;
using testing::kNaN;

/// 10 of 400 rows, T = 200.
DescentPlan small_plan(const GradientStep& step, double gradient) {
  return {step, 200, 8, DataChange::removal(400, 10, gradient)};
}

/// eta = 0.5, L = 0.35, mu = 0.1.
GradientStep small_step() {
  return GradientStep::strongly_convex(0.5, 0.35, 0.1);
}

/// Softmax, 100 of 10^6 rows of norm at most 1, lambda = 1e-3, eta = 1, T = 20000.
DescentPlan softmax_plan() {
  const LossConstants loss = loss_constants(Head::kSoftmax, {.row_norm = 1, .lambda = 1e-3, .classes = 10});
  return {GradientStep::strongly_convex(1, loss.smoothness, 1e-3), 20000, 1024,
          DataChange::removal(1000000, 100, loss.data_gradient)};
}

/// Least K whose distance is at most `distance`.
std::uint64_t steps_for_distance(const DescentPlan& plan, double distance) {
  return least_count(0, plan.steps, [&](std::uint64_t steps) { return rewind_distance(plan, steps) <= distance; });
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rewind distance and tail: reference values") {
    const GradientStep lemma15 = GradientStep::strongly_convex_lemma15(0.5, 0.35, 0.1);
    CHECK(rewind_distance(small_plan(lemma15, 1.5), 50) == doctest::Approx(0.4020482536).epsilon(1e-9));
    CHECK(rewind_distance(small_plan(small_step(), 1), 50) == doctest::Approx(0.03845496131).epsilon(1e-9));
    CHECK(rewind_distance(small_plan(lemma15, 1.5), 50, BoundRule::kPaper) ==
          doctest::Approx(1.01801e-01).epsilon(1e-5));
    CHECK(rewind_tail(small_plan(small_step(), 1), 50, 0.01) == doctest::Approx(0.08855713979).epsilon(1e-3));
    CHECK(rewind_tail(small_plan(small_step(), 1), 50, 1e-5) == doctest::Approx(0.1248675672).epsilon(1e-3));
  }

  TEST_CASE("noise for a softmax head by every mechanism, and the least number of steps for a given noise") {
    const PrivacyTarget total{1, 1e-5};
    const DescentPlan plan = softmax_plan();
    const double distance = rewind_distance(plan, 4000);
    CHECK(distance == doctest::Approx(0.005170086972).epsilon(1e-9));
    CHECK(first_moment_sigma(distance, total) == doctest::Approx(5155.427853).epsilon(1e-9));
    CHECK(shifted_sigma(plan, 4000, 0, total, DistanceRule::kMean) == doctest::Approx(138.191599).epsilon(1e-6));
    CHECK(shifted_sigma(plan, 4000, 0, total, DistanceRule::kTail) == doctest::Approx(0.027088827).epsilon(1e-4));
    // By exact gradients, whose distance is sure.
    CHECK(sigma_of(distance, 1, 1e-5) == doctest::Approx(0.01928769001).epsilon(1e-8));
    CHECK(steps_for_distance(plan, 1e-3 / sigma_of(1, 1, 1e-5)) == 6958);
  }

  TEST_CASE("mean distance: equal to runs that meet it; the tail: above nearly all of them") {
    const double gradient = 0.8, size = 0.1;
    const std::size_t n = 40, m = 3, batch = 2, steps = 40;
    for (const double curvature : {1.0, 0.05}) {
      const ScalarData data = scalar_data(curvature, n, m, gradient);
      const DescentPlan plan{GradientStep::strongly_convex(size, curvature, curvature), steps, batch,
                             DataChange::removal(n, m, gradient)};
      for (const std::size_t back : {0, 10, 30, 40}) {
        const auto distances = scalar_distances(data, size, batch, steps, back, false, 0.2, 6000);
        const SampleMean mean = mean_of(distances);
        CHECK(std::abs(mean.value - rewind_distance(plan, back)) <= mean.margin);
        for (const double failure : {0.2, 0.01}) {
          const double tail = rewind_tail(plan, back, failure);
          CHECK(distances[static_cast<std::size_t>((1 - failure) * 6000) - 1] <= tail * (1 + 1e-12));
          CHECK(tail <= std::min(rewind_distance(plan, back) / failure,
                                 rewind_distance(plan, back) * static_cast<double>(n) / m) *
                            (1 + 1e-9));
        }
      }
    }
  }

  TEST_CASE("exact gradients: the distance is met surely, the printed constant is exceeded by a valid run") {
    const ScalarData data = scalar_data(1, 100, 10, 1);
    std::mt19937_64 random;
    const double measured = scalar_distance(data, 0.1, 0, 400, 0, false, 0, random);
    CHECK(measured == doctest::Approx(0.2).epsilon(1e-9));
    const DataChange whole = DataChange::removal(100, 10, 2);  // |theta| <= 1 in G
    const DescentPlan lemma15{GradientStep::strongly_convex_lemma15(0.1, 1, 1), 400, 1, whole};
    const DescentPlan tight{GradientStep::strongly_convex(0.1, 1, 1), 400, 1, DataChange::removal(100, 10, 1)};
    CHECK(rewind_distance(lemma15, 0, BoundRule::kPaper) == doctest::Approx(0.04));
    CHECK(measured > rewind_distance(lemma15, 0, BoundRule::kPaper));
    CHECK(measured <= rewind_distance(lemma15, 0));
    CHECK(measured <= rewind_distance(tight, 0) * (1 + 1e-12));
    CHECK(rewind_distance(lemma15, 0) == doctest::Approx(0.7795).epsilon(1e-3));
    CHECK(rewind_distance(tight, 0) == doctest::Approx(0.2).epsilon(1e-9));
    // No rule may give less noise than what was measured needs.
    for (const DistanceRule rule : {DistanceRule::kMean, DistanceRule::kTail})
      CHECK(shifted_sigma(tight, 0, 0, {1, 1e-5}, rule) >= sigma_of(measured, 1, 1e-5));
    CHECK_THROWS_AS(static_cast<void>(rewind_distance(tight, 0, BoundRule::kPaper)), UsageError);
  }

  TEST_CASE("rows that moved count by their change: met with equality, neither ignored nor counted as removed") {
    const std::size_t n = 60, m = 1, moved = 20, batch = 3, steps = 30;
    const double change = 0.25, size = 0.2;
    const ScalarData data = scalar_data(1, n, m, 1, moved, change);
    const double kappa = 2 * m + moved * change;
    const GradientStep step = GradientStep::strongly_convex(size, 1, 1);
    const DescentPlan weighted{step, steps, batch, DataChange::weighted(n, 1, kappa)};
    const DescentPlan ignored{step, steps, batch, DataChange::removal(n, m, 1)};
    const DescentPlan removed{step, steps, batch, DataChange::removal(n, m + moved, 1)};
    CHECK(weighted.change.fraction() == doctest::Approx(kappa / 2 / n));
    for (const std::size_t back : {0, 8, 20}) {
      const auto distances = scalar_distances(data, size, batch, steps, back, false, 0, 6000);
      const SampleMean mean = mean_of(distances);
      CHECK(std::abs(mean.value - rewind_distance(weighted, back)) <= mean.margin);
      CHECK(mean.value - mean.margin > rewind_distance(ignored, back));
      CHECK(rewind_distance(removed, back) > 5 * mean.value);
      CHECK(distances[5939] <= rewind_tail(weighted, back, 0.01));
      CHECK(rewind_tail(weighted, back, 0.01) < rewind_tail(removed, back, 0.01));
      std::mt19937_64 random;
      CHECK(scalar_distance(data, size, 0, steps, back, false, 0, random) ==
            doctest::Approx(rewind_distance(weighted, back)));
    }
  }

  TEST_CASE("the noise of every rule and of Lemma 12.2 keeps delta on the distances that runs have") {
    const std::size_t n = 40, m = 2, batch = 2, steps = 30;
    const ScalarData data = scalar_data(1, n, m, 1);
    const DescentPlan plan{GradientStep::strongly_convex(0.1, 1, 1), steps, batch, DataChange::removal(n, m, 1)};
    const auto distances = scalar_distances(data, 0.1, batch, steps, 5, false, 0, 4000);
    for (const double epsilon : {0.5, 3.0})
      for (const double delta : {0.05, 0.3})
        for (const double sigma : {first_moment_sigma(rewind_distance(plan, 5), {epsilon, delta}),
                                   shifted_sigma(plan, 5, 0, {epsilon, delta}, DistanceRule::kMean),
                                   shifted_sigma(plan, 5, 0, {epsilon, delta}, DistanceRule::kTail)}) {
          double spent = 0;
          for (const double d : distances) spent += delta_of(d, sigma, epsilon) / 4000;
          CHECK(spent <= delta);
        }
    const PrivacyTarget total{1, 1e-4};
    const double by_mean = shifted_sigma(plan, 5, 0, total, DistanceRule::kMean);
    CHECK(shifted_sigma(plan, 5, 0, total, DistanceRule::kTail) < by_mean);
    CHECK(by_mean < first_moment_sigma(rewind_distance(plan, 5), total));
  }

  TEST_CASE("the noise falls with every step back, to none for retraining") {
    const PrivacyTarget total{1, 1e-4};
    for (const DistanceRule rule : {DistanceRule::kMean, DistanceRule::kTail}) {
      const DescentPlan plan{GradientStep::strongly_convex(0.2, 1, 0.3), 40, 4, DataChange::removal(100, 5, 1)};
      double before = kInfinity;
      for (std::uint64_t back = 0; back <= 40; ++back) {
        const double sigma = shifted_sigma(plan, back, 0, total, rule);
        CHECK(sigma < before);
        before = sigma;
      }
      CHECK(before == 0);
    }
  }

  TEST_CASE("the steps back for one distance are those of the closed form, and bounded as learning gets longer") {
    const GradientStep lemma15 = GradientStep::strongly_convex_lemma15(0.5, 0.35, 0.1);
    DescentPlan plan = small_plan(lemma15, 1.5);
    const double distance = rewind_distance(plan, 50) * (1 + 1e-12), gamma = 1 + lemma15.excess();
    const std::uint64_t lengths[] = {60, 100, 200, 400, 800, 3200, 12800}, expected[] = {29, 42, 50, 51, 51, 51, 51};
    for (std::size_t i = 0; i < std::size(lengths); ++i) {
      plan.steps = lengths[i];
      const double reached =
          distance * 400 * (1 - gamma) / (2 * 0.5 * 1.5 * 10) + std::pow(gamma, static_cast<double>(lengths[i]));
      CHECK(steps_for_distance(plan, distance) == expected[i]);
      CHECK(std::ceil(std::log(reached) / std::log(gamma) - 1e-9) == static_cast<double>(expected[i]));
    }
  }

  TEST_CASE("a sure shift comes on top of the distance, for retraining too") {
    const PrivacyTarget total{1, 1e-4};
    const DescentPlan plan = small_plan(small_step(), 1);
    const double shift = 1e-3, distance = rewind_distance(plan, 150);
    CHECK(shifted_sigma(plan, 150, shift, total, DistanceRule::kMean) ==
          doctest::Approx(mean_sigma(distance + shift, total)).epsilon(1e-9));
    CHECK(shifted_sigma(plan, 200, shift, total, DistanceRule::kMean) ==
          doctest::Approx(mean_sigma(shift, total)).epsilon(1e-9));
    CHECK(shifted_sigma(plan, 200, shift, total, DistanceRule::kTail) ==
          doctest::Approx(sigma_of(shift, 1, 0.95e-4)).epsilon(1e-9));
    const auto tail = [&](double failure) { return shift + rewind_tail(plan, 150, failure); };
    CHECK(shifted_sigma(plan, 150, shift, total, DistanceRule::kTail) ==
          doctest::Approx(tail_sigma(tail, total)).epsilon(1e-9));
  }

  TEST_CASE("a billion rows and steps, and vanishing distances") {
    const std::uint64_t billion = 1000000000;
    const PrivacyTarget total{1, 1e-9};
    const DescentPlan slow{GradientStep::strongly_convex(1e-3, 1, 1e-6), billion, 1024,
                           DataChange::removal(billion, 1000, 1)};
    CHECK(rewind_distance(slow, 0) == doctest::Approx(2 * 1e-3 * 1e-6 * (1 - std::exp(-1.0)) / 1e-9).epsilon(1e-8));
    const DescentPlan gone{GradientStep::strongly_convex(0.5, 1, 1), billion, 8, DataChange::removal(billion, 1, 1)};
    const DescentPlan none{small_step(), 200, 8, DataChange::removal(400, 0, 1)};
    for (const DistanceRule rule : {DistanceRule::kMean, DistanceRule::kTail}) {
      const double sigma = shifted_sigma(slow, billion / 2, 0, total, rule);
      CHECK(sigma > 0);
      CHECK(shifted_sigma(slow, billion / 2 - 1000, 0, total, rule) > sigma);
      // Too small for a double, but not "no noise".
      CHECK(shifted_sigma(gone, billion - 1, 0, total, rule) > 0);
      CHECK(shifted_sigma(gone, billion - 1, 0, {1e100, 0.5}, rule) > 0);
      CHECK(shifted_sigma(gone, billion, 0, total, rule) == 0);
      CHECK(shifted_sigma(none, 0, 0, total, rule) == 0);
    }
    const DescentPlan at_once{GradientStep::strongly_convex(1, 1, 1), 9, 4, DataChange::removal(400, 10, 1)};
    CHECK(rewind_distance(at_once, 0) == doctest::Approx(0.05));  // gamma = 0: one step forgets
    CHECK(rewind_tail(at_once, 0, 0.01) > 0.05);
    CHECK(rewind_tail(at_once, 1, 0.01) == 0);
  }

  TEST_CASE("plans out of range are refused") {
    const PrivacyTarget total{1, 1e-4};
    const DescentPlan plan = small_plan(small_step(), 1);
    CHECK_THROWS_AS(static_cast<void>(DataChange::removal(10, 10, 1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(DataChange::removal(10, 11, 1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(DataChange::removal(0, 0, 1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(DataChange::weighted(10, 1, 20.1)), UsageError);
    CHECK(DataChange::weighted(10, 1, 20).fraction() == 1);
    for (const double bad : {0.0, -1.0, kNaN, kInfinity})
      CHECK_THROWS_AS(static_cast<void>(DataChange::removal(10, 1, bad)), UsageError);
    for (const double bad : {-1.0, kNaN, kInfinity})
      CHECK_THROWS_AS(static_cast<void>(DataChange::weighted(10, 1, bad)), UsageError);
    const DescentPlan endless{small_step(), std::numeric_limits<std::uint64_t>::max(), 8, plan.change};
    const DescentPlan no_rows{small_step(), 200, 0, plan.change};
    CHECK_THROWS_AS(static_cast<void>(rewind_distance(plan, 201)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(rewind_tail(plan, 201, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(rewind_tail(plan, 5, 0)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(rewind_tail(no_rows, 5, 0.1)), UsageError);
    for (const DistanceRule rule : {DistanceRule::kMean, DistanceRule::kTail}) {
      CHECK_THROWS_AS(static_cast<void>(shifted_sigma(endless, 5, 0, total, rule)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(shifted_sigma(plan, 201, 0, total, rule)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(shifted_sigma(plan, 5, 0, {0, 0.1}, rule)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(shifted_sigma(plan, 5, 0, {1, 0}, rule)), UsageError);
    }
  }
}
