// tests/algorithms/privacy/accounting/rewind_test.cpp - bounds of Rewind-to-Delete against runs that meet them with equality.
#include "algorithms/privacy/accounting/rewind.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

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

/// eta = 0.5, L = 0.35, mu = 0.1, 10 of 400 rows, T = 200.
DescentPlan small_plan(const GradientStep& step, double gradient, std::uint64_t batch = kFullBatch) {
  return {step, 200, batch, DataChange::removal(400, 10, gradient)};
}

GradientStep small_step() {
  return GradientStep::strongly_convex(0.5, 0.35, 0.1);
}

/// Softmax, 100 of 10^6 rows of norm at most 1, lambda = 1e-3, eta = 1, T = 20000.
DescentPlan softmax_plan(std::uint64_t batch) {
  const LossConstants loss = loss_constants(Head::kSoftmax, {.row_norm = 1, .lambda = 1e-3, .classes = 10});
  return {GradientStep::strongly_convex(1, loss.smoothness, 1e-3), 20000, batch,
          DataChange::removal(1000000, 100, loss.data_gradient)};
}

std::uint64_t slow_least_steps(const DescentPlan& plan, double sigma, const PrivacyTarget& total, DistanceRule rule) {
  std::uint64_t steps = 0;
  while (rewind_sigma(plan, steps, total, rule) > sigma) ++steps;
  return steps;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rewind distance: reference values of every class of losses") {
    const GradientStep lemma15 = GradientStep::strongly_convex_lemma15(0.5, 0.35, 0.1);
    CHECK(rewind_distance(small_plan(lemma15, 1.5), 50) == doctest::Approx(0.4020482536).epsilon(1e-9));
    CHECK(rewind_distance(small_plan(small_step(), 1), 50) == doctest::Approx(0.03845496131).epsilon(1e-9));
    CHECK(rewind_distance(small_plan(GradientStep::convex(0.5, 0.25), 1), 50) == doctest::Approx(3.75).epsilon(1e-12));
    CHECK(rewind_distance(small_plan(GradientStep::general(0.01, 0.35), 1), 50) ==
          doctest::Approx(0.1172015432).epsilon(1e-9));
    CHECK(rewind_distance(small_plan(lemma15, 1.5), 50, BoundRule::kPaper) ==
          doctest::Approx(1.01801e-01).epsilon(1e-5));
    CHECK(rewind_tail(small_plan(small_step(), 1, 8), 50, 0.01) == doctest::Approx(0.08855713979).epsilon(1e-3));
    CHECK(rewind_tail(small_plan(small_step(), 1, 8), 50, 1e-5) == doctest::Approx(0.1248675672).epsilon(1e-3));
  }

  TEST_CASE("noise for a softmax head by every rule, and the least number of steps for a given noise") {
    const PrivacyTarget total{1, 1e-5};
    const DescentPlan batches = softmax_plan(1024), full = softmax_plan(kFullBatch);
    CHECK(rewind_distance(full, 4000) == doctest::Approx(0.005170086972).epsilon(1e-9));
    CHECK(rewind_sigma(batches, 4000, total, DistanceRule::kFirstMoment) == doctest::Approx(5155.427853).epsilon(1e-9));
    CHECK(rewind_sigma(batches, 4000, total, DistanceRule::kMean) == doctest::Approx(138.191599).epsilon(1e-6));
    CHECK(rewind_sigma(batches, 4000, total, DistanceRule::kTail) == doctest::Approx(0.027088827).epsilon(1e-4));
    CHECK(rewind_sigma(full, 4000, total, DistanceRule::kSure) == doctest::Approx(0.01928769001).epsilon(1e-8));
    CHECK(least_rewind_steps(full, 1e-3, total, DistanceRule::kSure) == 6958);
  }

  TEST_CASE("mean distance: equal to runs that meet it, for shrinking, neutral and growing steps") {
    const double gradient = 0.8, size = 0.1;
    const std::size_t n = 40, m = 3, batch = 2, steps = 40;
    for (const double curvature : {1.0, 0.0, -0.5}) {
      const ScalarData data = scalar_data(curvature, n, m, gradient);
      const GradientStep step = curvature > 0   ? GradientStep::strongly_convex(size, curvature, curvature)
                                : curvature < 0 ? GradientStep::general(size, -curvature)
                                                : GradientStep::convex(size, 1);
      const DescentPlan plan{step, steps, batch, DataChange::removal(n, m, gradient)};
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
    const DescentPlan lemma15{GradientStep::strongly_convex_lemma15(0.1, 1, 1), 400, kFullBatch, whole};
    const DescentPlan tight{GradientStep::strongly_convex(0.1, 1, 1), 400, kFullBatch, DataChange::removal(100, 10, 1)};
    CHECK(rewind_distance(lemma15, 0, BoundRule::kPaper) == doctest::Approx(0.04));
    CHECK(measured > rewind_distance(lemma15, 0, BoundRule::kPaper));
    CHECK(measured <= rewind_distance(lemma15, 0));
    CHECK(measured <= rewind_distance(tight, 0) * (1 + 1e-12));
    CHECK(rewind_distance(lemma15, 0) == doctest::Approx(0.7795).epsilon(1e-3));
    CHECK(rewind_distance(tight, 0) == doctest::Approx(0.2).epsilon(1e-9));
    // Noise for exactly what was measured; none of the rules may give less.
    const PrivacyTarget total{1, 1e-5};
    CHECK(rewind_sigma(tight, 0, total, DistanceRule::kSure) >= sigma_of(measured, 1, 1e-5) * (1 - 1e-9));
    CHECK(rewind_sigma(lemma15, 0, total, DistanceRule::kMean) >= sigma_of(measured, 1, 1e-5));
    CHECK_THROWS_AS(static_cast<void>(rewind_distance(tight, 0, BoundRule::kPaper)), UsageError);
    const DescentPlan convex = small_plan(GradientStep::convex(0.5, 0.25), 1);
    CHECK(rewind_distance(convex, 50, BoundRule::kPaper) == rewind_distance(convex, 50));
  }

  TEST_CASE("rows that moved count by their change: met with equality, neither ignored nor counted as removed") {
    const std::size_t n = 60, m = 1, moved = 20, batch = 3, steps = 30;
    const double change = 0.25, size = 0.2;
    const ScalarData data = scalar_data(1, n, m, 1, moved, change);
    const double kappa = 2 * m + moved * moved_row_change(1, 0.5, 0.5);
    CHECK(kappa == doctest::Approx(2 * m + moved * change));
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
    CHECK(moved_row_change(1, 3, 100) == 2);  // never more than a removal
    CHECK(moved_row_change(1, kInfinity, 0) == 0);
    CHECK(moved_row_change(1, kInfinity, 1e-9) == 2);
  }

  TEST_CASE("the noise of every rule keeps delta on the distances that runs have") {
    const std::size_t n = 40, m = 2, batch = 2, steps = 30;
    const ScalarData data = scalar_data(1, n, m, 1);
    const DescentPlan plan{GradientStep::strongly_convex(0.1, 1, 1), steps, batch, DataChange::removal(n, m, 1)};
    const auto distances = scalar_distances(data, 0.1, batch, steps, 5, false, 0, 4000);
    for (const double epsilon : {0.5, 3.0})
      for (const double delta : {0.05, 0.3})
        for (const DistanceRule rule : {DistanceRule::kFirstMoment, DistanceRule::kMean, DistanceRule::kTail}) {
          const double sigma = rewind_sigma(plan, 5, {epsilon, delta}, rule);
          double spent = 0;
          for (const double d : distances) spent += delta_of(d, sigma, epsilon) / 4000;
          CHECK(spent <= delta);
        }
    CHECK(rewind_sigma(plan, 5, {1, 1e-4}, DistanceRule::kTail) <
          rewind_sigma(plan, 5, {1, 1e-4}, DistanceRule::kMean));
    CHECK(rewind_sigma(plan, 5, {1, 1e-4}, DistanceRule::kMean) <
          rewind_sigma(plan, 5, {1, 1e-4}, DistanceRule::kFirstMoment));
  }

  TEST_CASE("least steps: equal to trying all, and to the closed form; they stay bounded as learning gets longer") {
    const PrivacyTarget total{1, 1e-4};
    for (const DistanceRule rule : {DistanceRule::kSure, DistanceRule::kMean, DistanceRule::kTail}) {
      const std::uint64_t batch = rule == DistanceRule::kSure ? kFullBatch : 4;
      for (const GradientStep& step :
           {GradientStep::strongly_convex(0.2, 1, 0.3), GradientStep::convex(0.2, 1), GradientStep::general(0.05, 1)}) {
        const DescentPlan plan{step, 40, batch, DataChange::removal(100, 5, 1)};
        double before = kInfinity;
        for (std::uint64_t back = 0; back <= 40; ++back) {
          const double sigma = rewind_sigma(plan, back, total, rule);
          CHECK(sigma < before);
          before = sigma;
          if (back % 10 == 3) {
            CHECK(least_rewind_steps(plan, sigma, total, rule) == slow_least_steps(plan, sigma, total, rule));
            CHECK(least_rewind_steps(plan, sigma * 0.999, total, rule) > back);
          }
        }
        CHECK(before == 0);  // retraining
        CHECK(least_rewind_steps(plan, 0, total, rule) == 40);
        CHECK(least_rewind_steps(plan, 1e9, total, rule) == 0);
      }
    }
    const GradientStep lemma15 = GradientStep::strongly_convex_lemma15(0.5, 0.35, 0.1);
    DescentPlan plan = small_plan(lemma15, 1.5);
    const double sigma = rewind_sigma(plan, 50, total, DistanceRule::kSure) * (1 + 1e-12);
    const double distance = rewind_distance(plan, 50) * (1 + 1e-12), gamma = lemma15.factor();
    const std::uint64_t lengths[] = {60, 100, 200, 400, 800, 3200, 12800}, expected[] = {29, 42, 50, 51, 51, 51, 51};
    for (std::size_t i = 0; i < std::size(lengths); ++i) {
      plan.steps = lengths[i];
      const double reached =
          distance * 400 * (1 - gamma) / (2 * 0.5 * 1.5 * 10) + std::pow(gamma, static_cast<double>(lengths[i]));
      CHECK(least_rewind_steps(plan, sigma, total, DistanceRule::kSure) == expected[i]);
      CHECK(std::ceil(std::log(reached) / std::log(gamma) - 1e-9) == static_cast<double>(expected[i]));
    }
  }

  TEST_CASE("most removable rows: equal to trying all") {
    const PrivacyTarget total{1, 1e-3};
    for (const DistanceRule rule : {DistanceRule::kSure, DistanceRule::kMean, DistanceRule::kTail}) {
      const std::uint64_t batch = rule == DistanceRule::kSure ? kFullBatch : 4;
      const DescentPlan plan{GradientStep::strongly_convex(0.2, 1, 0.3), 30, batch, DataChange::removal(50, 0, 1)};
      const auto needed = [&](std::uint64_t m) {
        DescentPlan trial = plan;
        trial.change = DataChange::removal(50, m, 1);
        return rewind_sigma(trial, 10, total, rule);
      };
      for (const double scale : {1.0, 0.999})
        for (const std::uint64_t m : {1, 17, 20, 48}) {
          const double sigma = scale * needed(m);
          std::uint64_t most = 49;
          while (needed(most) > sigma) --most;
          CHECK(most_removable_rows(plan, 10, sigma, total, rule) == most);
        }
      CHECK(most_removable_rows(plan, 10, 1e9, total, rule) == 49);
      CHECK(most_removable_rows(plan, 10, 0.999 * needed(1), total, rule) == 0);
    }
  }

  TEST_CASE("unprojected SGD: reference values, and what is printed for strongly convex losses is smaller") {
    const GradientStep lemma15 = GradientStep::strongly_convex_lemma15(0.5, 0.35, 0.1);
    const SecondMoment moment = strongly_convex_second_moment(0.35, 0.1, std::log(2.0));
    UnprojectedPlan plan{lemma15, 200, 400, 10, moment.relative, moment.constant, std::log(2.0)};
    CHECK(unprojected_rewind_distance(plan, 50) == doctest::Approx(120.8952147).epsilon(1e-9));
    CHECK(coupled_unprojected_distance(plan, 50) == doctest::Approx(7.929655931).epsilon(1e-9));
    CHECK(unprojected_rewind_distance(plan, 50) / unprojected_rewind_distance(plan, 50, BoundRule::kPaper) ==
          doctest::Approx(1 + lemma15.factor()).epsilon(1e-12));
    double before = kInfinity;
    for (const std::uint64_t back : {0, 1, 50, 150, 199, 200}) {
      const double bound = unprojected_rewind_distance(plan, back);
      CHECK(coupled_unprojected_distance(plan, back) <= bound);
      CHECK(bound < before);
      before = bound;
    }
    CHECK(before == 0);
    plan.removed = 0;
    CHECK(unprojected_rewind_distance(plan, 50) > 1);  // does not vanish without removals, and the coupled bound does
    CHECK(coupled_unprojected_distance(plan, 50) == 0);
    UnprojectedPlan coarse{GradientStep::general(1, 0.35), 20, 400, 10, 3.5, 1, 1};
    CHECK_THROWS_AS(static_cast<void>(unprojected_rewind_distance(coarse, 5)), UsageError);  // eta above 1 / (L B)
    CHECK_THROWS_AS(static_cast<void>(coupled_unprojected_distance(coarse, 5)), UsageError);
    CHECK(unprojected_rewind_distance(coarse, 5, BoundRule::kPaper) > 0);  // as printed, without the condition
    coarse.relative = 0;                                                   // gradients bounded by sqrt C everywhere
    CHECK(coupled_unprojected_distance(coarse, 5) ==
          doctest::Approx(power_sum(coarse.step, 5, 20) * (std::sqrt(0.025) + 0.025 * std::sqrt(400 / 390.0))));
  }

  TEST_CASE("rounding is charged to both runs, and not to retraining") {
    DescentPlan plan = small_plan(small_step(), 1);
    const PrivacyTarget total{1, 1e-4};
    const double exact = rewind_sigma(plan, 150, total, DistanceRule::kSure);
    plan.step_rounding = 1e-4;
    const double shift = 2e-4 * (1 - std::pow(0.95, 200)) / 0.05;
    CHECK(rewind_sigma(plan, 150, total, DistanceRule::kSure) ==
          doctest::Approx(exact + sigma_of(shift, 1, 1e-4)).epsilon(1e-9));
    CHECK(rewind_sigma(plan, 200, total, DistanceRule::kSure) == 0);
    plan.batch = 8;
    CHECK(rewind_sigma(plan, 199, total, DistanceRule::kTail) > sigma_of(shift, 1, 1e-4));
  }

  TEST_CASE("a billion rows and steps, vanishing and exploding distances") {
    const std::uint64_t billion = 1000000000;
    const PrivacyTarget total{1, 1e-9};
    const DescentPlan slow{GradientStep::strongly_convex(1e-3, 1, 1e-6), billion, 1024,
                           DataChange::removal(billion, 1000, 1)};
    CHECK(rewind_distance(slow, 0) == doctest::Approx(2 * 1e-3 * 1e-6 * (1 - std::exp(-1.0)) / 1e-9).epsilon(1e-8));
    for (const DistanceRule rule : {DistanceRule::kFirstMoment, DistanceRule::kMean, DistanceRule::kTail}) {
      const double sigma = rewind_sigma(slow, billion / 2, total, rule);
      CHECK(sigma > 0);
      const std::uint64_t least = least_rewind_steps(slow, sigma, total, rule);
      CHECK(least <= billion / 2);
      CHECK(least > billion / 2 - 1000);
    }
    const DescentPlan gone{GradientStep::strongly_convex(0.5, 1, 1), billion, 8, DataChange::removal(billion, 1, 1)};
    for (const DistanceRule rule : {DistanceRule::kMean, DistanceRule::kTail}) {
      CHECK(rewind_sigma(gone, billion - 1, total, rule) > 0);  // too small for a double, but not "no noise"
      CHECK(least_rewind_steps(gone, 0, total, rule) == billion);
    }
    DescentPlan exact = gone;
    exact.batch = kFullBatch;
    CHECK(rewind_sigma(exact, billion - 1, {1e100, 0.5}, DistanceRule::kSure) > 0);
    const DescentPlan explosive{GradientStep::general(1, 1), billion, 8, DataChange::removal(billion, 1, 1)};
    CHECK(rewind_distance(explosive, 5) == kInfinity);
    CHECK(log_rewind_distance(explosive, 5) == doctest::Approx(1e9 * std::log(2.0)));
    for (const DistanceRule rule : {DistanceRule::kFirstMoment, DistanceRule::kMean, DistanceRule::kTail}) {
      CHECK_THROWS_AS(static_cast<void>(rewind_sigma(explosive, 5, total, rule)), UsageError);
      CHECK(least_rewind_steps(explosive, 1e300, total, rule) == billion);
    }
    const DescentPlan none{small_step(), 200, 8, DataChange::removal(400, 0, 1)};
    CHECK(rewind_sigma(none, 0, total, DistanceRule::kTail) == 0);
    CHECK(least_rewind_steps(none, 0, total, DistanceRule::kMean) == 0);
    const DescentPlan at_once{GradientStep::strongly_convex(1, 1, 1), 9, 4, DataChange::removal(400, 10, 1)};
    CHECK(rewind_distance(at_once, 0) == doctest::Approx(0.05));  // gamma = 0: one step forgets
    CHECK(rewind_tail(at_once, 0, 0.01) > 0.05);
    CHECK(rewind_tail(at_once, 1, 0.01) == 0);
  }

  TEST_CASE("plans out of range are refused") {
    const PrivacyTarget total{1, 1e-4};
    const DescentPlan full = small_plan(small_step(), 1), batches = small_plan(small_step(), 1, 8);
    CHECK_THROWS_AS(static_cast<void>(DataChange::removal(10, 10, 1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(DataChange::removal(10, 11, 1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(DataChange::removal(0, 0, 1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(DataChange::weighted(10, 1, 20.1)), UsageError);
    CHECK(DataChange::weighted(10, 1, 20).fraction() == 1);
    for (const double bad : {0.0, -1.0, kNaN, kInfinity})
      CHECK_THROWS_AS(static_cast<void>(DataChange::removal(10, 1, bad)), UsageError);
    for (const double bad : {-1.0, kNaN, kInfinity}) {
      CHECK_THROWS_AS(static_cast<void>(DataChange::weighted(10, 1, bad)), UsageError);
      DescentPlan plan = full;
      plan.step_rounding = bad;
      CHECK_THROWS_AS(static_cast<void>(rewind_sigma(plan, 5, total, DistanceRule::kSure)), UsageError);
      UnprojectedPlan loose{small_step(), 200, 400, 10, 1, bad, 1};
      CHECK_THROWS_AS(static_cast<void>(unprojected_rewind_distance(loose, 5)), UsageError);
      loose = {small_step(), 200, 400, 10, bad, 1, 1};
      CHECK_THROWS_AS(static_cast<void>(unprojected_rewind_distance(loose, 5, BoundRule::kPaper)), UsageError);
    }
    const DescentPlan endless{small_step(), std::numeric_limits<std::uint64_t>::max(), kFullBatch, full.change};
    CHECK_THROWS_AS(static_cast<void>(rewind_sigma(endless, 5, total, DistanceRule::kSure)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(rewind_distance(full, 201)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(rewind_tail(batches, 201, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(rewind_tail(batches, 5, 0)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(rewind_tail(full, 5, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(rewind_sigma(batches, 5, total, DistanceRule::kSure)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(rewind_sigma(full, 5, {0, 0.1}, DistanceRule::kSure)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(least_rewind_steps(full, -1, total, DistanceRule::kSure)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(least_rewind_steps(full, kNaN, total, DistanceRule::kSure)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(least_rewind_steps(full, 1, {1, 0}, DistanceRule::kSure)), UsageError);
  }
}
