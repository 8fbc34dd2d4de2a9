// tests/algorithms/privacy/accounting/log_sobolev_unlearning_test.cpp - published values, and a scan of all orders.
#include "algorithms/privacy/accounting/log_sobolev_unlearning.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "storage/io/error.h"
#include "support/noisy_sgd_runs.h"
#include "support/special_values.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

using testing::kInfinity;
using testing::kNaN;

/// The published runs of LU took all rows, and smoothness from the data.
NoisySgd full_run(std::uint64_t rows, double smoothness) {
  NoisySgdConstants c = published_constants(rows, 0);
  c.smoothness = smoothness;
  c.step_size = 1 / smoothness;
  return NoisySgd(c);
}

NoisySgd mnist() {
  return published_run(11982, 0);
}

/// eps_s(alpha) by its recursion, last request last.
double recursion(const NoisySgd& sgd, double alpha, double rows, double sigma, std::vector<std::uint64_t> epochs) {
  const NoisySgdConstants& c = sgd.constants();
  const auto start = [&](double order) {
    const double n = static_cast<double>(c.rows);
    return 4 * order * rows * rows * c.gradient_bound * c.gradient_bound / (c.strong_convexity * sigma * sigma * n * n);
  };
  const double kept = std::exp(-c.step_size * c.strong_convexity * static_cast<double>(epochs.back()) / alpha);
  epochs.pop_back();
  if (epochs.empty()) return kept * start(alpha);
  return kept * (alpha - 0.5) / (alpha - 1) * (start(2 * alpha) + recursion(sgd, 2 * alpha, rows, sigma, epochs));
}

