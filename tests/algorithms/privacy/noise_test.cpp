// tests/algorithms/privacy/noise_test.cpp - the privacy curve, the exact sampler and the release,
// each against slow twins.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_dec_float.hpp>
#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <span>
#include <vector>

#include "algorithms/privacy/discrete_gaussian.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/random/lazy_uniform.h"
#include "algorithms/random/normal_lanes.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/special_values.h"
#include "support/vector_targets.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

using testing::kInfinity;
using testing::kNaN;

/// delta by its definition, the integral of the positive part of the difference of two densities.
double slow_delta(double shift, double sigma, double epsilon) {
  long double sum = 0;
  const int steps = 400000;
  const double low = -12 * sigma, high = 12 * sigma + shift, width = (high - low) / steps;
  for (int i = 0; i < steps; ++i) {
    const long double x = low + (i + 0.5) * width;
    const auto density = [&](long double mean) { return std::exp(-(x - mean) * (x - mean) / (2.0L * sigma * sigma)); };
    const long double gap = density(shift) - std::exp(static_cast<long double>(epsilon)) * density(0);
    if (gap > 0) sum += gap;
  }
  return static_cast<double>(sum * width / (static_cast<long double>(sigma) * std::sqrt(2 * std::acos(-1.0L))));
}

using Digits = boost::multiprecision::number<boost::multiprecision::cpp_dec_float<60>, boost::multiprecision::et_off>;

/// The curve by its formula, in 60 digits.
Digits exact_delta(double shift, double sigma, double epsilon) {
  const Digits a = Digits(shift) / sigma / 2, b = Digits(epsilon) * sigma / shift, root = sqrt(Digits(2));
  return (boost::math::erfc((b - a) / root) - exp(Digits(epsilon)) * boost::math::erfc((b + a) / root)) / 2;
}

/// Pearson's statistic of samples against exp(-x^2 / 2 variance), cells with an expectation of at
/// least 20.
double chi_square_per_cell(const std::map<std::int64_t, int>& counts, double variance, int samples) {
  double normaliser = 0;
  for (int x = -400; x <= 400; ++x) normaliser += std::exp(-x * x / (2 * variance));
  double sum = 0, rest = samples;
  int cells = 0, seen = 0;
  for (int x = -400; x <= 400; ++x) {
    const double expected = samples * std::exp(-x * x / (2 * variance)) / normaliser;
    if (expected < 20) continue;
    const auto at = counts.find(x);
    const int count = at == counts.end() ? 0 : at->second;
    sum += (count - expected) * (count - expected) / expected;
    rest -= expected;
    seen += count;
    ++cells;
  }
  const double tail = samples - seen;
  return (sum + (tail - rest) * (tail - rest) / std::max(rest, 1.0)) / cells;
}

std::map<std::int64_t, int> sample(std::uint64_t variance, int samples, std::uint64_t seed) {
  RandomSource random = RandomSource::from_seed(seed, 0);
  std::map<std::int64_t, int> counts;
  for (int i = 0; i < samples; ++i) ++counts[discrete_gaussian(random, variance)];
  return counts;
}

