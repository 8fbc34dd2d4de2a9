// tests/algorithms/privacy/accounting/descent_to_delete_test.cpp - published values, and a descent
// that is run.
#include "algorithms/privacy/accounting/descent_to_delete.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "algorithms/privacy/accounting/renyi.h"
#include "storage/io/error.h"
#include "support/special_values.h"

using namespace unweave;

namespace {

using testing::kInfinity;
using testing::kNaN;

DescentToDelete published(std::uint64_t rows, double smoothness = 0) {
  const double ridge = 1e-6 * static_cast<double>(rows);
  return {rows, ridge, smoothness > 0 ? smoothness : 0.25 + ridge, 1};
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("Descent-to-Delete: sigma of Theorem 9") {
    struct Row {
      std::uint64_t rows, steps;
      std::array<double, 6> sigmas;
    };
    for (const Row& row :
         {Row{11982, 1, {50.453767121, 25.260283871, 5.1048760293, 2.5847100406, 1.3235018957, 0.56380492692}},
          Row{11982, 5, {8.3326728493, 4.1718526403, 0.84309387219, 0.42687681034, 0.21858245562, 0.093114989721}},
          Row{10000, 1, {85.954981023, 43.035503667, 8.6988221969, 4.4054283929, 2.2567450443, 0.96230370735}},
          Row{10000, 5, {14.651581317, 7.3356793756, 1.4827703906, 0.75093370470, 0.38467675912, 0.16403087818}}}) {
      const std::array<double, 6> epsilons{0.05, 0.1, 0.5, 1, 2, 5};
      for (std::size_t i = 0; i < epsilons.size(); ++i)
        CHECK(published(row.rows).state_sigma(row.steps, epsilons[i], 1 / static_cast<double>(row.rows)) ==
              doctest::Approx(row.sigmas[i]).epsilon(1e-9));
    }
    CHECK(published(11982).state_sigma(5, 1, 1.0 / 11982) == doctest::Approx(0.4268768103396).epsilon(1e-12));
  }

  TEST_CASE("Descent-to-Delete: steps and sigma of Theorem 28, and the published sums over 100 requests") {
    CHECK(published(11982).private_steps(784, 1, 1.0 / 11982) == 91);
    CHECK(published(11982).private_sigma(91, 1, 1.0 / 11982) == doctest::Approx(1.280220106968e-4).epsilon(1e-11));
    struct Row {
      std::uint64_t rows, dimension;
      double smoothness;
      std::uint64_t total;
    };
    for (const Row& row : {Row{11982, 784, 0.1947, 9118}, Row{10000, 512, 0.18312, 10098}, Row{11982, 784, 0, 12476},
                           Row{10000, 512, 0, 14768}}) {
      const DescentToDelete descent = published(row.rows, row.smoothness);
      const double delta = 1 / static_cast<double>(row.rows);
      const std::uint64_t steps = descent.private_steps(row.dimension, 1, delta);
      std::uint64_t total = 0;
      for (std::uint64_t i = 1; i <= 100; ++i) total += descent.private_request_steps(steps, row.dimension, i, delta);
      CHECK(total == row.total);
    }
  }

  TEST_CASE("Descent-to-Delete: the noise covers a descent that goes as slowly as it may") {
    // f_i(x) = q (x - a_i)^2 / 2, |a_i| <= 1, by steps 2/(L + m): q = m contracts by gamma exactly.
    // One row goes from 1 to -1, after learning that is as long as told; M bounds the gradients in
    // the ball of radius 1.
    const double m = 0.3, smoothness = 1.1, bound = 2 * m;
    const std::uint64_t rows = 20;
    const DescentToDelete descent(rows, m, smoothness, bound);
    for (const std::uint64_t steps : {1U, 3U, 10U}) {
      double x = -1;
      const auto descend = [&](double minimiser, std::uint64_t count) {
        for (std::uint64_t t = 0; t < count; ++t) x -= 2 / (smoothness + m) * m * (x - minimiser);
      };
      descend(0, descent.learning_steps(steps, 1));
      descend(-2.0 / rows, steps);
      const double apart = std::abs(x + 2.0 / rows);
      const double sigma = descent.state_sigma(steps, 1, 1e-5);
      CHECK(2 * apart <= gaussian_mu(1, 1e-5) * sigma);  // the retrained model is as far off at most
      CHECK(40 * apart > gaussian_mu(1, 1e-5) * sigma);
    }
  }

  TEST_CASE("Descent-to-Delete: sigma by the Gaussian curve, and directions") {
    const DescentToDelete descent = published(11982);
    for (const double epsilon : {1e-9, 0.05, 1.0, 50.0}) {
      for (const std::uint64_t steps : {1U, 5U, 200U}) {
        const double distance = gaussian_mu(1, 1e-4) * descent.state_sigma(steps, 1, 1e-4);
        CHECK(gaussian_epsilon(distance / descent.state_sigma(steps, epsilon, 1e-4), 1e-4) ==
              doctest::Approx(epsilon).epsilon(1e-12));
        CHECK(descent.state_sigma(steps + 1, epsilon, 1e-4) < descent.state_sigma(steps, epsilon, 1e-4));
      }
    }
    CHECK(descent.private_sigma(50, 1, 1e-4) > descent.private_sigma(51, 1, 1e-4));
    CHECK(descent.private_sigma(50, 1, 1e-4) > descent.private_sigma(50, 2, 1e-4));
    CHECK(descent.private_steps(784, 0.1, 1e-4) > descent.private_steps(784, 1, 1e-4));
    CHECK(descent.private_steps(7840000, 1, 1e-4) > descent.private_steps(784, 1, 1e-4));
    CHECK(descent.private_request_steps(91, 784, 1, 1e-4) > 91);
  }

  TEST_CASE("Descent-to-Delete: a descent that is done in one step, and one that takes for ever") {
    const DescentToDelete at_once(10, 0.5, 0.5, 1);
    CHECK(at_once.state_sigma(1, 1, 0.1) == std::numeric_limits<double>::min());
    CHECK(at_once.private_steps(10, 1, 0.1) == 1);
    CHECK(at_once.private_request_steps(1, 10, 1, 0.1) == 1);
    CHECK(at_once.learning_steps(1, 100) == 1);
    const DescentToDelete endless(10, 1e-300, 1, 1);
    CHECK_THROWS_AS(static_cast<void>(endless.private_steps(10, 1, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(endless.learning_steps(1, 1e300)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(endless.state_sigma(1, 1, 0.1)), UsageError);
    const DescentToDelete billion(1000000000, 1e-9, 0.25, 1);
    CHECK(std::isfinite(billion.state_sigma(1000, 1e-12, 1e-300)));
    CHECK(std::isfinite(billion.private_sigma(1000, 1e6, 1e-300)));
  }

  TEST_CASE("Descent-to-Delete: arguments outside their ranges are refused") {
    CHECK_THROWS_AS(DescentToDelete(0, 0.1, 1, 1), UsageError);
    CHECK_THROWS_AS(DescentToDelete(10, 1.1, 1, 1), UsageError);
    const DescentToDelete descent(10, 0.1, 1, 1);
    for (const double bad : {0.0, -1.0, kNaN, kInfinity}) {
      CHECK_THROWS_AS(DescentToDelete(10, bad, 1, 1), UsageError);
      CHECK_THROWS_AS(DescentToDelete(10, 0.1, bad, 1), UsageError);
      CHECK_THROWS_AS(DescentToDelete(10, 0.1, 1, bad), UsageError);
      CHECK_THROWS_AS(static_cast<void>(descent.learning_steps(1, bad)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(descent.state_sigma(1, bad, 0.1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(descent.private_steps(1, bad, 0.1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(descent.private_sigma(1, bad, 0.1)), UsageError);
    }
    for (const double delta : {0.0, 1.0, kNaN}) {
      CHECK_THROWS_AS(static_cast<void>(descent.state_sigma(1, 1, delta)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(descent.private_steps(1, 1, delta)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(descent.private_request_steps(1, 1, 1, delta)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(descent.private_sigma(1, 1, delta)), UsageError);
    }
    CHECK_THROWS_AS(static_cast<void>(descent.state_sigma(0, 1, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(descent.private_sigma(0, 1, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(descent.private_steps(0, 1, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(descent.private_request_steps(0, 1, 1, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(descent.private_request_steps(1, 0, 1, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(descent.private_request_steps(1, 1, 0, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(descent.learning_steps(0, 1)), UsageError);
  }
}
