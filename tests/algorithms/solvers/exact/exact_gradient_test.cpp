// tests/algorithms/solvers/exact/exact_gradient_test.cpp - the exact gradient and what follows from
// it, against 80 digits.
#include "algorithms/solvers/exact/exact_gradient.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "algorithms/learning/newton.h"
#include "support/exact_reference.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

/// Rows of norm up to 1 whose entries reach over e^(+-3 spread).
TrainingSet spread_rows_of(std::size_t count, std::size_t features, std::size_t classes, double spread) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  TrainingSet set(features, classes, RowForm(1));
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<float> row(features);
    for (float& x : row) x = static_cast<float>(0.2 * normal(random) * std::exp(spread * normal(random)));
    set.append(static_cast<NodeId>(i), row, static_cast<ClassId>(random() % classes));
  }
  return set;
}

/// The largest |found - truth|_s / bound_s.
double largest_share(const Matrix& found, const DecimalColumns& truth, const Vector& bound) {
  const std::vector<Decimal> off = column_distances(as_decimals(found), truth, bound.size() == 1);
  double worst = 0;
  for (std::size_t s = 0; s < off.size(); ++s)
    worst = std::max(worst, static_cast<double>(off[s]) / bound[index_of(s)]);
  return worst;
}

DecimalColumns sum_of(const Matrix& a, const Matrix& b) {
  DecimalColumns out = as_decimals(a);
  for (std::size_t c = 0; c < out.size(); ++c)
    for (std::size_t j = 0; j < out[c].size(); ++j) out[c][j] += Decimal(b(index_of(j), index_of(c)));
  return out;
}