/// |published - centre|^2 in units of sigma^2 a coordinate: 1 up to a few standard deviations
/// sqrt(2 / coordinates).
double noise_ratio(const Matrix& published, const Matrix& centre, double sigma) {
  return (published - centre).squaredNorm() / (sigma * sigma * static_cast<double>(centre.size()));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("sigma of the analytic Gaussian: reference values") {
    struct Reference {
      double epsilon, delta, sigma;
    };
    for (const Reference& r : {Reference{0.1, 1e-4, 24.508105599},
                               {0.1, 1e-6, 36.304690426},
                               {0.5, 1e-4, 5.893787791},
                               {0.5, 1e-6, 8.057618481},
                               {1, 1e-4, 3.185702990},
                               {1, 1e-6, 4.224678889},
                               {2, 1e-4, 1.734350981},
                               {2, 1e-6, 2.230476271},
                               {10, 1e-4, 0.455265131},
                               {10, 1e-6, 0.541086832},
                               {20, 1e-4, 0.269446519},
                               {20, 1e-6, 0.309084681}}) {
      CHECK(std::abs(sigma_of(1, r.epsilon, r.delta) - r.sigma) <= 6e-10);
      CHECK(sigma_of(1e-9, r.epsilon, r.delta) == doctest::Approx(1e-9 * r.sigma).epsilon(1e-9));
    }
    const auto classic = [](double epsilon) { return std::sqrt(2 * std::log(1.5 / 1e-4)) / epsilon; };
    CHECK(delta_of(1, classic(1), 1) == doctest::Approx(4.519e-7).epsilon(1e-3));
    CHECK(delta_of(1, classic(10), 10) == doctest::Approx(2.250e-4).epsilon(1e-3));
    CHECK(delta_of(1, classic(20), 20) == doctest::Approx(1.125e-2).epsilon(1e-3));
  }

  TEST_CASE("delta equals the integral of its definition" * doctest::test_suite("slow")) {
    for (const double shift : {0.01, 1.0, 6.0})
      for (const double epsilon : {0.0, 0.3, 1.0, 5.0})
        CHECK(delta_of(shift, 1, epsilon) == doctest::Approx(slow_delta(shift, 1, epsilon)).epsilon(1e-5).scale(1e-9));
  }

  TEST_CASE("the curve is monotone and inverted over the whole range") {
    for (const double epsilon : {0.0, 1e-8, 1e-3, 0.1, 1.0, 30.0, 1000.0}) {
      double before = 0;
      for (const double delta : {0.99, 0.5, 1e-2, 1e-10, 1e-100, 1e-300}) {
        const double sigma = sigma_of(1, epsilon, delta);
        CHECK(sigma > before);
        CHECK(log_delta_of(1, sigma, epsilon) <= std::log(delta) + 1e-12 * std::abs(std::log(delta)));
        CHECK(log_delta_of(1, sigma * (1 - 1e-9), epsilon) > std::log(delta) - 1e-12 * std::abs(std::log(delta)));
        before = sigma;
      }
    }
    for (const double small : {1e-4, 1e-9, 1e-17, 1e-200}) {  // s (phi(t) - t Phi(-t)) for epsilon = t s, s -> 0
      CHECK(delta_of(small, 1, small) == doctest::Approx(0.08331547058768624 * small).epsilon(2 * small + 1e-11));
      CHECK(delta_of(1, sigma_of(1, small, 1e-20), small) == doctest::Approx(1e-20).epsilon(1e-9));
    }
    CHECK(sigma_of(0, 1, 1e-4) == 0);
    CHECK(delta_of(0, 1, 1) == 0);
    CHECK(delta_of(1, 1e-300, 1) == 1);
  }

  TEST_CASE("no delta, epsilon or sigma is better than the exact one, and none much worse") {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(0, 1);
    int checked = 0;
    for (int i = 0; i < 250; ++i) {
      const double shift = std::exp(50 * uniform(random) - 46), sigma = std::exp(4 * uniform(random) - 2);
      const double epsilon = i % 10 == 0 ? 0 : std::exp(30 * uniform(random) - 24);
      const double a = shift / sigma / 2, b = epsilon * sigma / shift;
      if (b - a > 38) continue;
      const Digits exact = exact_delta(shift, sigma, epsilon);
      const double most = 0x1p-39 * (1 + std::abs(b - a)) + 0x1p-46 * (1 + a + b) * (1 + a + b);
      CAPTURE(shift);
      CAPTURE(sigma);
      CAPTURE(epsilon);
      const double log = log_delta_of(shift, sigma, epsilon);
      CHECK(exp(Digits(log)) >= exact);
      CHECK(exp(Digits(log) - most) <= exact);
      if (exact < 1e-300 || exact > 0.999) continue;
      const double delta = delta_of(shift, sigma, epsilon);
      CHECK(delta >= exact);
      CHECK(exact_delta(shift, sigma_of(shift, epsilon, delta), epsilon) <= delta);
      CHECK(exact_delta(shift, sigma, epsilon_of(shift, sigma, delta)) <= delta);
      ++checked;
    }
    CHECK(checked > 80);
  }

  TEST_CASE("invalid privacy parameters are refused, never NaN") {
    for (const double bad : {-1.0, kNaN, kInfinity}) {
      CHECK_THROWS_AS(static_cast<void>(delta_of(bad, 1, 1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(delta_of(1, bad, 1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(delta_of(1, 1, bad)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(sigma_of(bad, 1, 0.1)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(sigma_of(1, bad, 0.1)), UsageError);
    }
    for (const double delta : {0.0, 1.0, -0.1, 2.0, kNaN})
      CHECK_THROWS_AS(static_cast<void>(sigma_of(1, 1, delta)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(delta_of(1, 0, 1)), UsageError);
  }

  TEST_CASE("lazy uniforms: words that leave a comparison open are followed by more") {
    using Word = std::uint32_t;
    struct Script {
      std::vector<Word> words;
      std::size_t at = 0;
      Word bits32() { return words.at(at++); }
    };
    constexpr Word kThird = 0x55555555, kMost = ~Word{0};
    const auto below = [](std::vector<Word> words, Wide numerator, Wide denominator) {
      Script script{std::move(words)};
      return LazyUniform<Script>(script).below(numerator, denominator);
    };
    const Wide wide = static_cast<Wide>(1) << 100;  // denominators that are cut, and such that are not
    for (const Wide unit : {static_cast<Wide>(1), wide}) {
      CHECK(below({kThird - 1}, unit, 3 * unit));
      CHECK_FALSE(below({kThird + 1}, unit, 3 * unit));
      CHECK(below({kThird, kThird - 1}, unit, 3 * unit));
      CHECK_FALSE(below({kThird, kThird, kThird + 1}, unit, 3 * unit));
      CHECK_THROWS_AS(static_cast<void>(below(std::vector<Word>(8, kThird), unit, 3 * unit)), ResourceError);
      CHECK(below({(Word{1} << 31) - 1}, unit, 2 * unit));
      CHECK_FALSE(below({Word{1} << 31}, unit, 2 * unit));
      CHECK(below({kMost}, unit, unit));
      CHECK_FALSE(below({0}, 0, unit));
    }
    CHECK(below({0}, wide / 3, wide));
    CHECK_FALSE(below({Word{1} << 30}, 1, wide));

    Script two{{7, 9, 7, 7, 1, 2}};
    LazyUniform<Script> first(two), second(two), third(two), fourth(two);
    CHECK(first.below(second));
    CHECK_FALSE(second.below(first));
    CHECK(third.below(fourth));  // 7 1 and 7 2
    CHECK_FALSE(fourth.below(third));
    CHECK(two.at == 6);

    const auto times = [](std::vector<Word> words, std::uint64_t scale) {
      Script script{std::move(words)};
      return LazyUniform<Script>(script).times(scale);
    };
    CHECK(times({kMost}, 1) == 0);
    CHECK(times({Word{1} << 31}, 10) == 5);
    CHECK(times({(Word{1} << 31) - 1}, 2) == 0);
    // 3 (2^32 / 3 - 1/3 + x) reaches 2^32 where x, the words that follow, is 1/3 or more.
    CHECK(times({kThird, kThird - 1}, 3) == 0);
    CHECK(times({kThird, kThird + 1}, 3) == 1);
    CHECK(times({kThird, kThird, kThird + 1}, 3) == 1);
  }

  TEST_CASE("rational coins come up with probability exp(-gamma)") {
    RandomSource random = RandomSource::from_seed(5, 0);
    for (const auto& [numerator, denominator] : {std::pair{0, 1}, {1, 3}, {1, 1}, {7, 3}}) {
      const int tosses = 40000;
      int heads = 0;
      for (int i = 0; i < tosses; ++i)
        heads += bernoulli_exp(random, static_cast<Wide>(numerator), static_cast<Wide>(denominator));
      const double p = std::exp(-static_cast<double>(numerator) / denominator);
      CHECK(std::abs(heads - tosses * p) <= 5 * std::sqrt(tosses * p * (1 - p)) + 1e-9);
    }
  }

  TEST_CASE("discrete Gaussian: chi-square against the exact law, which tells a wrong sigma") {
    const int samples = 60000;
    for (const std::uint64_t variance : {1U, 2U, 9U, 100U}) {
      const auto counts = sample(variance, samples, variance);
      const double truth = static_cast<double>(variance);
      CHECK(chi_square_per_cell(counts, truth, samples) < 2.5);
      CHECK(chi_square_per_cell(counts, 1.1 * truth, samples) > 2.5);  // planted: sigma off by 5 %
      CHECK(chi_square_per_cell(counts, 0.9 * truth, samples) > 2.5);
    }
  }

  TEST_CASE("discrete Gaussian: moments at the size that releases use, fresh every time") {
    for (const std::uint64_t variance : {std::uint64_t{1} << 42, kMostDiscreteVariance}) {
      RandomSource random = RandomSource::from_system();
      const double sigma = std::sqrt(static_cast<double>(variance));
      double mean = 0, square = 0, fourth = 0;
      const int samples = 20000;
      for (int i = 0; i < samples; ++i) {
        const double x = static_cast<double>(discrete_gaussian(random, variance)) / sigma;
        mean += x / samples;
        square += x * x / samples;
        fourth += x * x * x * x / samples;
      }
      CHECK(std::abs(mean) < 6 / std::sqrt(samples));
      CHECK(std::abs(square - 1) < 6 * std::sqrt(2.0 / samples));
      CHECK(std::abs(fourth - 3) < 6 * std::sqrt(96.0 / samples));
    }
    RandomSource random = RandomSource::from_system();
    CHECK_THROWS_AS(static_cast<void>(discrete_gaussian(random, 0)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(discrete_gaussian(random, kMostDiscreteVariance + 1)), UsageError);
  }

  TEST_CASE("seeded streams repeat, other streams and system streams differ") {
    const auto first = [](RandomSource random) { return random.bits(); };
    CHECK(first(RandomSource::from_seed(1, 2)) == first(RandomSource::from_seed(1, 2)));
    CHECK(first(RandomSource::from_seed(1, 2)) != first(RandomSource::from_seed(1, 3)));
    CHECK(first(RandomSource::from_seed(1, 2)) != first(RandomSource::from_seed(2, 2)));
    CHECK(first(RandomSource::from_system()) != first(RandomSource::from_system()));
  }

  TEST_CASE("normals from uniforms are Box and Muller's, on the vector extension that runs and on every target") {
    constexpr std::size_t kCount = 1003;
    RandomSource random = RandomSource::from_seed(6, 6);
    std::vector<double> first(kCount), second(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      first[i] = (static_cast<double>(random.bits() >> 11) + 0.5) * 0x1p-53;
      second[i] = static_cast<double>(random.bits() >> 11) * 0x1p-53;
    }
    first[0] = 0x1p-54;
    first[1] = 1;
    second[2] = 0;
    second[3] = 0.5;
    second[4] = 1 - 0x1p-53;
    unweave::testing::for_each_target([&] {
      std::vector<double> x = first, y = second;
      normals_from_uniforms(x.data(), y.data(), kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        const long double radius = std::sqrt(-2 * std::log(static_cast<long double>(first[i])));
        const long double angle = 2 * std::numbers::pi_v<long double> * (static_cast<long double>(second[i]) - 0.5L);
        REQUIRE(std::abs(static_cast<double>(x[i] - radius * std::cos(angle))) < 1e-14);
        REQUIRE(std::abs(static_cast<double>(y[i] - radius * std::sin(angle))) < 1e-14);
      }
    });
  }

  TEST_CASE("many normal numbers: every length is filled, and no more") {
    for (const std::size_t length : {0U, 1U, 2U, 3U, 511U, 512U, 513U, 1500U}) {
      std::vector<double> values(length + 1, 99);
      RandomSource random = RandomSource::from_seed(7, 7);
      random.gaussians(std::span(values).first(length));
      CHECK(values[length] == 99);
      CHECK(std::all_of(values.begin(), values.end() - 1, [](double x) { return std::abs(x) < 9; }));
    }
  }

  TEST_CASE("pairs of normal numbers: moments, tails, and neither of a pair tells of the other") {
    RandomSource random = RandomSource::from_seed(5, 5);
    constexpr int kPairs = 200000;
    std::vector<double> values(2 * kPairs);
    random.gaussians(values);
    double sum[2] = {}, squares[2] = {}, product = 0, product_of_squares = 0;
    int beyond[2] = {};
    for (int i = 0; i < kPairs; ++i) {
      // Blocks of 256 pairs hold all the first ones, then all the second ones; the last block is
      // shorter.
      const auto at = static_cast<std::size_t>(i), block = at / 256;
      const std::size_t first = block * 512 + at % 256, size = std::min<std::size_t>(256, kPairs - block * 256);
      const double pair[2] = {values[first], values[first + size]};
      for (std::size_t k = 0; k < 2; ++k) {
        sum[k] += pair[k];
        squares[k] += pair[k] * pair[k];
        beyond[k] += std::abs(pair[k]) > 1.959964 ? 1 : 0;
      }
      product += pair[0] * pair[1];
      product_of_squares += pair[0] * pair[0] * pair[1] * pair[1];
    }
    const double error = 5 / std::sqrt(kPairs);  // five standard deviations of a mean of unit variance
    for (const int k : {0, 1}) {
      CHECK(std::abs(sum[k] / kPairs) < error);
      CHECK(std::abs(squares[k] / kPairs - 1) < error * std::sqrt(2));
      CHECK(std::abs(beyond[k] / double{kPairs} - 0.05) < error * 0.218);
    }
    CHECK(std::abs(product / kPairs) < error);
    CHECK(std::abs(product_of_squares / kPairs - 1) < error * std::sqrt(8));
  }

  TEST_CASE("uniform numbers below a bound are below it and reach both ends") {
    RandomSource random = RandomSource::from_seed(3, 0);
    for (const Wide bound : {static_cast<Wide>(1), static_cast<Wide>(7), static_cast<Wide>(5) << 64}) {
      Wide least = bound, most = 0;
      for (int i = 0; i < 4000; ++i) {
        const Wide x = random.below(bound);
        least = std::min(least, x);
        most = std::max(most, x);
      }
      CHECK(most < bound);
      CHECK(least <= bound / 100);
      CHECK(most >= bound - 1 - bound / 100);
    }
  }

  TEST_CASE("a release pays for its grid: sensitivity, sigma, and the curve at the smoothed sigma") {
    for (const double epsilon : {0.1, 1.0, 20.0})
      for (const std::size_t coordinates : {std::size_t{1}, std::size_t{10031}, std::size_t{1} << 24}) {
        const OutputNoise noise = plan_output_noise(1e-6 / 1.2, coordinates, epsilon, 1e-4);
        CHECK(noise.grid <= noise.sigma * 0x1p-20);
        CHECK(noise.sensitivity >= noise.distance + noise.grid * std::sqrt(static_cast<double>(coordinates)));
        const double smoothed = noise.grid * std::sqrt(static_cast<double>(noise.variance) - 9);
        CHECK(delta_of(noise.sensitivity, smoothed, epsilon) <= 1e-4);
        CHECK(noise.sigma <= 1.01 * sigma_of(noise.distance, epsilon, 1e-4));
      }
    CHECK_THROWS_AS(static_cast<void>(plan_output_noise(0, 1, 1, 1e-4)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(plan_output_noise(1e-290, 1, 1, 1e-4)), UsageError);
  }

  TEST_CASE("published weights lie on the grid at the stated distance, and a tenth of the noise is caught") {
    const Matrix centre = random_matrix(40, 50, 31, 3);
    const double tolerance = 6 * std::sqrt(2.0 / 2000);
    const OutputNoise noise = plan_output_noise(1e-3, 2000, 1, 1e-4);
    RandomSource random = RandomSource::from_system();
    Matrix weights = centre;
    const Matrix published = publish(weights, noise, random);
    CHECK(weights.isZero(0));  // the finished iterate is wiped
    CHECK(std::abs(noise_ratio(published, centre, noise.sigma) - 1) < tolerance);
    for (Eigen::Index i = 0; i < published.size(); ++i) {
      const double steps = published.data()[i] / noise.grid;
      CHECK(steps == std::nearbyint(steps));
    }
    OutputNoise weak = noise;
    weak.variance /= 100;
    weights = centre;
    CHECK(std::abs(noise_ratio(publish(weights, weak, random), centre, noise.sigma) - 1) > tolerance);
    weights = centre;
    CHECK((publish(weights, noise, random) - published).norm() > 0.1 * noise.sigma);  // fresh noise a release
    weights = Matrix::Constant(1, 1, 1e300);
    CHECK_THROWS_AS(static_cast<void>(publish(weights, noise, random)), UsageError);
  }

  TEST_CASE("releases in turn compose as Gaussians, and certificates say so") {
    const OutputNoise noise = plan_output_noise(1e-3, 100, 1, 1e-4);
    const double one = composed_epsilon(shift_of(noise), 1, 1e-4);
    CHECK(one >= 1 - 1e-6);
    CHECK(one <= 1 + 1e-6);
    const std::map<std::uint64_t, double> known{{2, 1.48}, {5, 2.51}, {10, 3.77}, {50, 10.1}};
    for (const auto& [releases, epsilon] : known)
      CHECK(composed_epsilon(shift_of(noise), releases, 1e-4) == doctest::Approx(epsilon).epsilon(5e-3));
    // Lemma 9: steps whose direction and length follow what was drawn before are told no better
    // than one Gaussian pair.
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    constexpr int kTrials = 200000;
    const double shift = 0.8, nu = shift * std::sqrt(3.0), threshold = 1.2;
    int from_p = 0, from_q = 0;
    for (int trial = 0; trial < kTrials; ++trial)
      for (const bool shifted : {false, true}) {
        double likelihood = 0, past = 0;
        for (int i = 0; i < 3; ++i) {
          const double step = past > 0 ? shift : -shift * 0.5;  // |step| <= shift, chosen by the past
          const double w = (shifted ? step : 0) + normal(random);
          likelihood += step * w - step * step / 2;
          past += w;
        }
        (shifted ? from_p : from_q) += likelihood > threshold ? 1 : 0;
      }
    const double p = from_p / double{kTrials}, q = from_q / double{kTrials};
    for (const double epsilon : {0.0, 0.5, 1.0}) CHECK(p - std::exp(epsilon) * q <= delta_of(nu, 1, epsilon) + 0.01);
    CHECK(p - std::exp(0.5) * q > 0.2 * delta_of(nu, 1, 0.5));  // and the test could fail
  }
}
