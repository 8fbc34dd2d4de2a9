// tests/algorithms/privacy/accounting/chernoff_test.cpp - tail bounds against exact laws, plain
// sums over all terms and samples.
#include "algorithms/privacy/accounting/chernoff.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "storage/io/error.h"
#include "support/special_values.h"

using namespace unweave;

namespace {

using testing::kNaN;

/// Chernoff's bound by a sum over every term, over a grid of ln x from `low` to `high`.
double slow_bound(const WeightedSum& sum, double failure, double low, double high, int points) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < points; ++i) {
    const double x = std::exp(low + (high - low) * i / (points - 1));
    double log_moment = 0;
    for (std::uint64_t k = 0; k < sum.terms; ++k)
      log_moment += std::log1p(sum.mean * std::expm1(x * std::exp(-sum.decay * static_cast<double>(k))));
    best = std::min(best, (static_cast<double>(sum.draws) * log_moment - std::log(failure)) / x);
  }
  return best;
}

/// P[Binomial(trials, p) >= least].
double binomial_tail(int trials, double p, int least) {
  double tail = 0;
  for (int k = least; k <= trials; ++k)
    tail += std::exp(std::lgamma(trials + 1) - std::lgamma(k + 1) - std::lgamma(trials - k + 1) + k * std::log(p) +
                     (trials - k) * std::log1p(-p));
  return tail;
}

