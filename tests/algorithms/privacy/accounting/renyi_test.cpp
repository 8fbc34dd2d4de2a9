// tests/algorithms/privacy/accounting/renyi_test.cpp - closed forms against a scan of all orders,
// inverses, and the search for a count.
#include "algorithms/privacy/accounting/renyi.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/privacy/accounting/search.h"
#include "storage/io/error.h"
#include "support/special_values.h"

using namespace unweave;

namespace {

using testing::kInfinity;
using testing::kNaN;

double gaussian_curve(double alpha, double mu) {
  return alpha * mu * mu / 2;
}

double weak_triangle_curve(double alpha, double mu) {
  return (alpha - 0.5) / (alpha - 1) * 2 * alpha * mu * mu / 2;
}

/// Orders 1 + 10^-7 to 1 + 10^9, 4000 a decade.
std::vector<double> dense_orders() {
  std::vector<double> orders;
  for (int i = -28000; i <= 36000; ++i) orders.push_back(1 + std::pow(10, i / 4000.0));
  return orders;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("closed forms are the minimum of a dense scan of orders, from below") {
    const std::vector<double> orders = dense_orders();
    for (const double mu : {1e-6, 1e-3, 0.2, 1.0, 2.5, 20.0})
      for (const double delta : {0.5, 1e-4, 1e-9}) {
        double plain = kInfinity, weak = kInfinity;
        for (const double alpha : orders) {
          const double paid = std::log(1 / delta) / (alpha - 1);
          plain = std::min(plain, gaussian_curve(alpha, mu) + paid);
          weak = std::min(weak, weak_triangle_curve(alpha, mu) + paid);
        }
        CHECK(gaussian_epsilon(mu, delta) <= plain * (1 + 1e-13));
        CHECK(gaussian_epsilon(mu, delta) == doctest::Approx(plain).epsilon(1e-6));
        CHECK(weak_triangle_epsilon(mu, delta) <= weak * (1 + 1e-13));
        CHECK(weak_triangle_epsilon(mu, delta) == doctest::Approx(weak).epsilon(1e-6));
      }
  }

  TEST_CASE("the weak triangle costs more than the plain curve and less than twice its order") {
    for (const double mu : {1e-4, 0.1, 3.0}) {
      CHECK(weak_triangle_epsilon(mu, 1e-5) > gaussian_epsilon(std::sqrt(2) * mu, 1e-5));
      CHECK(weak_triangle_epsilon(mu, 1e-5) < gaussian_epsilon(2 * mu, 1e-5));
    }
  }

  TEST_CASE("both conversions are inverted over the whole range") {
    for (const double epsilon : {1e-250, 1e-100, 1e-12, 1e-3, 0.05, 1.0, 20.0, 1e6, 1e200})
      for (const double delta : {1 - 1e-12, 0.5, 1e-4, 1e-100, 1e-307}) {
        const double mu = gaussian_mu(epsilon, delta), weak = weak_triangle_mu(epsilon, delta);
        CHECK(mu > 0);
        CHECK(weak > 0);
        CHECK(weak < mu);
        CHECK(std::abs(gaussian_epsilon(mu, delta) / epsilon - 1) <= 1e-12);
        CHECK(std::abs(weak_triangle_epsilon(weak, delta) / epsilon - 1) <= 1e-12);
      }
    CHECK(gaussian_epsilon(0, 1e-4) == 0);
    CHECK(weak_triangle_epsilon(0, 1e-4) == 0);
    CHECK(gaussian_epsilon(1e200, 1e-4) == kInfinity);
    CHECK(weak_triangle_epsilon(1e200, 1e-4) == kInfinity);
  }

  TEST_CASE("invalid privacy parameters are refused, never NaN") {
    for (const double epsilon : {0.0, -1.0, kNaN, kInfinity}) {
      CHECK_THROWS_AS(static_cast<void>(gaussian_mu(epsilon, 1e-4)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(weak_triangle_mu(epsilon, 1e-4)), UsageError);
    }
    for (const double delta : {0.0, 1.0, -0.1, 2.0, kNaN}) {
      CHECK_THROWS_AS(static_cast<void>(gaussian_epsilon(1, delta)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(gaussian_mu(1, delta)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(weak_triangle_epsilon(1, delta)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(weak_triangle_mu(1, delta)), UsageError);
    }
    CHECK_THROWS_AS(static_cast<void>(gaussian_epsilon(-1, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(weak_triangle_epsilon(kNaN, 0.1)), UsageError);
  }

  TEST_CASE("the least count is found at both ends and in between, or not at all") {
    for (const std::uint64_t most : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{7}, kMostCount})
      for (const std::uint64_t truth :
           {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{5}, most - 1, most, most + 1}) {
        if (truth == 0) continue;
        const auto found = fewest(most, [&](std::uint64_t count) { return count >= truth; });
        CHECK(found.has_value() == (truth <= most));
        if (found) CHECK(*found == truth);
      }
  }
}