double scanned_epsilon(const NoisySgd& sgd, double rows, double sigma, double delta,
                       const std::vector<std::uint64_t>& epochs) {
  double best = kInfinity;
  for (double excess = 1e-3; excess < 1e7; excess *= 1.002)
    best = std::min(best, recursion(sgd, 1 + excess, rows, sigma, epochs) - std::log(delta) / excess);
  return best;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("LU: published epsilon and smallest sigmas") {
    const double delta = 1.0 / 11982;
    CHECK(log_sobolev_epsilon(mnist(), 1, 1, 0.03, delta) == doctest::Approx(0.3139987522341).epsilon(1e-11));
    const std::array<double, 6> epsilons{0.05, 0.1, 0.5, 1, 2, 5},
        sigmas{0.18715706705, 0.09369679423, 0.01892647871, 0.00957768541, 0.00489946610, 0.00208235980};
    for (std::size_t i = 0; i < epsilons.size(); ++i) {
      const double sigma = log_sobolev_sigma(mnist(), 1, 1, epsilons[i], delta);
      CHECK(sigma == doctest::Approx(sigmas[i]).epsilon(1e-8));
      CHECK(log_sobolev_epsilon(mnist(), 1, 1, sigma, delta) <= epsilons[i]);
      CHECK(log_sobolev_epsilon(mnist(), 1, 1, sigma * (1 - 1e-8), delta) > epsilons[i]);
    }
  }

  TEST_CASE("LU: published epochs of the first requests") {
    using List = std::vector<std::uint64_t>;
    const NoisySgd mnist_run = full_run(11982, 0.1947), cifar_run = full_run(10000, 0.183115);
    const double mnist_delta = 1.0 / 11982, cifar_delta = 1e-4;
    CHECK(log_sobolev_epochs(mnist_run, 10, 5, 0.03, 1, mnist_delta) == List{579, 776, 806, 830, 855});
    CHECK(log_sobolev_epochs(cifar_run, 10, 5, 0.03, 1, cifar_delta) == List{762, 965, 990, 1010, 1031});
    const auto total = [](const List& epochs) {
      std::uint64_t sum = 0;
      for (const std::uint64_t count : epochs) sum += count;
      return sum;
    };
    CHECK(total(log_sobolev_epochs(mnist_run, 10, 10, 0.03, 1, mnist_delta)) == 8739);
    CHECK(total(log_sobolev_epochs(cifar_run, 10, 10, 0.03, 1, cifar_delta)) == 10504);
    CHECK(total(log_sobolev_epochs(mnist_run, 20, 5, 0.03, 1, mnist_delta)) == 5058);
    CHECK(total(log_sobolev_epochs(cifar_run, 20, 5, 0.03, 1, cifar_delta)) == 6123);
    CHECK(total(log_sobolev_epochs(mnist_run, 5, 20, 0.03, 1, mnist_delta)) == 19717);
    CHECK(total(log_sobolev_epochs(cifar_run, 5, 20, 0.03, 1, cifar_delta)) == 23142);
  }

  TEST_CASE("LU: the best order of a dense scan, and epochs that are the fewest") {
    for (const std::uint64_t rows : {1U, 10U, 500U})
      for (const double sigma : {0.01, 0.3})
        for (const std::uint64_t epochs : {1U, 40U, 3000U}) {
          const double epsilon = log_sobolev_epsilon(mnist(), rows, epochs, sigma, 1e-5);
          const double scanned = scanned_epsilon(mnist(), static_cast<double>(rows), sigma, 1e-5, {epochs});
          CHECK(epsilon <= scanned * (1 + 1e-12));
          CHECK(epsilon == doctest::Approx(scanned).epsilon(1e-5));
        }
    const std::vector<std::uint64_t> epochs = log_sobolev_epochs(mnist(), 10, 3, 0.05, 0.5, 1e-5);
    for (std::size_t s = 0; s < epochs.size(); ++s) {
      std::vector<std::uint64_t> run(epochs.begin(), epochs.begin() + static_cast<std::ptrdiff_t>(s) + 1);
      CHECK(scanned_epsilon(mnist(), 10, 0.05, 1e-5, run) <= 0.5 * (1 + 1e-5));
      run.back() -= 2;
      CHECK(scanned_epsilon(mnist(), 10, 0.05, 1e-5, run) > 0.5);
    }
  }

  TEST_CASE("LU: epsilon falls with epochs and sigma, rises with rows") {
    for (std::uint64_t k = 1; k < 1000; k *= 2)
      CHECK(log_sobolev_epsilon(mnist(), 3, 2 * k, 0.03, 1e-5) < log_sobolev_epsilon(mnist(), 3, k, 0.03, 1e-5));
    CHECK(log_sobolev_epsilon(mnist(), 3, 5, 0.06, 1e-5) < log_sobolev_epsilon(mnist(), 3, 5, 0.03, 1e-5));
    CHECK(log_sobolev_epsilon(mnist(), 4, 5, 0.03, 1e-5) > log_sobolev_epsilon(mnist(), 3, 5, 0.03, 1e-5));
    CHECK(log_sobolev_epsilon(mnist(), 3, 5, 0.03, 1e-6) > log_sobolev_epsilon(mnist(), 3, 5, 0.03, 1e-5));
  }

  TEST_CASE("LU: arguments outside their ranges are refused, extremes are answered") {
    NoisySgdConstants flat = published_constants(kMnistRows, 0);
    flat.strong_convexity = 0;
    CHECK_THROWS_AS(static_cast<void>(log_sobolev_epsilon(NoisySgd(flat), 1, 1, 1, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(log_sobolev_epsilon(published_run(kMnistRows, 128), 1, 1, 1, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(log_sobolev_epsilon(mnist(), 0, 1, 1, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(log_sobolev_epsilon(mnist(), 11983, 1, 1, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(log_sobolev_epsilon(mnist(), 1, 0, 1, 0.1)), UsageError);
    for (const double bad : {0.0, -1.0, kNaN, kInfinity}) {
      CHECK_THROWS_AS(static_cast<void>(log_sobolev_epsilon(mnist(), 1, 1, bad, 0.1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(log_sobolev_sigma(mnist(), 1, 1, bad, 0.1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(log_sobolev_epochs(mnist(), 1, 1, bad, 1, 0.1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(log_sobolev_epochs(mnist(), 1, 1, 1, bad, 0.1)), UsageError);
    }
    for (const double delta : {0.0, 1.0, kNaN}) {
      CHECK_THROWS_AS(static_cast<void>(log_sobolev_epsilon(mnist(), 1, 1, 1, delta)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(log_sobolev_sigma(mnist(), 1, 1, 1, delta)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(log_sobolev_epochs(mnist(), 1, 1, 1, 1, delta)), UsageError);
    }
    CHECK(log_sobolev_epsilon(mnist(), 1, 1, 1e-200, 0.1) == kInfinity);
    for (const double epsilon : {1e-100, 1e-9, 1e6, 1e200})
      for (const double delta : {1e-300, 0.5}) {
        const double sigma = log_sobolev_sigma(mnist(), 1, 1, epsilon, delta);
        CHECK(std::isfinite(sigma));
        CHECK(log_sobolev_epsilon(mnist(), 1, 1, sigma, delta) <= epsilon);
      }
    CHECK_THROWS_AS(static_cast<void>(log_sobolev_sigma(mnist(), 1, 1, 5e-324, 0.1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(log_sobolev_epochs(mnist(), 1, 1, 1e-160, 1, 1e-5)), UsageError);
  }
}