double largest(const WeightedSum& sum) {
  double total = 0;
  for (std::uint64_t k = 0; k < sum.terms; ++k) total += std::exp(-sum.decay * static_cast<double>(k));
  return total * static_cast<double>(sum.draws);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a tail bound equals Chernoff's over a fine grid, summed term by term") {
    for (const double decay : {0.0, 1e-4, 3e-3, 0.05, 2.0})
      for (const double mean : {1e-6, 0.025, 0.4})
        for (const double failure : {0.3, 1e-2, 1e-9}) {
          const WeightedSum sum{700, decay, 8, mean};
          const double grid = std::min(slow_bound(sum, failure, -7, 5, 240), largest(sum));
          const double bound = tail_bound(sum, failure);
          CHECK(bound <= grid * (1 + 1e-4));  // what chords over 1 % of ln w may cost
          CHECK(bound >= grid * (1 - 1e-2));
        }
  }

  TEST_CASE("weights of 0.95^k, 8 draws of mean 0.025: reference values of a grid of 400 points") {
    const double unit = 2 * 0.5 / 8 * std::pow(0.95, 50);
    const WeightedSum sum{150, -std::log(0.95), 8, 0.025};
    const auto grid = [&](double failure) {
      return unit * slow_bound(sum, failure, std::log(1e-3), std::log(300), 400);
    };
    CHECK(grid(0.01) == doctest::Approx(0.08855713979).epsilon(1e-8));
    CHECK(grid(1e-5) == doctest::Approx(0.1248675672).epsilon(1e-8));
    for (const double failure : {0.01, 1e-5}) {
      CHECK(unit * tail_bound(sum, failure) <= grid(failure));
      CHECK(unit * tail_bound(sum, failure) >= grid(failure) * (1 - 1e-3));
    }
  }

  TEST_CASE("the bound holds for binomial laws, exactly, and is not far above them") {
    for (const int trials : {1, 10, 400})
      for (const double p : {1e-3, 0.05, 0.5})
        for (const double failure : {0.1, 1e-3, 1e-8}) {
          // One term of many draws is the same as many terms of one draw without decay.
          const double bound = tail_bound({1, 0, static_cast<std::uint64_t>(trials), p}, failure);
          CHECK(bound == doctest::Approx(tail_bound({static_cast<std::uint64_t>(trials), 0, 1, p}, failure)));
          CHECK(binomial_tail(trials, p, static_cast<int>(std::floor(bound)) + 1) <= failure);
          const double deviation = std::sqrt(trials * p * (1 - p)) + 1;
          CHECK(bound <= trials * p + 3 * deviation * std::log(1 / failure));
        }
    for (const double p : {0.9, 1.0}) {  // all six are 1 with more than `failure`
      CHECK(tail_bound({3, 0, 2, p}, 1e-9) >= 6);
      CHECK(tail_bound({3, 0, 2, p}, 1e-9) <= 6 * (1 + 1e-9));
    }
    CHECK(tail_bound({3, 0, 2, 0}, 0.5) == 0);
    CHECK(tail_bound({0, 0, 2, 0.5}, 0.5) == 0);
  }

  TEST_CASE("the bound holds for values spread over [0, 1] of that mean, sampled") {
    std::mt19937_64 random(9);
    std::uniform_real_distribution<double> uniform;
    const WeightedSum sum{60, 0.03, 4, 0.1};
    const double bound = tail_bound(sum, 0.01);
    int above = 0;
    const int samples = 20000;
    for (int s = 0; s < samples; ++s) {
      double value = 0;
      for (int k = 0; k < 60; ++k)
        for (int i = 0; i < 4; ++i)
          value += std::exp(-0.03 * k) * (s % 2 == 0 ? (uniform(random) < 0.1) : 0.2 * uniform(random));
      above += value > bound;
    }
    CHECK(above <= 0.01 * samples + 5 * std::sqrt(0.01 * samples));
    CHECK(bound > 0.1 * largest(sum));  // the mean
  }

  TEST_CASE("a billion terms cost no more than a few thousand, and agree with them") {
    const WeightedSum many{1000000000, 1e-7, 64, 1e-6};
    const double bound = tail_bound(many, 1e-6);
    const double mean = 64 * 1e-6 / 1e-7;
    CHECK(bound > mean);
    CHECK(bound < mean + 10 * std::sqrt(mean / 2 * std::log(1e6)));
    const double flat = tail_bound({1000000000, 0, 1, 1e-9}, 1e-6);  // Poisson of mean 1
    CHECK(flat == doctest::Approx(tail_bound({1000000, 0, 1, 1e-6}, 1e-6)).epsilon(1e-5));
    for (const std::uint64_t terms : {std::uint64_t{1} << 40, std::numeric_limits<std::uint64_t>::max()})
      for (const double decay : {0.0, 1e-320, 1e-30, 1e-5, 800.0})
        for (const double p : {1e-300, 1e-9, 0.5}) {
          const double value = tail_bound({terms, decay, terms, p}, 1e-300);
          CHECK(std::isfinite(value));
          CHECK(value > 0);
        }
  }

  TEST_CASE(
      "a tail bound grows with terms, draws and mean, falls with the failure, and stays between mean and maximum") {
    const WeightedSum base{50, 0.02, 8, 0.03};
    const double value = tail_bound(base, 1e-3);
    CHECK(tail_bound({60, 0.02, 8, 0.03}, 1e-3) > value);
    CHECK(tail_bound({50, 0.02, 9, 0.03}, 1e-3) > value);
    CHECK(tail_bound({50, 0.02, 8, 0.04}, 1e-3) > value);
    CHECK(tail_bound({50, 0.03, 8, 0.03}, 1e-3) < value);
    CHECK(tail_bound(base, 1e-4) > value);
    double before = largest(base) * (1 + 1e-9);
    for (const double failure : {1e-300, 1e-30, 1e-3, 0.5, 1 - 1e-12}) {
      const double bound = tail_bound(base, failure);
      CHECK(bound <= before);
      CHECK(bound >= 0.03 * largest(base) * (1 - 1e-9));
      before = bound;
    }
  }

  TEST_CASE("sums and chances out of range are refused") {
    for (const double bad : {0.0, 1.0, -1.0, kNaN})
      CHECK_THROWS_AS(static_cast<void>(tail_bound({1, 0, 1, 0.5}, bad)), UsageError);
    for (const double bad : {-0.1, 1.1, kNaN})
      CHECK_THROWS_AS(static_cast<void>(tail_bound({1, 0, 1, bad}, 0.5)), UsageError);
    for (const double bad : {-0.1, kNaN, std::numeric_limits<double>::infinity()})
      CHECK_THROWS_AS(static_cast<void>(tail_bound({1, bad, 1, 0.5}, 0.5)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(tail_bound({1, 0, 0, 0.5}, 0.5)), UsageError);
  }
}
