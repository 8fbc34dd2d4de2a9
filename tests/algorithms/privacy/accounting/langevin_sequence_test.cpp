// tests/algorithms/privacy/accounting/langevin_sequence_test.cpp - sequences of requests: published
// sums, and coupled chains.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "algorithms/privacy/accounting/langevin.h"
#include "support/noisy_sgd_runs.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

struct Sequence {
  std::vector<std::uint64_t> epochs;
  std::vector<double> distances;

  [[nodiscard]] std::uint64_t total() const { return std::accumulate(epochs.begin(), epochs.end(), std::uint64_t{0}); }
};

/// Fewest epochs of every request of a sequence, the first by another form of the decay.
Sequence sequence(const NoisySgd& sgd, double own, std::size_t requests, double sigma, double epsilon, Decay first,
                  Decay rest, NoiseVariance variance = NoiseVariance::kPrinted) {
  Sequence out;
  double distance = own;
  for (std::size_t s = 0; s < requests; ++s) {
    const LangevinAccountant bound = converged(sgd, s == 0 ? first : rest, variance);
    out.distances.push_back(distance);
    out.epochs.push_back(bound.fewest_epochs(distance, sigma, epsilon));
    distance = following_distance(sgd, distance, out.epochs.back(), own);
  }
  return out;
}

using Point = std::array<double, 3>;

