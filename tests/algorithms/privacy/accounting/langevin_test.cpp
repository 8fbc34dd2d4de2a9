// tests/algorithms/privacy/accounting/langevin_test.cpp - published values, an exact Gaussian
// chain, inverses and limits.
#include "algorithms/privacy/accounting/langevin.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "algorithms/privacy/accounting/renyi.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "storage/io/error.h"
#include "support/noisy_sgd_runs.h"
#include "support/special_values.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

using testing::kInfinity;
using testing::kNaN;
constexpr double kDelta = 1.0 / kMnistRows;

bool close(double value, double reference) {
  return std::abs(value / reference - 1) <= 1e-11;
}

LangevinAccountant accountant(const NoisySgd& sgd, BurnIn burn_in, std::uint64_t learning_epochs,
                              Decay decay = Decay::kSharp, NoiseVariance variance = NoiseVariance::kActual) {
  return {sgd, {burn_in, learning_epochs, decay, variance}, 1 / static_cast<double>(sgd.constants().rows)};
}

/// Every bound there is, for one run.
std::vector<LangevinAccountant> all_bounds(const NoisySgd& sgd, std::uint64_t learning_epochs) {
  std::vector<LangevinAccountant> all;
  for (const BurnIn burn_in : {BurnIn::kNone, BurnIn::kWeakTriangle, BurnIn::kAligned})
    for (const Decay decay : {Decay::kLoose, Decay::kSharp})
      for (const NoiseVariance variance : {NoiseVariance::kPrinted, NoiseVariance::kActual})
        all.push_back(accountant(sgd, burn_in, learning_epochs, decay, variance));
  return all;
}