Matrix near_minimiser(const Objective& objective) {
  NewtonOptions options;
  options.best_effort = true;
  options.tolerance = 1e-9;
  return minimise(objective, Matrix::Zero(index_of(objective.rows.features), index_of(objective.classes)), options)
      .weights;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the exact gradient stands within its bound") {
    for (const Head head : exact_heads())
      for (const double spread : {0.0, 1.0, 6.0}) {  // at 6 entries lie below both slices
        CAPTURE(name_of(head));
        CAPTURE(spread);
        const TrainingSet rows = spread_rows_of(90, 30, 3, spread);
        const Objective objective = testing::objective_of(rows, 1e-3, head);
        const Matrix near = near_minimiser(objective), far = (30 * near).array() + 1;
        for (const auto& [weights, levels] : {std::pair{near, 2}, {near, 3}, {far, 2}}) {
          const ExactGradient found = exact_gradient(objective, weights, levels);
          CHECK((found.point - weights).cwiseAbs().maxCoeff() <=
                std::ldexp(weights.cwiseAbs().maxCoeff(), -20 * levels));
          const DecimalColumns truth = decimal_gradient(objective, as_decimals(found.point));
          CHECK(largest_share(found.value, truth, found.error) <= 1);
          // The bound tells this gradient from one in float64.
          const Gradient rounded = gradient_with_error(objective, found.point);
          if (levels == 3) CHECK(largest_share(rounded.value, truth, found.error) > 100);
        }
      }
  }

  TEST_CASE("the exact gradient stands within its bound where most of a row lies below both slices") {
    // Least squares at the minimiser leaves slopes small, and what lies below their slices is most
    // of the bound.
    for (const Head head : exact_heads())
      for (const std::size_t count : {1, 4, 8}) {
        CAPTURE(name_of(head));
        CAPTURE(count);
        std::mt19937 random(7);
        std::uniform_real_distribution<float> uniform(-1e-8F, 1e-8F);
        TrainingSet rows(65, 2, RowForm(1, true));
        for (std::size_t i = 0; i < count; ++i) {
          std::vector<float> row(65);
          for (float& x : row) x = uniform(random);
          rows.append(static_cast<NodeId>(i), row, static_cast<ClassId>(i % 2));
        }
        for (const double lambda : {1e-4, 1e-2}) {
          const Objective objective = testing::objective_of(rows, lambda, head);
          const ExactGradient found = exact_gradient(objective, near_minimiser(objective), 2);
          CHECK(largest_share(found.value, decimal_gradient(objective, as_decimals(found.point)), found.error) <= 1);
        }
      }
  }

  TEST_CASE("the first-order residual stands within its bound, and the ball holds the minimiser") {
    for (const Head head : exact_heads())
      for (std::uint64_t seed = 10; seed < 13; ++seed) {
        CAPTURE(name_of(head));
        const double lambda = std::pow(10.0, -static_cast<double>(seed - 8));
        const TrainingSet rows = tiny_rows(seed);
        const Objective objective = testing::objective_of(rows, lambda, head);
        const Matrix best = near_minimiser(objective);
        const ExactGradient gradient = exact_gradient(objective, best, 2);
        const DecimalColumns minimiser = decimal_minimiser(objective, best);
        for (const double length : {0.0, 1e-9, 1e-6, 1e-3}) {
          const Matrix step = random_matrix(8, 3, static_cast<unsigned>(seed), length);
          const FirstOrder found = first_order(objective, gradient, step);
          const DecimalColumns there = sum_of(gradient.point, step);
          CHECK(largest_share(found.residual, decimal_gradient(objective, there), found.error) <= 1);
          const Vector radius = 1.01 * (found.norm + found.error) / objective.mu;
          const std::vector<Decimal> off = column_distances(there, minimiser, radius.size() == 1);
          for (std::size_t s = 0; s < off.size(); ++s) CHECK(off[s] <= Decimal(radius[index_of(s)]));
        }
      }
  }

  TEST_CASE("lanes, blocks and runs of features: a gradient of many rows is that of 80 digits") {
    const TrainingSet rows = spread_rows_of(700, 600, 2, 1);
    for (const Head head : exact_heads()) {
      const Objective objective = testing::objective_of(rows, 1e-3, head);
      const ExactGradient found = exact_gradient(objective, random_matrix(600, 2, 3), 2);
      CHECK(largest_share(found.value, decimal_gradient(objective, as_decimals(found.point)), found.error) <= 1);
    }
  }

  TEST_CASE("the bound of the gradient's norm holds at any weights, and is tight") {
    for (const Head head : exact_heads())
      for (const std::uint64_t seed : {21, 22}) {
        CAPTURE(name_of(head));
        const TrainingSet rows = tiny_rows(seed);
        const Objective objective = testing::objective_of(rows, 1e-3, head);
        const Matrix near = near_minimiser(objective);
        Matrix mixed = random_matrix(8, 3, static_cast<unsigned>(seed));
        for (Eigen::Index k = 0; k < mixed.size(); ++k)
          mixed.data()[k] *= std::exp2(-5.0 * static_cast<double>(k));  // most lie below all slices in part or whole
        const Matrix single = near.cast<float>().cast<double>();
        for (const Matrix& weights : {near, single, mixed, Matrix(1e6 * mixed), Matrix(Matrix::Zero(8, 3))}) {
          Decimal squares = 0;
          for (const auto& column : decimal_gradient(objective, as_decimals(weights)))
            for (const Decimal& x : column) squares += x * x;
          const Decimal norm = sqrt(squares), bound = gradient_norm_bound(objective, weights);
          CHECK(bound >= norm);
          CHECK(bound <= Decimal(1.03) * norm + Decimal(1e-16) * Decimal(1 + weights.norm()));
        }
      }
  }

  TEST_CASE("the bound of the gradient's norm holds where a weight lies below the slices of all of them") {
    // Two rows that share no feature, under least squares with mu = 1: the minimiser is (1/2,
    // 2^-65) for the first class and its negative for the other. Slices end at 2^-61, and take the
    // given second weight for 0, which is nearer to it.
    TrainingSet rows(2, 2, RowForm(std::numeric_limits<double>::infinity()));
    rows.append(0, std::vector<float>{1, 0}, 0);
    rows.append(1, std::vector<float>{0, 0x1p-65F}, 0);
    const Objective objective = testing::objective_of(rows, 0.5, Head::kLeastSquares);
    Matrix weights(2, 2);
    weights << 0.5, -0.5, 0.75 * 0x1p-62, -0.75 * 0x1p-62;
    const ExactGradient sliced = exact_gradient(objective, weights, 3);
    REQUIRE(sliced.point(1, 0) == 0);
    Decimal squares = 0;
    for (const auto& column : decimal_gradient(objective, as_decimals(weights)))
      for (const Decimal& x : column) squares += x * x;
    CHECK(Decimal(system_norms(objective.head, sliced.value).norm()) < sqrt(squares) / 2);
    CHECK(Decimal(gradient_norm_bound(objective, weights)) >= sqrt(squares));
  }

  TEST_CASE("without rows the gradient is mu W") {
    const TrainingSet none(4, 3, RowForm(1));
    const Objective objective = testing::objective_of(none, 1e-3, Head::kSoftmax);
    const ExactGradient found = exact_gradient(objective, Matrix::Ones(4, 3), 2);
    CHECK(found.value == Matrix(objective.mu * found.point));
  }
}