double norm(const Point& x) {
  return std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

double distance_of(const Point& x, const Point& y) {
  return norm({x[0] - y[0], x[1] - y[1], x[2] - y[2]});
}

struct PrintedRows {
  std::vector<Point> x;
  std::vector<double> y;
};

constexpr std::uint64_t kBatch = 4, kBatches = 6;

NoisySgd small_run(double radius) {
  NoisySgdConstants c;
  c.rows = kBatch * kBatches;
  c.batch_rows = kBatch;
  c.strong_convexity = 0.02;
  c.smoothness = 0.27;
  c.step_size = 1 / 0.27;
  c.gradient_bound = 1;
  c.radius = radius;
  return NoisySgd(c);
}

/// One epoch of logistic regression by projected noisy SGD; `noise` holds a standard normal point
/// an iteration.
void run_epoch(Point& w, const PrintedRows& rows, const NoisySgd& sgd, double sigma, const Point* noise) {
  const NoisySgdConstants& c = sgd.constants();
  for (std::uint64_t j = 0; j < kBatches; ++j) {
    Point gradient{};
    for (std::uint64_t i = j * kBatch; i < (j + 1) * kBatch; ++i) {
      const double margin = w[0] * rows.x[i][0] + w[1] * rows.x[i][1] + w[2] * rows.x[i][2];
      const double slope = -rows.y[i] / (1 + std::exp(rows.y[i] * margin));
      for (std::size_t f = 0; f < 3; ++f) gradient[f] += slope * rows.x[i][f] / static_cast<double>(kBatch);
    }
    for (std::size_t f = 0; f < 3; ++f)
      w[f] +=
          -c.step_size * (gradient[f] + c.strong_convexity * w[f]) + std::sqrt(2 * c.step_size) * sigma * noise[j][f];
    const double shrink = std::min(1.0, c.radius / norm(w));
    for (double& entry : w) entry *= shrink;
  }
}

PrintedRows random_rows(std::mt19937& random) {
  std::normal_distribution<double> normal;
  PrintedRows rows;
  for (std::uint64_t i = 0; i < kBatch * kBatches; ++i) {
    Point x{normal(random), normal(random), normal(random)};
    const double length = norm(x);
    for (double& entry : x) entry /= length;
    rows.x.push_back(x);
    rows.y.push_back(x[0] + 0.3 * normal(random) > 0 ? 1 : -1);
  }
  return rows;
}

/// The Z that a bound took, from its divergence.
double distance_taken(const LangevinAccountant& loose, const NoisySgd& sgd, double distance, std::uint64_t epochs) {
  const double mu = std::sqrt(loose.renyi(2, distance, epochs, 1));
  const double kept = std::pow(1 - sgd.constants().step_size * sgd.constants().strong_convexity,
                               static_cast<double>(epochs * kBatches));
  return mu * std::sqrt(2 * sgd.constants().step_size) / kept;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("100 requests at epsilon 0.01: all 48 published sums of epochs") {
    const std::array<double, 6> sigmas{0.01, 0.05, 0.1, 0.2, 0.5, 1};
    struct Row {
      std::uint64_t rows, batch;
      std::array<std::uint64_t, 6> sums;
    };
    for (const Row& row :
         {Row{kMnistRows, 0, {10528, 7026, 5525, 4171, 2614, 1771}},
          Row{kMnistRows, 512, {601, 401, 302, 301, 201, 125}}, Row{kMnistRows, 128, {200, 200, 101, 101, 100, 100}},
          Row{kMnistRows, 32, {100, 100, 100, 100, 100, 100}},
          Row{kCifarRows, 0, {12734, 8632, 6930, 5327, 3420, 2310}},
          Row{kCifarRows, 512, {801, 502, 451, 401, 251, 201}}, Row{kCifarRows, 128, {300, 200, 200, 200, 101, 100}},
          Row{kCifarRows, 32, {100, 100, 100, 100, 100, 100}}}) {
      const NoisySgd sgd = published_run(row.rows, row.batch);
      for (std::size_t i = 0; i < sigmas.size(); ++i)
        CHECK(sequence(sgd, worst_distance(sgd), 100, sigmas[i], 0.01, Decay::kLoose, Decay::kSharp).total() ==
              row.sums[i]);
    }
  }

  TEST_CASE("100 requests at epsilon 1: all 10 published sums, whose row may be drawn at every iteration") {
    const std::array<std::uint64_t, 5> batches{0, 512, 256, 128, 32};
    const std::map<std::uint64_t, std::array<std::uint64_t, 5>> sums{{kMnistRows, {886, 300, 200, 100, 100}},
                                                                     {kCifarRows, {1183, 350, 200, 200, 100}}};
    for (const auto& [rows, published] : sums)
      for (std::size_t i = 0; i < batches.size(); ++i) {
        const NoisySgd sgd = published_run(rows, batches[i]);
        const double own = stationary_distance(sgd, every_iteration_shift(sgd, sgd.replaced_row_weight()));
        CHECK(sequence(sgd, own, 100, 0.03, 1, Decay::kSharp, Decay::kSharp).total() == published[i]);
      }
  }

  TEST_CASE("100 requests at epsilon 1 with the distances of a fixed order, by every form of the bound") {
    struct Row {
      std::uint64_t rows, batch, loose, sharp, actual;
    };
    for (const Row& row : {Row{kMnistRows, 0, 1786, 886, 687}, Row{kMnistRows, 512, 149, 100, 100},
                           Row{kMnistRows, 128, 100, 100, 100}, Row{kCifarRows, 0, 2487, 1183, 933},
                           Row{kCifarRows, 512, 200, 100, 100}, Row{kCifarRows, 128, 100, 100, 100}}) {
      const NoisySgd sgd = published_run(row.rows, row.batch);
      const double own = worst_distance(sgd);
      CHECK(sequence(sgd, own, 100, 0.03, 1, Decay::kLoose, Decay::kLoose).total() == row.loose);
      CHECK(sequence(sgd, own, 100, 0.03, 1, Decay::kSharp, Decay::kSharp).total() == row.sharp);
      CHECK(sequence(sgd, own, 100, 0.03, 1, Decay::kSharp, Decay::kSharp, NoiseVariance::kActual).total() ==
            row.actual);
    }
  }

  TEST_CASE("the first requests one by one, and the distance of the sixth") {
    using List = std::vector<std::uint64_t>;
    const NoisySgd full = published_run(kMnistRows, 0), part = published_run(kMnistRows, 512);
    const auto six = [](const NoisySgd& sgd, Decay decay) {
      return sequence(sgd, worst_distance(sgd), 6, 0.03, 1, decay, decay);
    };
    CHECK(six(full, Decay::kLoose).epochs == List{4, 18, 18, 18, 18, 18});
    CHECK(six(full, Decay::kSharp).epochs == List{2, 5, 7, 8, 9, 9});
    CHECK(six(part, Decay::kLoose).epochs == List{1, 1, 2, 1, 2, 1});
    CHECK(six(part, Decay::kSharp).epochs == List{1, 1, 1, 1, 1, 1});
    CHECK(six(full, Decay::kLoose).distances.back() == doctest::Approx(0.02879224833).epsilon(1e-9));
    CHECK(six(full, Decay::kSharp).distances.back() == doctest::Approx(0.04770329627).epsilon(1e-9));
  }

  TEST_CASE("one joint request of S rows: published epochs") {
    const std::array<std::uint64_t, 4> batches{32, 128, 512, 0};
    const std::map<std::uint64_t, std::array<std::uint64_t, 4>> epochs{
        {1, {1, 1, 1, 4}}, {10, {1, 1, 3, 57}}, {100, {1, 2, 6, 109}}, {1000, {1, 3, 8, 161}}};
    for (const auto& [rows, expected] : epochs)
      for (std::size_t i = 0; i < batches.size(); ++i) {
        const NoisySgd sgd = published_run(kMnistRows, batches[i]);
        CHECK(converged(sgd, Decay::kLoose).fewest_epochs(worst_distance(sgd, rows), 0.03, 1) == expected[i]);
      }
  }

  TEST_CASE("coupled chains of logistic regression stay within the aligned distance at every request of a sequence") {
    std::mt19937 random(11);
    std::normal_distribution<double> normal;
    double nearest = 0;
    for (const double radius : {0.4, 30.0}) {  // the small ball projects often
      const NoisySgd sgd = small_run(radius);
      for (const std::uint64_t learning_epochs : {1U, 2U, 5U, 12U}) {
        const LangevinAccountant loose(sgd, {BurnIn::kAligned, learning_epochs, Decay::kLoose, NoiseVariance::kActual},
                                       1e-4);
        for (int trial = 0; trial < 10; ++trial) {
          PrintedRows rows = random_rows(random);
          const double sigma = trial % 2 == 0 ? 1e-3 : 0.1;
          std::vector<Point> noise(60 * kBatches);
          for (Point& point : noise) point = {normal(random), normal(random), normal(random)};
          Point start{normal(random), normal(random), normal(random)};
          const double shrink = radius / norm(start);
          for (double& entry : start) entry *= shrink;

          Point chain = start;
          std::uint64_t run = 0, unlearning = 0;  // epochs of the chain, and those of requests among them
          for (; run < learning_epochs; ++run) run_epoch(chain, rows, sgd, sigma, &noise[run * kBatches]);
          double carried = 0;
          for (std::uint64_t request = 0; request < 3; ++request) {
            const std::uint64_t epochs = std::min<std::uint64_t>(1 + random() % 3, learning_epochs);
            const std::uint64_t row = random() % (kBatch * kBatches);
            const bool zeroed = request == 1;
            for (double& entry : rows.x[row]) entry *= zeroed ? 0 : -1;
            const ChangedBatch change{row / kBatch, zeroed ? sgd.zeroed_row_weight() : sgd.replaced_row_weight()};
            const double own = stationary_distance(sgd, placed_shift(sgd, {&change, 1}));
            carried = request == 0 ? own : carried + own;
            unlearning += epochs;
            Point retrained = start;
            for (std::uint64_t t = 0; t < learning_epochs - epochs; ++t)
              run_epoch(retrained, rows, sgd, sigma, &noise[(t + unlearning) * kBatches]);
            const double allowed = distance_taken(loose, sgd, carried, epochs);
            const double reached = distance_of(chain, retrained);
            CHECK(reached <= allowed * (1 + 1e-9));
            nearest = std::max(nearest, reached / allowed);
            for (std::uint64_t t = 0; t < epochs; ++t, ++run)
              run_epoch(chain, rows, sgd, sigma, &noise[run * kBatches]);
            carried = following_distance(sgd, carried, epochs, 0);
          }
        }
      }
    }
    CHECK(nearest > 0.5);
  }

  TEST_CASE("the start of a retraining is charged at every request, not once in a sequence") {
    // Nothing changes and there is no noise: both chains run x <- c x from the border of the ball.
    // The second request finds the run at R c^{(T + K_1) N}, its retraining at R c^{(T - K_2) N}.
    const NoisySgd sgd = small_run(1);
    const std::uint64_t learning_epochs = 6;
    const LangevinAccountant loose(sgd, {BurnIn::kAligned, learning_epochs, Decay::kLoose, NoiseVariance::kActual},
                                   1e-4);
    const double c = 1 - sgd.constants().step_size * sgd.constants().strong_convexity;
    const auto after = [&](std::uint64_t epochs) { return std::pow(c, static_cast<double>(epochs * kBatches)); };
    for (std::uint64_t first = 1; first <= 6; ++first)
      for (std::uint64_t second = 1; second <= 6; ++second) {
        const double apart = after(learning_epochs - second) - after(learning_epochs + first);
        CHECK(apart <= distance_taken(loose, sgd, following_distance(sgd, 0, first, 0), second));
      }
  }
}
