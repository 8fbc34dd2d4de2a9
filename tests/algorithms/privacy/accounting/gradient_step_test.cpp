// tests/algorithms/privacy/accounting/gradient_step_test.cpp - step factors against quadratics,
// power sums against loops.
#include "algorithms/privacy/accounting/gradient_step.h"

#include <doctest/doctest.h>

#include <cmath>

#include "storage/io/error.h"
#include "support/special_values.h"

using namespace unweave;

namespace {

using testing::kInfinity;
using testing::kNaN;

double power_sum(const GradientStep& step, std::uint64_t first, std::uint64_t last) {
  return bound_from_log(log_power_sum(step, first, last));
}

double slow_sum(double excess, std::uint64_t first, std::uint64_t last) {
  long double sum = 0;
  long double power = std::pow(1.0L + static_cast<long double>(excess), static_cast<long double>(first));
  for (std::uint64_t j = first; j < last; ++j) {
    sum += power;
    power *= 1.0L + static_cast<long double>(excess);
  }
  return static_cast<double>(sum);
}

/// The largest stretch of quadratics whose curvature lies in [low, high].
double stretch(double size, double low, double high) {
  return std::max(std::abs(1 - size * low), std::abs(1 - size * high));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a step's factor covers every quadratic, up to the largest step of the class") {
    for (const double smoothness : {0.3, 1.0, 40.0})
      for (const double share : {1e-6, 0.1, 0.7, 1.0}) {
        const double mu = share * smoothness;
        for (const double part : {1e-9, 0.3, 1.0}) {
          const double size = part * (2 / (smoothness + mu));
          const GradientStep step = GradientStep::strongly_convex(size, smoothness, mu);
          CHECK(stretch(size, mu, smoothness) <= 1 + step.excess() + 1e-14);
          CHECK(1 + step.excess() == doctest::Approx(1 - size * mu));
          const double small = part * (mu / smoothness / smoothness);
          const GradientStep lemma15 = GradientStep::strongly_convex_lemma15(small, smoothness, mu);
          CHECK(stretch(small, mu, smoothness) <= 1 + lemma15.excess());
          CHECK(1 + lemma15.excess() == doctest::Approx(std::sqrt(1 - small * mu)));
          CHECK(lemma15.excess() >= GradientStep::strongly_convex(small, smoothness, mu).excess());
        }
        const double beyond = 1.01 * (2 / (smoothness + mu));
        CHECK(stretch(beyond, mu, smoothness) > 1 - beyond * mu);  // the condition is needed, and is refused below
        CHECK_THROWS_AS(static_cast<void>(GradientStep::strongly_convex(beyond, smoothness, mu)), UsageError);
      }
    CHECK_THROWS_AS(static_cast<void>(GradientStep::strongly_convex_lemma15(0.11, 1, 0.1)), UsageError);
  }

  TEST_CASE("sums of powers equal a loop's, far from 1 and next to it") {
    for (const double size : {1e-12, 1e-7, 1e-3, 0.05, 0.5, 0.999, 1.0})
      for (const std::uint64_t first : {0, 1, 7, 500})
        for (const std::uint64_t terms : {0, 1, 2, 300}) {
          const std::uint64_t last = first + terms;
          CHECK(power_sum(GradientStep::strongly_convex(size, 1, 1), first, last) ==
                doctest::Approx(slow_sum(-size, first, last)).epsilon(1e-11));
        }
    CHECK(power_sum(GradientStep::strongly_convex(1e-9, 1, 1), 0, 3000000) ==
          doctest::Approx(slow_sum(-1e-9, 0, 3000000)).epsilon(1e-11));
    const GradientStep zero = GradientStep::strongly_convex(2, 0.5, 0.5);
    CHECK(zero.excess() == -1);
    CHECK(power_sum(zero, 0, 5) == 1);
    CHECK(power_sum(zero, 1, 5) == 0);
    // eta mu underflows: gamma is 1.
    CHECK(power_sum(GradientStep::strongly_convex(0.4, 1, 5e-324), 3, 303) == doctest::Approx(300));
  }

  TEST_CASE("sums of a billion powers: parts add up, nothing vanishes") {
    const std::uint64_t billion = 1000000000;
    for (const double size : {1e-9, 1e-14}) {
      const GradientStep step = GradientStep::strongly_convex(size, 1, 1);
      const double parts = power_sum(step, 0, billion / 3) + power_sum(step, billion / 3, billion);
      CHECK(parts == doctest::Approx(power_sum(step, 0, billion)).epsilon(1e-12));
    }
    CHECK(power_sum(GradientStep::strongly_convex(1e-9, 1, 1), 0, billion) ==
          doctest::Approx(1e9 * (1 - std::exp(-1.0))).epsilon(1e-8));
    const GradientStep half = GradientStep::strongly_convex(0.5, 1, 1);
    CHECK(power_sum(half, billion, 2 * billion) == kLeastBound);
    CHECK(power_sum(half, 7, 7) == 0);
    CHECK(bound_from_log(1000) == kInfinity);
  }

  TEST_CASE("constants of a step out of range are refused") {
    for (const double bad : {0.0, -1.0, kNaN, kInfinity}) {
      CHECK_THROWS_AS(static_cast<void>(GradientStep::strongly_convex(bad, 1, 0.1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(GradientStep::strongly_convex(0.1, bad, 0.1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(GradientStep::strongly_convex_lemma15(0.01, 1, bad)), UsageError);
    }
    CHECK_THROWS_AS(static_cast<void>(GradientStep::strongly_convex(0.1, 1, 1.1)), UsageError);  // mu above L
    CHECK_THROWS_AS(static_cast<void>(GradientStep::strongly_convex(1e-3, 1e308, 1e308)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(log_power_sum(GradientStep::strongly_convex(1, 1, 1), 6, 5)), UsageError);
  }
}
