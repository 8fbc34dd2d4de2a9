// tests/algorithms/privacy/accounting/head_constants_test.cpp - constants of losses against
// gradients sampled on their domain.
#include "algorithms/privacy/accounting/head_constants.h"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "algorithms/learning/head.h"
#include "algorithms/numerics/matrix.h"
#include "storage/io/error.h"
#include "support/special_values.h"

using namespace unweave;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

using testing::kNaN;

/// Loss of weights (flattened), row and class.
using Loss = std::function<double(const VectorXd&, const VectorXd&, int)>;

VectorXd slow_gradient(const Loss& loss, const VectorXd& theta, const VectorXd& x, int label) {
  VectorXd gradient(theta.size());
  const double h = 1e-5;
  for (Eigen::Index i = 0; i < theta.size(); ++i) {
    VectorXd up = theta, down = theta;
    up[i] += h;
    down[i] -= h;
    gradient[i] = (loss(up, x, label) - loss(down, x, label)) / (2 * h);
  }
  return gradient;
}

double cross_entropy(const VectorXd& scores, int label) {
  const double most = scores.maxCoeff();
  return most + std::log((scores.array() - most).exp().sum()) - scores[label];
}

MatrixXd shaped(const VectorXd& theta, Eigen::Index from, Eigen::Index rows, Eigen::Index columns) {
  return Eigen::Map<const MatrixXd>(theta.data() + from, rows, columns);
}

struct Seen {
  double gradient = 0, smoothness = 0;
};

/// Largest values over random points, rows on the sphere of radius X, weights on spheres up to R,
/// neighbours near by.
Seen sample(const Loss& loss, const PublicConstants& given, Eigen::Index features, Eigen::Index weights) {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto direction = [&](Eigen::Index size) {
    const VectorXd v = VectorXd::NullaryExpr(size, [&] { return normal(random); });
    return VectorXd(v / v.norm());
  };
  Seen seen;
  for (int i = 0; i < 3000; ++i) {
    const VectorXd x = given.row_norm * direction(features);
    const VectorXd theta = given.radius * (i % 4 == 0 ? 1 : uniform(random)) * direction(weights);
    const int label = static_cast<int>(random() % given.classes);
    const VectorXd at = slow_gradient(loss, theta, x, label);
    seen.gradient = std::max(seen.gradient, at.norm());
    const VectorXd step = 0.01 * direction(weights);
    seen.smoothness = std::max(seen.smoothness, (slow_gradient(loss, theta + step, x, label) - at).norm() / 0.01);
  }
  return seen;
}

