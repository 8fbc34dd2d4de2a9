// tests/algorithms/privacy/accounting/mechanisms_test.cpp - noise levels against divergences
// integrated from their definition.
#include "algorithms/privacy/accounting/mechanisms.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "algorithms/privacy/gaussian_mechanism.h"
#include "storage/io/error.h"
#include "support/special_values.h"

using namespace unweave;

namespace {

using testing::kInfinity;
using testing::kNaN;

double density(double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
}

/// Both hockey-stick divergences of the mixture sum_i p_i N(shift_i, 1) from N(0, 1), the larger
/// one, by midpoints.
double slow_divergence(const std::vector<double>& chance, const std::vector<double>& shift, double epsilon) {
  double most = 0;
  for (const double s : shift) most = std::max(most, s);
  const int steps = 40000;
  const double width = (most + 24) / steps, grow = std::exp(epsilon);
  double forth = 0, back = 0;
  for (int i = 0; i < steps; ++i) {
    const double x = -12 + (i + 0.5) * width;
    double mixed = 0;
    for (std::size_t k = 0; k < shift.size(); ++k) mixed += chance[k] * density(x - shift[k]);
    forth += std::max(0.0, mixed - grow * density(x)) * width;
    back += std::max(0.0, density(x) - grow * mixed) * width;
  }
  return std::max(forth, back);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("noise for a distance: reference values of the total guarantee") {
    CHECK(classic_sigma(1, {1, 1e-5}) == doctest::Approx(4.844805263).epsilon(1e-9));
    CHECK(sigma_of(1, 1, 1e-5) == doctest::Approx(3.730631635).epsilon(1e-9));
    CHECK(sigma_of(1, 10, 0.1) == doctest::Approx(0.2818120721).epsilon(1e-9));
    // Mu and Klabjan state these for delta = 0.01, with the total guarantee (epsilon, 2 delta).
    CHECK(first_moment_sigma(1, {1, 0.02}) == doctest::Approx(310.751146).epsilon(1e-8));
    CHECK(second_moment_sigma(1, {1, 0.02}) == doctest::Approx(31.0751146).epsilon(1e-8));
    CHECK(first_moment_sigma(1, {1, 0.02}) / mean_sigma(1, {1, 0.02}) == doctest::Approx(23.25).epsilon(1e-3));
  }

  TEST_CASE("the largest slope of the Gaussian curve: reference values and a search over integrals" *
            doctest::test_suite("slow")) {
    struct Reference {
      double epsilon, mean;
    };
    for (const Reference& r : {Reference{0.1, 0.35350405},
                               {0.5, 0.29959692},
                               {1, 0.26729067},
                               {2, 0.23115986},
                               {5, 0.18158038},
                               {10, 0.14600778}}) {
      CHECK(mean_constant(r.epsilon) == doctest::Approx(r.mean).epsilon(1e-6));
      double mean = 0;
      for (double s = 0.05; s < 12; s *= 1.02) mean = std::max(mean, slow_divergence({1}, {s}, r.epsilon) / s);
      CHECK(mean_constant(r.epsilon) > mean * (1 - 1e-6));
      CHECK(mean_constant(r.epsilon) < mean * (1 + 1e-3));
    }
  }

  TEST_CASE("the slope bounds the curve at every distance, also for extreme epsilon, and falls in epsilon") {
    double before = 1 / std::sqrt(2 * std::acos(-1.0)) * (1 + 2e-9);
    for (const double epsilon : {1e-200, 1e-12, 1e-3, 0.3, 3.0, 100.0, 1e4, 1e8, 1e12}) {
      const double mean = mean_constant(epsilon);
      CHECK(mean <= before);
      before = mean;
      for (double log_s = std::log(epsilon) / 2 - 8; log_s < std::log(1 + epsilon) / 2 + 6; log_s += 0.05) {
        const double s = std::exp(log_s);
        CHECK(delta_of(s, 1, epsilon) <= mean * s);
      }
    }
    CHECK(mean_constant(1e300) == mean_constant(1e12));  // still an upper bound
  }

  TEST_CASE("mean distance: the divergence of two-point laws stays below delta, and the constant is the least" *
            doctest::test_suite("slow")) {
    for (const double epsilon : {0.3, 1.0, 4.0})
      for (const double delta : {0.005, 0.02}) {
        const double mean = 1 / mean_sigma(1, {epsilon, delta});
        double worst = 0;
        for (double shift = mean; shift < 20; shift *= 1.05) {  // in units of sigma
          const double p = mean / shift;
          CHECK(slow_divergence({p, 1 - p}, {shift, 0}, epsilon) <= delta * (1 + 1e-6));
          worst = std::max(worst, p * slow_divergence({1}, {shift}, epsilon));  // when the distance itself is known
        }
        CHECK(worst > delta * (1 - 5e-3));
        CHECK(worst <= delta * (1 + 1e-6));
      }
  }

  TEST_CASE("a distance that fails with probability delta / 2 is covered, and would not be with all of delta") {
    const double delta = 0.1;
    for (const double epsilon : {2.0, 6.0}) {
      const auto total = [&](double sigma) {
        return slow_divergence({1 - delta / 2, delta / 2}, {1 / sigma, 60}, epsilon);
      };
      CHECK(total(second_moment_sigma(std::sqrt(delta / 2), {epsilon, delta})) <= delta);
      CHECK(total(sigma_of(1, epsilon, delta)) > delta);
      // Markov's worst law for the mean: a distance of mean / (delta / 2) with probability delta /
      // 2.
      CHECK(first_moment_sigma(1, {epsilon, delta}) == doctest::Approx(sigma_of(20, epsilon, 0.05)).epsilon(1e-9));
      CHECK(second_moment_sigma(1, {epsilon, delta}) ==
            doctest::Approx(sigma_of(std::sqrt(20), epsilon, 0.05)).epsilon(1e-9));
    }
  }

  TEST_CASE("the classic formula covers epsilon up to 1, is false above it, and is then given as printed alone") {
    for (const double epsilon : {1e-6, 0.01, 0.5, 1.0})
      for (const double delta : {1e-12, 1e-5, 1e-2, 0.5, 0.99})
        CHECK(delta_of(1, classic_sigma(1, {epsilon, delta}), epsilon) <= delta);
    CHECK_THROWS_AS(static_cast<void>(classic_sigma(1, {10, 1e-4})), UsageError);
    CHECK(delta_of(1, classic_sigma(1, {10, 1e-4}, BoundRule::kPaper), 10) > 1e-4);
    const double root = std::sqrt(1e-4 / 2);
    CHECK(delta_of(1, second_moment_sigma(root, {20, 1e-4}, BoundRule::kPaper), 20) > 1e-4 / 2);
    CHECK(delta_of(1, second_moment_sigma(root, {20, 1e-4}), 20) <= 1e-4 / 2);
  }

  TEST_CASE("a tail takes the best of four shares of delta, and the two parts make up delta") {
    const PrivacyTarget total{1, 1e-3};
    const auto tail = [](double failure) { return 0.2 - 0.05 * std::log(failure); };
    double least = kInfinity;
    for (const double share : {0.05, 0.1, 0.2, 0.5})
      least = std::min(least, sigma_of(tail(share * 1e-3), 1, (1 - share) * 1e-3));
    CHECK(tail_sigma(tail, total) == doctest::Approx(least).epsilon(1e-9));
    double asked = 0;
    static_cast<void>(tail_sigma([&](double failure) { return asked = std::max(asked, failure), 1.0; }, total));
    CHECK(asked < total.delta);
    CHECK(tail_sigma([](double) { return 0.0; }, total) == 0);
  }

  TEST_CASE("noise is linear in the distance and falls in epsilon and delta") {
    using Rule = double (*)(double, const PrivacyTarget&);
    const Rule rules[] = {[](double d, const PrivacyTarget& t) { return mean_sigma(d, t); },
                          [](double d, const PrivacyTarget& t) { return first_moment_sigma(d, t); },
                          [](double d, const PrivacyTarget& t) { return second_moment_sigma(d, t); }};
    for (const Rule rule : rules) {
      CHECK(rule(0, {1, 1e-4}) == 0);
      CHECK(rule(3e-100, {1, 1e-4}) == doctest::Approx(3e-100 * rule(1, {1, 1e-4})).epsilon(1e-9));
      double before = kInfinity;
      for (const double epsilon : {1e-9, 0.1, 1.0, 1.001, 5.0, 1e3, 1e9}) {
        const double sigma = rule(1, {epsilon, 1e-4});
        CHECK(sigma < before);
        CHECK(sigma > 0);
        before = sigma;
      }
      before = kInfinity;
      for (const double delta : {1e-140, 1e-12, 1e-4, 0.1, 0.9, 1 - 1e-12}) {
        const double sigma = rule(1, {1, delta});
        CHECK(sigma < before);
        CHECK(sigma > 0);
        before = sigma;
      }
    }
  }

  TEST_CASE("targets and distances out of range are refused, and so is noise beyond a double") {
    for (const double bad : {0.0, -1.0, kNaN, kInfinity}) {
      CHECK_THROWS_AS(check_target({bad, 0.1}), UsageError);
      CHECK_THROWS_AS(static_cast<void>(mean_constant(bad)), UsageError);
    }
    for (const double bad : {0.0, 1.0, -0.1, 2.0, kNaN}) {
      CHECK_THROWS_AS(check_target({1, bad}), UsageError);
      CHECK_THROWS_AS(static_cast<void>(classic_sigma(1, {1, bad})), UsageError);
      CHECK_THROWS_AS(static_cast<void>(first_moment_sigma(1, {1, bad})), UsageError);
      CHECK_THROWS_AS(static_cast<void>(tail_sigma([](double) { return 1.0; }, {1, bad})), UsageError);
    }
    for (const double bad : {-1.0, kNaN, kInfinity}) {
      CHECK_THROWS_AS(static_cast<void>(classic_sigma(bad, {1, 0.1})), UsageError);
      CHECK_THROWS_AS(static_cast<void>(second_moment_sigma(bad, {1, 0.1})), UsageError);
      CHECK_THROWS_AS(static_cast<void>(mean_sigma(bad, {1, 0.1})), UsageError);
      CHECK_THROWS_AS(static_cast<void>(tail_sigma([&](double) { return bad; }, {1, 0.1})), UsageError);
    }
    CHECK_THROWS_AS(static_cast<void>(classic_sigma(1, {1e-320, 0.1})), UsageError);
    CHECK_THROWS_AS(static_cast<void>(mean_sigma(1e200, {1, 1e-200})), UsageError);
    CHECK_THROWS_AS(static_cast<void>(first_moment_sigma(1, {1, 5e-324})), UsageError);  // half of it is 0
    CHECK_THROWS_AS(static_cast<void>(mean_sigma(1e-320, {1e6, 0.9})), UsageError);      // and not "no noise"
  }
}