NoisySgd with_strong_convexity(NoisySgdConstants c, double m) {
  c.strong_convexity = m;
  c.smoothness = 0.25 + m;
  c.step_size = std::min(c.step_size, 1 / c.smoothness);
  return NoisySgd(c);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("published constants: epsilon") {
    const NoisySgd mini = published_run(kMnistRows, 128), full = published_run(kMnistRows, 0);
    const double z = worst_distance(mini);
    CHECK(close(converged(mini, Decay::kLoose).epsilon(z, 1, 0.03), 0.09321337019125));
    CHECK(close(converged(mini, Decay::kSharp).epsilon(z, 1, 0.03), 0.02703298655274));
    CHECK(close(converged(mini, Decay::kSharp, NoiseVariance::kActual).epsilon(z, 1, 0.03), 0.01911115823165));
    CHECK(close(converged(mini, Decay::kLoose).epsilon(z, 2, 0.03), 0.001923704190697));
    CHECK(close(converged(full, Decay::kLoose).epsilon(worst_distance(full), 10, 0.03), 0.7615740532362));
    CHECK(close(converged(full, Decay::kSharp).epsilon(worst_distance(full), 10, 0.03), 0.2855012514776));

    const NoisySgd ball = projected_run(kMnistRows, 128);
    const auto finite = [&](std::uint64_t learning_epochs) {
      return accountant(ball, BurnIn::kWeakTriangle, learning_epochs, Decay::kLoose, NoiseVariance::kPrinted);
    };
    CHECK(close(finite(20).epsilon(z, 1, 0.03), 0.1321926351159));
    CHECK(close(finite(5).epsilon(z, 1, 0.03), 0.1321943083233));
    CHECK(close(finite(20).smallest_sigma(z, 1, 1), 0.004100065917214));
    CHECK(close(accountant(ball, BurnIn::kAligned, 20, Decay::kLoose, NoiseVariance::kPrinted).epsilon(z, 1, 0.03),
                0.09321337019125));  // no order lost, the start forgotten

    NoisySgdConstants convex = ball.constants();
    convex.strong_convexity = 0;
    const NoisySgd flat(convex);
    const double grown = burn_in_distance(flat, packed_shift(flat, 1, 2), 20);
    CHECK(close(converged(flat, Decay::kLoose).epsilon(grown, 10, 1), 0.08923696840181));

    CHECK(close(converged(mini, Decay::kLoose).smallest_sigma(z, 1, 1), 0.002862297594440));
    CHECK(close(converged(mini, Decay::kSharp).smallest_sigma(z, 1, 1), 0.0008315667177141));
  }

  TEST_CASE("Table 3: the smallest sigma of one epoch, as printed (cut to four digits) and as logged by the authors") {
    struct Row {
      std::uint64_t rows, batch, learning_epochs;
      std::array<int, 6> printed;
      std::array<double, 6> logged;
    };
    for (const Row& row : {Row{kCifarRows,
                               128,
                               20,
                               {2165, 1084, 220, 112, 58, 25},
                               {0.216547986, 0.108493863, 0.022047106, 0.011237077, 0.005825665, 0.002561649}},
                           Row{kCifarRows,
                               0,
                               1000,
                               {12592, 6308, 1282, 653, 338, 148},
                               {1.259200992, 0.630879104, 0.128201284, 0.065342262, 0.033875545, 0.014895685}},
                           Row{kMnistRows,
                               128,
                               20,
                               {790, 396, 80, 41, 21, 9},
                               {0.079055978, 0.039607007, 0.008046599, 0.004100073, 0.002124533, 0.000933120}},
                           Row{kMnistRows,
                               0,
                               1000,
                               {9438, 4728, 960, 489, 253, 111},
                               {0.943847895, 0.472867358, 0.096068177, 0.048950622, 0.025364757, 0.011140406}}}) {
      const NoisySgd sgd = projected_run(row.rows, row.batch);
      const auto bound =
          accountant(sgd, BurnIn::kWeakTriangle, row.learning_epochs, Decay::kLoose, NoiseVariance::kPrinted);
      const std::array<double, 6> epsilons{0.05, 0.1, 0.5, 1, 2, 5};
      for (std::size_t i = 0; i < epsilons.size(); ++i) {
        const double sigma = bound.smallest_sigma(worst_distance(sgd), 1, epsilons[i]);
        CHECK(static_cast<int>(std::floor(sigma * 1e4)) == row.printed[i]);
        CHECK(sigma == doctest::Approx(row.logged[i]).epsilon(2e-5));
      }
    }
  }

  TEST_CASE("a linear Gaussian chain has exactly the divergence of the sharp bound with the actual variance") {
    for (const double m : {0.0, 0.011264, 0.2}) {
      const NoisySgd sgd = with_strong_convexity(published_constants(kMnistRows, 512), m);
      const double eta = sgd.constants().step_size, sigma = 0.03, distance = 0.017;
      long double mean = distance, variance = 0;
      for (std::uint64_t epochs = 1; epochs <= 12; ++epochs) {
        for (int iteration = 0; iteration < 22; ++iteration) {
          const long double c = 1 - static_cast<long double>(eta) * m;
          mean *= c;
          variance = c * c * variance + 2.0L * eta * sigma * sigma;
        }
        for (const double alpha : {1.01, 2.0, 50.0}) {
          const auto exact = static_cast<double>(alpha * mean * mean / (2 * variance));
          const auto bound = [&](Decay decay, NoiseVariance v) {
            return converged(sgd, decay, v).renyi(alpha, distance, epochs, sigma);
          };
          CHECK(bound(Decay::kSharp, NoiseVariance::kActual) == doctest::Approx(exact).epsilon(1e-11));
          CHECK(bound(Decay::kSharp, NoiseVariance::kPrinted) == doctest::Approx(2 * exact).epsilon(1e-11));
          CHECK(bound(Decay::kLoose, NoiseVariance::kActual) >= exact * (1 - 1e-11));
        }
      }
    }
  }

  TEST_CASE("a linear Gaussian chain has exactly the epsilon of the exact curve, below that of the Renyi divergences") {
    for (const double m : {0.0, 0.011264, 0.2}) {
      const NoisySgd sgd = with_strong_convexity(published_constants(kMnistRows, 512), m);
      const double eta = sgd.constants().step_size, sigma = 0.03, distance = 0.017;
      const LangevinBound renyi{BurnIn::kNone, 0, Decay::kSharp, NoiseVariance::kActual};
      LangevinBound curve = renyi;
      curve.conversion = Conversion::kExact;
      for (const double delta : {1e-2, 1e-5}) {
        const LangevinAccountant loose(sgd, renyi, delta), exact(sgd, curve, delta);
        double mean = distance, variance = 0;
        for (std::uint64_t epochs = 1; epochs <= 6; ++epochs) {
          for (int iteration = 0; iteration < 22; ++iteration) {
            mean *= 1 - eta * m;
            variance = (1 - eta * m) * (1 - eta * m) * variance + 2 * eta * sigma * sigma;
          }
          const double epsilon = exact.epsilon(distance, epochs, sigma);
          CHECK(epsilon == doctest::Approx(epsilon_of(mean, std::sqrt(variance), delta)).epsilon(1e-9));
          CHECK(epsilon < loose.epsilon(distance, epochs, sigma));
          if (epsilon > 0) CHECK(delta_of(mean, std::sqrt(variance), epsilon) == doctest::Approx(delta).epsilon(1e-8));
          const double least = exact.smallest_sigma(distance, epochs, 0.5);
          CHECK(exact.epsilon(distance, epochs, least) <= 0.5);
          CHECK(exact.epsilon(distance, epochs, least * (1 - 1e-9)) > 0.5);
        }
      }
    }
    // A shift of 0.3139 standard deviations where the Renyi divergences allow 0.2270, at epsilon 1
    // and delta 1e-4.
    CHECK(1 / sigma_of(1, 1, 1e-4) == doctest::Approx(0.3139).epsilon(1e-3));
    CHECK(gaussian_mu(1, 1e-4) == doctest::Approx(0.2270).epsilon(1e-3));
    CHECK(epsilon_of(1e-6, 1, 1e-4) == 0);
    CHECK_THROWS_AS(
        LangevinAccountant(projected_run(kMnistRows, 128),
                           {BurnIn::kWeakTriangle, 3, Decay::kSharp, NoiseVariance::kActual, Conversion::kExact}, 1e-4),
        UsageError);
  }

  TEST_CASE("sharp <= loose, actual <= printed, aligned <= weak triangle, closed form <= grid") {
    std::vector<double> orders;
    for (int i = 0; i < 400; ++i) orders.push_back(1 + std::pow(10, -3 + i / 50.0));
    for (const std::uint64_t batch : {32, 128, 512, 0}) {
      const NoisySgd sgd = projected_run(kMnistRows, batch);
      const double z = worst_distance(sgd);
      for (const std::uint64_t epochs : {1, 2, 5, 40}) {
        const auto at = [&](BurnIn burn_in, Decay decay, NoiseVariance variance) {
          return accountant(sgd, burn_in, 1000, decay, variance).epsilon(z, epochs, 0.03);
        };
        for (const BurnIn burn_in : {BurnIn::kNone, BurnIn::kWeakTriangle, BurnIn::kAligned}) {
          for (const NoiseVariance v : {NoiseVariance::kPrinted, NoiseVariance::kActual})
            CHECK(at(burn_in, Decay::kSharp, v) <= at(burn_in, Decay::kLoose, v));
          for (const Decay decay : {Decay::kLoose, Decay::kSharp})
            CHECK(at(burn_in, decay, NoiseVariance::kActual) < at(burn_in, decay, NoiseVariance::kPrinted));
        }
        CHECK(at(BurnIn::kAligned, Decay::kSharp, NoiseVariance::kActual) <
              at(BurnIn::kWeakTriangle, Decay::kSharp, NoiseVariance::kActual));
        for (const LangevinAccountant& bound : all_bounds(sgd, 1000)) {
          const double exact = bound.epsilon(z, epochs, 0.03);
          double grid = kInfinity;
          for (const double alpha : orders)
            grid = std::min(grid, bound.renyi(alpha, z, epochs, 0.03) - std::log(kDelta) / (alpha - 1));
          CHECK(exact <= grid * (1 + 1e-13));
          CHECK(grid <= exact + 0.01 * exact + std::log(kMnistRows) * 1e-4);
        }
      }
    }
  }

  TEST_CASE("epsilon falls with epochs and sigma, rises with rows and weight") {
    const NoisySgd sgd = projected_run(kMnistRows, 512);
    for (const LangevinAccountant& bound : all_bounds(sgd, 30)) {
      const double z = worst_distance(sgd);
      for (std::uint64_t epochs = 1; epochs < 30; ++epochs)
        CHECK(bound.epsilon(z, epochs + 1, 0.03) < bound.epsilon(z, epochs, 0.03));
      for (double sigma = 1e-4; sigma < 10; sigma *= 2)
        CHECK(bound.epsilon(z, 3, 2 * sigma) < bound.epsilon(z, 3, sigma));
      double before = 0;
      for (const std::uint64_t rows : {1, 2, 100, 512, 513, 5000, 11264}) {
        const double epsilon = bound.epsilon(worst_distance(sgd, rows), 2, 0.03);
        CHECK(epsilon > before);
        before = epsilon;
      }
      const double zeroed = stationary_distance(sgd, packed_shift(sgd, 1, sgd.zeroed_row_weight()));
      CHECK(bound.epsilon(zeroed, 2, 0.03) < bound.epsilon(z, 2, 0.03));
    }
  }

  TEST_CASE("no distance is above the ball's diameter, wherever it comes from") {
    const NoisySgd sgd = projected_run(kMnistRows, 128, 0.01);
    for (const LangevinAccountant& bound : all_bounds(sgd, 20)) {
      CHECK(bound.epsilon(1e6, 2, 0.03) == bound.epsilon(0.02, 2, 0.03));
      CHECK(bound.epsilon(0.01, 2, 0.03) < bound.epsilon(0.02, 2, 0.03));
    }
  }

  TEST_CASE("the smallest sigma and the fewest epochs are exact inverses") {
    for (const std::uint64_t batch : {128, 512, 0}) {
      const NoisySgd sgd = projected_run(kMnistRows, batch);
      const double z = worst_distance(sgd, 20);
      for (const LangevinAccountant& bound : all_bounds(sgd, 2000))
        for (const double epsilon : {1e-6, 0.05, 1.0, 5.0, 500.0}) {
          for (const std::uint64_t epochs : {1, 3, 50}) {
            const double sigma = bound.smallest_sigma(z, epochs, epsilon);
            CHECK(bound.epsilon(z, epochs, sigma) <= epsilon);
            CHECK(bound.epsilon(z, epochs, sigma * (1 - 1e-12)) > epsilon);
          }
          for (const double sigma : {0.01, 0.3}) {
            const std::uint64_t epochs = bound.fewest_epochs(z, sigma, epsilon);
            CHECK(bound.epsilon(z, epochs, sigma) <= epsilon);
            if (epochs > 1) CHECK(bound.epsilon(z, epochs - 1, sigma) > epsilon);
          }
        }
    }
  }

  TEST_CASE("what more epochs cannot lower is said, not searched for without end") {
    const NoisySgd sgd = projected_run(kMnistRows, 0);
    const double z = worst_distance(sgd);
    for (const BurnIn burn_in : {BurnIn::kWeakTriangle, BurnIn::kAligned}) {
      const LangevinAccountant brief = accountant(sgd, burn_in, 50);
      const double least = brief.epsilon(z, 1000000, 0.03);
      CHECK(least > 0);
      CHECK_THROWS_AS(static_cast<void>(brief.fewest_epochs(z, 0.03, least / 2)), UsageError);
      CHECK(brief.fewest_epochs(z, 0.03, least * 2) <= 1000);
    }
    const LangevinAccountant aligned = accountant(sgd, BurnIn::kAligned, 50);
    CHECK(aligned.epsilon(z, 50, 0.03) == aligned.epsilon(z, 51, 0.03));  // a retraining has no more than T epochs
    CHECK(aligned.fewest_epochs(z, 0.03, aligned.epsilon(z, 50, 0.03)) == 50);
    const NoisySgd flat = with_strong_convexity(published_constants(kMnistRows, 128), 0);
    CHECK_THROWS_AS(static_cast<void>(converged(flat, Decay::kSharp).fewest_epochs(1e9, 1e-9, 1e-9)), UsageError);
  }

  TEST_CASE("a billion rows, tiny and huge targets: a right value or an error, never NaN") {
    NoisySgdConstants c = published_constants(kMnistRows, 128);
    c.rows = 1000000000;
    c.batch_rows = 65536;
    CHECK_THROWS_AS(NoisySgd{c}, UsageError);  // the last batch must be dropped or padded
    c.rows = 15258ULL * 65536;
    c.strong_convexity = 1e-3;
    c.smoothness = 0.251;
    c.step_size = 1 / 0.251;
    const NoisySgd billion(c);
    const double z = worst_distance(billion);
    CHECK(close(z, 1.215839765936e-04));
    const auto sigma_for = [&](Decay decay) {
      return LangevinAccountant(billion, {BurnIn::kNone, 0, decay, NoiseVariance::kPrinted}, 1e-9)
          .smallest_sigma(z, 1, 1);
    };
    CHECK(close(sigma_for(Decay::kSharp), 1.246979385027e-31));
    CHECK(close(sigma_for(Decay::kLoose), 1.398344351197e-30));
    CHECK_THROWS_AS(require_resolvable(sigma_for(Decay::kSharp), c.step_size, 1), UsageError);

    c.batch_rows = 1;  // c^N underflows
    c.radius = 100;
    const NoisySgd single(c);
    const double least = std::numeric_limits<double>::min();
    for (const LangevinAccountant& bound : all_bounds(single, 3)) {
      CHECK(bound.smallest_sigma(worst_distance(single), 1, 1) == least);
      CHECK(bound.epsilon(worst_distance(single), 1, least) == 0);
    }
    const NoisySgd sgd = projected_run(kMnistRows, 128);
    for (const double delta : {5e-324, 1e-300, 0.5, 1 - 1e-16})
      for (const double epsilon : {1e-300, 1e-12, 1.0, 1e6, 1e300})
        for (const BurnIn burn_in : {BurnIn::kNone, BurnIn::kWeakTriangle, BurnIn::kAligned}) {
          const LangevinAccountant bound(sgd, {burn_in, 20, Decay::kSharp, NoiseVariance::kActual}, delta);
          const double sigma = bound.smallest_sigma(worst_distance(sgd), 1, epsilon);
          CHECK(std::isfinite(sigma));
          CHECK(bound.epsilon(worst_distance(sgd), 1, sigma) <= epsilon);
        }
    CHECK_THROWS_AS(static_cast<void>(converged(sgd, Decay::kSharp).smallest_sigma(1, 1, 5e-324)), UsageError);
    CHECK(converged(sgd, Decay::kSharp).epsilon(1, 1, 1e-200) == kInfinity);
    CHECK(converged(sgd, Decay::kSharp).epsilon(0, 1, 1) == 0);
    CHECK(converged(sgd, Decay::kSharp).fewest_epochs(0, 1e-300, 1e-300) == 1);
  }

  TEST_CASE("arguments outside their ranges are refused") {
    const NoisySgd sgd = projected_run(kMnistRows, 128);
    for (const double delta : {0.0, 1.0, -0.1, kNaN})
      CHECK_THROWS_AS(LangevinAccountant(sgd, {BurnIn::kNone, 0, Decay::kSharp, NoiseVariance::kActual}, delta),
                      UsageError);
    CHECK_THROWS_AS(accountant(sgd, BurnIn::kAligned, 0), UsageError);
    CHECK_THROWS_AS(accountant(sgd, BurnIn::kWeakTriangle, 0), UsageError);
    CHECK_THROWS_AS(accountant(published_run(kMnistRows, 128), BurnIn::kAligned, 5), UsageError);
    for (const LangevinAccountant& bound : all_bounds(sgd, 5)) {
      for (const double bad : {0.0, -1.0, kNaN, kInfinity}) {
        CHECK_THROWS_AS(static_cast<void>(bound.epsilon(1, 1, bad)), UsageError);
        CHECK_THROWS_AS(static_cast<void>(bound.renyi(2, 1, 1, bad)), UsageError);
        CHECK_THROWS_AS(static_cast<void>(bound.smallest_sigma(1, 1, bad)), UsageError);
        CHECK_THROWS_AS(static_cast<void>(bound.fewest_epochs(1, 1, bad)), UsageError);
        CHECK_THROWS_AS(static_cast<void>(bound.fewest_epochs(1, bad, 1)), UsageError);
      }
      for (const double bad : {-1.0, kNaN, kInfinity}) {
        CHECK_THROWS_AS(static_cast<void>(bound.epsilon(bad, 1, 1)), UsageError);
        CHECK_THROWS_AS(static_cast<void>(bound.smallest_sigma(bad, 1, 1)), UsageError);
      }
      CHECK_THROWS_AS(static_cast<void>(bound.epsilon(1, 0, 1)), UsageError);
      for (const double alpha : {1.0, 0.0, kNaN, kInfinity})
        CHECK_THROWS_AS(static_cast<void>(bound.renyi(alpha, 1, 1, 1)), UsageError);
    }
  }
}
