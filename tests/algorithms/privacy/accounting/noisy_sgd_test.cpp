// tests/algorithms/privacy/accounting/noisy_sgd_test.cpp - distances against chains that are run
// step by step.
#include "algorithms/privacy/accounting/noisy_sgd.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "storage/io/error.h"
#include "support/noisy_sgd_runs.h"
#include "support/special_values.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

using testing::kInfinity;
using testing::kNaN;

NoisySgdConstants small_constants(double strong_convexity = 0.2) {
  NoisySgdConstants c;
  c.rows = 24;
  c.batch_rows = 4;
  c.step_size = 0.7;
  c.strong_convexity = strong_convexity;
  c.smoothness = 1.25;
  c.gradient_bound = 0.9;
  return c;
}

/// The difference of two coupled linear chains, whose gradient sums differ by weights[j] in batch
/// j, iteration by iteration: every bound on distances is attained by it.
double run_linear(const NoisySgdConstants& c, const std::vector<double>& weights, std::uint64_t epochs,
                  double start = 0) {
  long double x = start;
  for (std::uint64_t t = 0; t < epochs; ++t)
    for (const double weight : weights)
      x -= static_cast<long double>(c.step_size) *
           (static_cast<long double>(c.strong_convexity) * x - weight / static_cast<long double>(c.batch_rows));
  return static_cast<double>(x);
}