void check_covers(const LossConstants& bound, const Seen& seen, double slack) {
  CHECK(seen.gradient <= bound.gradient * (1 + 1e-6));
  CHECK(seen.smoothness <= bound.smoothness * (1 + 1e-2));
  CHECK(bound.gradient <= slack * seen.gradient);
  CHECK(bound.smoothness <= slack * seen.smoothness);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("constants of the heads: formulas at the sizes in use") {
    const PublicConstants given{.row_norm = std::sqrt(2.0), .radius = 5, .lambda = 0.1, .classes = 4};
    const LossConstants softmax = loss_constants(Head::kSoftmax, given),
                        squares = loss_constants(Head::kLeastSquares, given);  // Y = sqrt(C) = 2
    CHECK(softmax.smoothness == doctest::Approx(1.1));
    CHECK(softmax.data_gradient == doctest::Approx(2));
    CHECK(softmax.gradient == doctest::Approx(2.5));
    CHECK(softmax.loss_at_zero == doctest::Approx(std::log(4.0)));
    CHECK(squares.smoothness == doctest::Approx(2.1));
    CHECK(squares.data_gradient == doctest::Approx(10 + 2 * std::sqrt(2.0)));
    CHECK(squares.loss_at_zero == 2);
    CHECK(strongly_convex_second_moment(squares.smoothness, 0.1, squares.loss_at_zero).constant ==
          doctest::Approx(2.1 * 4));  // L Y^2
    PublicConstants one = given;
    one.classes = 1;
    const LossConstants logistic = loss_constants(Head::kLogistic, one);
    CHECK(logistic.smoothness == doctest::Approx(0.6));
    CHECK(logistic.data_gradient == doctest::Approx(std::sqrt(2.0)));
    CHECK(logistic.loss_at_zero == doctest::Approx(std::log(2.0)));
    CHECK(loss_constants(Head::kLogistic, given).data_gradient == doctest::Approx(2 * std::sqrt(2.0)));
    const LossConstants network = network_constants({.row_norm = std::sqrt(2.0), .radius = 1.5, .classes = 2},
                                                    std::vector<std::size_t>{4}, smelu_bounds(0.5), false);
    CHECK(network.gradient == doctest::Approx(4.7166005071).epsilon(1e-10));
    CHECK(network.smoothness == doctest::Approx(10.5983763769).epsilon(1e-10));
  }

  TEST_CASE("constants of linear heads cover sampled gradients, and are not far above them") {
    const Eigen::Index features = 2;
    const PublicConstants given{.row_norm = 1.3, .radius = 2, .lambda = 0.2, .classes = 3};
    const Eigen::Index weights = features * 3;
    const auto scores = [](const VectorXd& theta, const VectorXd& x) -> VectorXd {
      return shaped(theta, 0, 3, x.size()) * x;
    };
    const auto ridge = [](const VectorXd& theta) { return 0.1 * theta.squaredNorm(); };
    const Loss softmax = [&](const VectorXd& theta, const VectorXd& x, int label) {
      return cross_entropy(scores(theta, x), label) + ridge(theta);
    };
    const Loss logistic = [&](const VectorXd& theta, const VectorXd& x, int label) {
      const VectorXd m = scores(theta, x);
      double sum = ridge(theta);
      for (int c = 0; c < 3; ++c) sum += std::log1p(std::exp(c == label ? -m[c] : m[c]));
      return sum;
    };
    const Loss squares = [&](const VectorXd& theta, const VectorXd& x, int label) {
      VectorXd m = scores(theta, x);
      for (int c = 0; c < 3; ++c) m[c] -= c == label ? 1 : -1;
      return m.squaredNorm() / 2 + ridge(theta);
    };
    check_covers(loss_constants(Head::kSoftmax, given), sample(softmax, given, features, weights), 2.5);
    check_covers(loss_constants(Head::kLogistic, given), sample(logistic, given, features, weights), 2.5);
    check_covers(loss_constants(Head::kLeastSquares, given), sample(squares, given, features, weights), 2.5);
    const VectorXd zero = VectorXd::Zero(weights), x = VectorXd::Constant(features, 0.9);
    CHECK(softmax(zero, x, 1) == doctest::Approx(loss_constants(Head::kSoftmax, given).loss_at_zero));
    CHECK(logistic(zero, x, 1) == doctest::Approx(loss_constants(Head::kLogistic, given).loss_at_zero));
    CHECK(squares(zero, x, 1) == doctest::Approx(loss_constants(Head::kLeastSquares, given).loss_at_zero));
  }

  TEST_CASE("constants of every head of the registry cover its gradients") {
    const Eigen::Index features = 2;
    const PublicConstants given{.row_norm = 1.3, .radius = 2, .lambda = 0.2, .classes = 3};
    for (const Head head : kHeads) {
      CAPTURE(name_of(head));
      const Loss loss = [&](const VectorXd& theta, const VectorXd& x, int label) {
        const VectorXd margins = shaped(theta, 0, 3, x.size()) * x;
        return row_loss(head, margins.data(), 3, static_cast<std::size_t>(label)) + 0.1 * theta.squaredNorm();
      };
      check_covers(loss_constants(head, given), sample(loss, given, features, 3 * features), 2.5);
      const VectorXd zero = VectorXd::Zero(3 * features), x = VectorXd::Constant(features, 0.9);
      CHECK(loss(zero, x, 1) == doctest::Approx(loss_constants(head, given).loss_at_zero));
      PublicConstants few = given;
      few.classes = entry_of(head).least_classes - 1;
      CHECK_THROWS_AS(static_cast<void>(loss_constants(head, few)), UsageError);
    }
  }

  TEST_CASE("constants of small networks cover sampled gradients") {
    const Eigen::Index features = 2;
    const double beta = 0.5, bias = 1;
    const auto smelu = [&](double u) { return u <= -beta ? 0 : u >= beta ? u : (u + beta) * (u + beta) / (4 * beta); };
    const auto tanh = [](double u) { return std::tanh(u); };
    struct Case {
      std::vector<std::size_t> hidden;
      bool is_tanh, filtered;
      double slack;
    };
    for (const Case& one :
         {Case{{3}, false, false, 20}, Case{{3}, true, false, 20}, Case{{3, 2}, false, false, 400},
          Case{{3, 2}, true, false, 60}, Case{{2, 2, 2}, true, false, 500}, Case{{3}, true, true, 80}}) {
      CAPTURE(one.hidden.size());
      CAPTURE(one.is_tanh);
      CAPTURE(one.filtered);
      const PublicConstants given{.row_norm = 1.2, .radius = 2.5, .lambda = 0.1, .classes = 2};
      // Rows have no bias of their own unless filtered, as in the bound.
      Eigen::Index weights = one.filtered ? features : 0, inputs = one.filtered ? 2 : features;
      const Eigen::Index first = weights;
      for (const std::size_t width : one.hidden) {
        weights += static_cast<Eigen::Index>(width) * inputs;
        inputs = static_cast<Eigen::Index>(width) + 1;
      }
      weights += 2 * inputs;
      const Loss network = [&](const VectorXd& theta, const VectorXd& x, int label) {
        VectorXd units = x;
        if (one.filtered) {  // two blocks of one feature
          units.resize(2);
          units << theta.head(2).dot(x), bias;
        }
        Eigen::Index from = first;
        for (const std::size_t width : one.hidden) {
          const auto count = static_cast<Eigen::Index>(width);
          const VectorXd before = shaped(theta, from, count, units.size()) * units;
          from += count * units.size();
          units.resize(count + 1);
          for (Eigen::Index h = 0; h < count; ++h) units[h] = one.is_tanh ? tanh(before[h]) : smelu(before[h]);
          units[count] = bias;
        }
        return cross_entropy(shaped(theta, from, 2, units.size()) * units, label) + 0.05 * theta.squaredNorm();
      };
      const LossConstants bound =
          network_constants(given, one.hidden, one.is_tanh ? tanh_bounds() : smelu_bounds(beta), one.filtered);
      check_covers(bound, sample(network, given, features, weights), one.slack);
      CHECK(network(VectorXd::Zero(weights), VectorXd::Ones(features), 0) == doctest::Approx(bound.loss_at_zero));
    }
  }

  TEST_CASE("second moments: B and C hold on quadratics with equality, and half of C does not") {
    // (theta - a)^2 / 2 with a = +-1: L = mu = 1, every loss is at most 1/2 at 0.
    const SecondMoment moment = strongly_convex_second_moment(1, 1, 0.5);
    const auto second = [](double theta) { return ((theta - 1) * (theta - 1) + (theta + 1) * (theta + 1)) / 2; };
    for (double theta = -5; theta <= 5; theta += 0.25)
      CHECK(second(theta) == doctest::Approx(moment.relative * theta * theta + moment.constant));
    CHECK(second(0) > moment.constant / 2);
    CHECK(strongly_convex_second_moment(0.35, 0.1, std::log(2.0)).relative == doctest::Approx(3.5));
    CHECK(strongly_convex_second_moment(0.35, 0.1, std::log(2.0)).constant == doctest::Approx(0.7 * std::log(2.0)));
  }

  TEST_CASE("constants out of range are refused") {
    for (const double bad : {-1.0, kNaN, std::numeric_limits<double>::infinity()}) {
      CHECK_THROWS_AS(static_cast<void>(loss_constants(Head::kLogistic, {.row_norm = bad})), UsageError);
      CHECK_THROWS_AS(static_cast<void>(loss_constants(Head::kLogistic, {.radius = bad})), UsageError);
      CHECK_THROWS_AS(static_cast<void>(loss_constants(Head::kLogistic, {.lambda = bad})), UsageError);
      CHECK_THROWS_AS(static_cast<void>(smelu_bounds(bad)), UsageError);
      CHECK_THROWS_AS(static_cast<void>(strongly_convex_second_moment(1, 0.5, bad)), UsageError);
    }
    CHECK_THROWS_AS(static_cast<void>(loss_constants(Head::kLogistic, {.row_norm = 0})), UsageError);
    CHECK_THROWS_AS(static_cast<void>(loss_constants(Head::kLogistic, {.classes = 0})), UsageError);
    CHECK_THROWS_AS(static_cast<void>(loss_constants(Head::kSoftmax, {.classes = 1})), UsageError);
    for (const std::vector<std::size_t>& hidden : {std::vector<std::size_t>{}, std::vector<std::size_t>{4, 0}})
      CHECK_THROWS_AS(static_cast<void>(network_constants({.classes = 2}, hidden, tanh_bounds(), false)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(strongly_convex_second_moment(1, 0, 1)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(strongly_convex_second_moment(1, 1.1, 1)), UsageError);
  }
}