std::vector<double> one_batch(std::size_t batches, std::size_t batch, double weight) {
  std::vector<double> weights(batches, 0);
  weights[batch] = weight;
  return weights;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("published constants: step, contraction, distances") {
    const NoisySgd sgd = published_run(kMnistRows, 128);
    const auto close = [](double value, double reference) { return std::abs(value / reference - 1) <= 1e-11; };
    CHECK(close(sgd.constants().step_size, 3.827546083655));
    CHECK(close(sgd.power(1), 0.9568865209137));
    CHECK(sgd.batches() == 88);
    CHECK(close(sgd.power(88), 0.02068799745857));
    CHECK(close(worst_distance(published_run(kMnistRows, 32)), 0.2392216740486));
    CHECK(close(worst_distance(sgd), 0.06106879870961));
    CHECK(close(worst_distance(published_run(kMnistRows, 512)), 0.02408608381719));
    CHECK(close(worst_distance(published_run(kMnistRows, 0)), 0.01576321184143));
    const ChangedBatch first{0, sgd.replaced_row_weight()};
    CHECK(close(stationary_distance(sgd, placed_shift(sgd, {&first, 1})), 0.001320314504269));
    CHECK(close(worst_distance(sgd, 10), 0.6106879870961));
    CHECK(close(worst_distance(sgd, 300), 17.75693029470));
    CHECK(close(worst_distance(published_run(kCifarRows, 128)), 0.06365743906946));
    CHECK(close(worst_distance(published_run(kCifarRows, 0)), 0.02113405687327));
  }

  TEST_CASE("a linear chain attains the distances of every place, horizon and contraction") {
    for (const double m : {0.0, 1e-9, 0.2, 1.25}) {
      const NoisySgdConstants c = small_constants(m);
      const NoisySgd sgd(c);
      for (std::size_t place = 0; place < 6; ++place) {
        const ChangedBatch change{place, 1.8};
        const double shift = placed_shift(sgd, {&change, 1});
        for (const std::uint64_t epochs : {1U, 2U, 7U, 60U})
          CHECK(burn_in_distance(sgd, shift, epochs) ==
                doctest::Approx(run_linear(c, one_batch(6, place, 1.8), epochs)).epsilon(1e-12));
        if (m > 0.1)
          CHECK(stationary_distance(sgd, shift) ==
                doctest::Approx(run_linear(c, one_batch(6, place, 1.8), 400)).epsilon(1e-12));
      }
    }
  }

  TEST_CASE("changes in several batches, repeated batches and every batch add up as the linear chain does") {
    const NoisySgdConstants c = small_constants();
    const NoisySgd sgd(c);
    const std::vector<ChangedBatch> changes{{5, 0.3}, {0, 2.0}, {2, 0.1}, {2, 0.4}};
    CHECK(stationary_distance(sgd, placed_shift(sgd, changes)) ==
          doctest::Approx(run_linear(c, {2.0, 0, 0.5, 0, 0, 0.3}, 400)).epsilon(1e-12));
    CHECK(stationary_distance(sgd, every_iteration_shift(sgd, 1.8)) ==
          doctest::Approx(run_linear(c, std::vector<double>(6, 1.8), 400)).epsilon(1e-12));
    CHECK(stationary_distance(sgd, every_iteration_shift(sgd, 1.8)) ==
          doctest::Approx(1.8 / (c.strong_convexity * 4)).epsilon(1e-12));
    CHECK(placed_shift(sgd, {}) == 0);
  }

  TEST_CASE("packed rows are the worst of all placements") {
    for (const double m : {0.0, 0.2, 1.25}) {
      const NoisySgdConstants c = small_constants(m);
      const NoisySgd sgd(c);
      for (std::uint64_t rows = 0; rows <= c.rows; ++rows) {
        double worst = 0;
        std::vector<double> weights(6, 0);
        const std::function<void(std::size_t, std::uint64_t)> place = [&](std::size_t batch, std::uint64_t left) {
          if (batch == 6) {
            if (left == 0) worst = std::max(worst, run_linear(c, weights, 1));
            return;
          }
          for (std::uint64_t here = 0; here <= std::min<std::uint64_t>(left, 4); ++here) {
            weights[batch] = 1.8 * static_cast<double>(here);
            place(batch + 1, left - here);
          }
        };
        place(0, rows);
        CHECK(packed_shift(sgd, rows, 1.8) == doctest::Approx(worst).epsilon(1e-12));
        const std::vector<double> equal(rows, 1.8);
        CHECK(packed_shift(sgd, equal) == doctest::Approx(packed_shift(sgd, rows, 1.8)).epsilon(1e-12));
      }
    }
  }

  TEST_CASE("rows of unlike weights are packed as the worst of their permutations") {
    NoisySgdConstants c = small_constants();
    c.rows = 6;
    c.batch_rows = 2;
    const NoisySgd sgd(c);
    const std::vector<double> given{0.4, 1.8, 0.0, 0.9, 1.1};
    std::vector<double> order{0, 0, 0.4, 0.9, 1.1, 1.8};  // one row does not change
    double worst = 0;
    do worst = std::max(worst, run_linear(c, {order[0] + order[1], order[2] + order[3], order[4] + order[5]}, 1));
    while (std::next_permutation(order.begin(), order.end()));
    CHECK(packed_shift(sgd, given) == doctest::Approx(worst).epsilon(1e-12));
  }

  TEST_CASE("the distance of a sequence follows the linear chain request by request") {
    const NoisySgdConstants c = small_constants();
    const NoisySgd sgd(c);
    const ChangedBatch change{3, 1.8};
    const double own = stationary_distance(sgd, placed_shift(sgd, {&change, 1}));
    double distance = own, chain = run_linear(c, one_batch(6, 3, 1.8), 400);
    for (const std::uint64_t epochs : {1U, 3U, 1U, 2U}) {
      CHECK(distance == doctest::Approx(chain).epsilon(1e-12));
      distance = following_distance(sgd, distance, epochs, own);
      chain = run_linear(c, std::vector<double>(6, 0), epochs, chain) + own;
    }
  }

  TEST_CASE("the projection caps every distance") {
    NoisySgdConstants c = small_constants();
    c.radius = 1e-3;
    const NoisySgd sgd(c);
    CHECK(stationary_distance(sgd, 1) == 2e-3);
    CHECK(burn_in_distance(sgd, 1, 1) == 2e-3);
    CHECK(following_distance(sgd, 1, 1, 1) == 2e-3);
    c.strong_convexity = 0;
    CHECK(stationary_distance(NoisySgd(c), 1e-9) == 2e-3);
    CHECK(stationary_distance(NoisySgd(c), 0) == 0);
    CHECK(stationary_distance(NoisySgd(small_constants(0)), 1) == kInfinity);
  }

  TEST_CASE("the weight of a moved row covers logistic and softmax gradients, and grows to a replaced row's") {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    const std::size_t classes = 3, features = 4;
    NoisySgdConstants c = small_constants();
    c.radius = 3;
    double largest = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      std::vector<double> x(features), moved(features), w(classes * features);
      const auto draw = [&](std::vector<double>& v, double norm) {
        double square = 0;
        for (double& entry : v) {
          entry = normal(random);
          square += entry * entry;
        }
        for (double& entry : v) entry *= norm / std::sqrt(square);
      };
      draw(x, 1);
      draw(moved, trial % 2 == 0 ? 0.9 : 0.05);
      if (trial % 2 == 1)
        for (std::size_t f = 0; f < features; ++f) moved[f] = 0.95 * x[f] + moved[f];
      draw(w, 3);
      const bool softmax = trial % 4 < 2;
      const auto slopes = [&](const std::vector<double>& row) {
        std::vector<double> p(classes);
        double sum = 0;
        for (std::size_t k = 0; k < classes; ++k) {
          double margin = 0;
          for (std::size_t f = 0; f < features; ++f) margin += w[k * features + f] * row[f];
          p[k] = softmax ? std::exp(margin) : 1 / (1 + std::exp(-margin));
          sum += p[k];
        }
        for (double& value : p) value /= softmax ? sum : 1;
        p[0] -= 1;
        return p;
      };
      const std::vector<double> at_x = slopes(x), at_moved = slopes(moved);
      double change = 0, distance = 0;
      for (std::size_t f = 0; f < features; ++f) distance += (x[f] - moved[f]) * (x[f] - moved[f]);
      for (std::size_t k = 0; k < classes; ++k)
        for (std::size_t f = 0; f < features; ++f) change += std::pow(at_x[k] * x[f] - at_moved[k] * moved[f], 2);
      c.gradient_bound = softmax ? std::sqrt(2) : std::sqrt(3);
      const double weight = moved_row_weight(NoisySgd(c), softmax ? 0.5 : 0.25, std::sqrt(distance));
      CHECK(std::sqrt(change) <= weight);
      largest = std::max(largest, std::sqrt(change) / weight);
    }
    CHECK(largest > 0.3);
    const NoisySgd sgd(c), unbounded(small_constants());
    CHECK(moved_row_weight(sgd, 0.25, 0) == 0);
    CHECK(moved_row_weight(sgd, 0.25, 2) == sgd.replaced_row_weight());
    CHECK(moved_row_weight(unbounded, 0.25, 1e-9) == unbounded.replaced_row_weight());
    CHECK(moved_row_weight(unbounded, 0, 0.5) == 0.5 * unbounded.zeroed_row_weight());
    CHECK(sgd.replaced_row_weight() == 2 * sgd.zeroed_row_weight());
  }

  TEST_CASE("powers do not cancel: contraction within an ulp of 1, and of 0") {
    NoisySgdConstants c = small_constants(1e-18);
    const NoisySgd slow(c);
    CHECK(slow.one_minus_power(1) == doctest::Approx(0.7e-18).epsilon(1e-14));
    CHECK(slow.power_sum(6) == doctest::Approx(6).epsilon(1e-14));
    CHECK(slow.root_decay(Decay::kSharp, 10) == doctest::Approx(1 / std::sqrt(60)).epsilon(1e-14));
    CHECK(NoisySgd(small_constants(0)).root_decay(Decay::kLoose, 10) == 1 / std::sqrt(60));
    c.strong_convexity = c.smoothness;
    c.step_size = 1 / c.smoothness;  // c = 0: an iteration forgets everything
    const NoisySgd forgetful(c);
    CHECK(forgetful.power(0) == 1);
    CHECK(forgetful.power(1) == 0);
    CHECK(forgetful.root_decay(Decay::kSharp, 1) == 0);
    CHECK(packed_shift(forgetful, 24, 1) == doctest::Approx(c.step_size));
    c.strong_convexity = 5e-324;
    CHECK(NoisySgd(c).root_decay(Decay::kSharp, 1) == doctest::Approx(1 / std::sqrt(6)).epsilon(1e-14));
    c.step_size = 0.4;  // eta m underflows
    CHECK(NoisySgd(c).root_decay(Decay::kSharp, 1) == 1 / std::sqrt(6));
  }

  TEST_CASE("constants outside their ranges are refused") {
    const auto refused = [](const std::function<void(NoisySgdConstants&)>& spoil) {
      NoisySgdConstants c = small_constants();
      spoil(c);
      CHECK_THROWS_AS(NoisySgd{c}, UsageError);
    };
    refused([](NoisySgdConstants& c) { c.rows = 0; });
    refused([](NoisySgdConstants& c) { c.batch_rows = 0; });
    refused([](NoisySgdConstants& c) { c.batch_rows = 5; });
    refused([](NoisySgdConstants& c) { c.batch_rows = 48; });
    refused([](NoisySgdConstants& c) { c.step_size = std::nextafter(1 / 1.25, 1); });
    for (const double bad : {0.0, -1.0, kNaN, kInfinity}) {
      refused([&](NoisySgdConstants& c) { c.step_size = bad; });
      refused([&](NoisySgdConstants& c) { c.smoothness = bad; });
      refused([&](NoisySgdConstants& c) { c.gradient_bound = bad; });
    }
    for (const double bad : {-1e-9, 1.26, kNaN, kInfinity})
      refused([&](NoisySgdConstants& c) { c.strong_convexity = bad; });
    for (const double bad : {0.0, -1.0, kNaN}) refused([&](NoisySgdConstants& c) { c.radius = bad; });

    const NoisySgd sgd(small_constants());
    CHECK_THROWS_AS(static_cast<void>(packed_shift(sgd, 25, 1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(packed_shift(sgd, std::vector<double>(25, 1))), UsageError);
    const ChangedBatch beyond{6, 1};
    CHECK_THROWS_AS(static_cast<void>(placed_shift(sgd, {&beyond, 1})), UsageError);
    for (const double bad : {-1.0, kNaN, kInfinity}) {
      const ChangedBatch change{0, bad};
      CHECK_THROWS_AS(static_cast<void>(placed_shift(sgd, {&change, 1})), UsageError);
      CHECK_THROWS_AS(static_cast<void>(packed_shift(sgd, 1, bad)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(packed_shift(sgd, std::vector<double>{bad})), UsageError);
      CHECK_THROWS_AS(static_cast<void>(stationary_distance(sgd, bad)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(burn_in_distance(sgd, bad, 1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(following_distance(sgd, bad, 1, 1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(following_distance(sgd, 1, 1, bad)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(moved_row_weight(sgd, 0.25, bad)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(moved_row_weight(sgd, bad, 1)), UsageError);
    }
    CHECK_THROWS_AS(static_cast<void>(burn_in_distance(sgd, 1, 0)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(following_distance(sgd, 1, 0, 1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(sgd.root_decay(Decay::kSharp, 0)), UsageError);
  }

  TEST_CASE("noise must reach 2^20 ulp of the largest parameter") {
    CHECK(resolvable_sigma(0.5, 1.0) == 0x1p-32);
    CHECK(resolvable_sigma(2, 100) == 0x1p-46 * 0x1p20 / 2);
    CHECK_NOTHROW(require_resolvable(0x1p-32, 0.5, 1.0));
    CHECK_THROWS_WITH_AS(require_resolvable(1e-31, 0.5, 1.0),
                         "sigma is 1e-31, too small for float64 beside parameters of size 1; use at least 2.328e-10",
                         UsageError);
    for (const double bad : {0.0, -1.0, kNaN, kInfinity}) {
      CHECK_THROWS_AS(static_cast<void>(resolvable_sigma(bad, 1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(resolvable_sigma(1, bad)), UsageError);
      CHECK_THROWS_AS(require_resolvable(bad, 1, 1), UsageError);
    }
    CHECK(resolvable_sigma(0.5, std::numeric_limits<double>::max()) == 0x1p991);
    CHECK(resolvable_sigma(0.5, 1e-310) == std::numeric_limits<double>::min());
  }
}
