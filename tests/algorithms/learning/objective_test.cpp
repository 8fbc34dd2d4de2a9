// tests/algorithms/learning/objective_test.cpp - derivatives against differences and dense algebra,
// and the float error bound.
#include "algorithms/learning/objective.h"

#include <doctest/doctest.h>

#include <numeric>

#include "engine/resources/parallel.h"
#include "support/learner_data.h"
#include "support/slow_slopes.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

struct Shape {
  std::size_t rows, features, classes, used;
};
constexpr Shape kShapes[] = {{0, 3, 2, 0}, {1, 1, 1, 0}, {7, 1, 3, 2}, {40, 5, 1, 0}, {300, 9, 4, 3}, {700, 33, 6, 0}};
// Those of slow_slopes.h.
constexpr Head kSlowHeads[] = {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax};
constexpr Head kEachClass[] = {Head::kLogistic, Head::kLeastSquares};

/// Gradient in extended precision, row by row.
std::vector<long double> slow_gradient(const Objective& objective, const Matrix& weights) {
  const Rows& rows = objective.rows;
  std::vector<long double> sum(size_of(weights.size())), margins(objective.classes);
  for (std::size_t i = 0; i < rows.count; ++i) {
    for (std::size_t c = 0; c < objective.classes; ++c) {
      margins[c] = 0;
      for (std::size_t f = 0; f < rows.features; ++f)
        margins[c] += static_cast<long double>(rows.values[i * rows.features + f]) *
                      static_cast<long double>(weights(index_of(f), index_of(c)));
    }
    const std::vector<long double> slopes = slow_slopes(objective.head, margins, rows.labels[i]);
    for (std::size_t c = 0; c < objective.classes; ++c)
      for (std::size_t f = 0; f < rows.features; ++f)
        sum[f * objective.classes + c] += slopes[c] * static_cast<long double>(rows.values[i * rows.features + f]);
  }
  for (std::size_t k = 0; k < sum.size(); ++k)
    sum[k] += static_cast<long double>(objective.mu) * static_cast<long double>(weights.data()[k]);
  return sum;
}

double distance_to(const Gradient& gradient, const std::vector<long double>& exact) {
  long double sum = 0;
  for (std::size_t k = 0; k < exact.size(); ++k) {
    const long double d = static_cast<long double>(gradient.value.data()[k]) - exact[k];
    sum += d * d;
  }
  return static_cast<double>(std::sqrt(sum));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the gradient is the derivative of the value") {
    for (const Head head : kHeads)
      for (const Shape& shape : kShapes) {
        const TrainingSet set = random_rows(shape.rows, shape.features, shape.classes, 3, shape.used);
        const Matrix linear = random_matrix(shape.features, shape.classes, 8, 0.3);
        Objective objective = objective_of(set, 1e-2, head);
        objective.linear = &linear;
        const Matrix weights = random_matrix(shape.features, shape.classes, 4);
        const Matrix towards = random_matrix(shape.features, shape.classes, 5);
        const double slope = gradient_with_error(objective, weights).value.cwiseProduct(towards).sum();
        const double h = 1e-5;
        const double difference =
            (objective_value(objective, weights + h * towards) - objective_value(objective, weights - h * towards)) /
            (2 * h);
        CHECK(slope == doctest::Approx(difference).epsilon(1e-6));
      }
  }

  TEST_CASE("the float error of the gradient stays under its bound, also with one very long sum") {
    for (const Head head : kSlowHeads)
      for (const double scale : {0.0, 1.0, 300.0})
        for (const Shape& shape : kShapes) {
          const TrainingSet set = random_rows(shape.rows, shape.features, shape.classes, 6, shape.used);
          const Objective objective = objective_of(set, 1e-3, head);
          const Matrix weights = random_matrix(shape.features, shape.classes, 7, scale);
          const Gradient gradient = gradient_with_error(objective, weights);
          const double error = distance_to(gradient, slow_gradient(objective, weights));
          CHECK(error <= gradient.error);
          CHECK(gradient.error <= 1e-9 * (1 + scale));
          CHECK(gradient.norm >= gradient.value.norm());
        }
    const TrainingSet many = random_rows(20000, 6, 2, 9);
    const Objective objective = objective_of(many, 1e-3);
    const Matrix weights = random_matrix(6, 2, 10, 3);
    const Gradient gradient = gradient_with_error(objective, weights);
    CHECK(distance_to(gradient, slow_gradient(objective, weights)) <= gradient.error);
    CHECK(gradient.error < 1e-8);
  }

  TEST_CASE("the float32 gradient is as near to the float64 one as it says, and both keep the same curvatures") {
    for (const Head head : kHeads)
      for (const Shape& shape : {Shape{0, 3, 2, 0}, {7, 1, 3, 2}, {700, 33, 6, 0}, {20000, 20, 5, 0}}) {
        const TrainingSet set = random_rows(shape.rows, shape.features, shape.classes, 16, shape.used);
        const Objective objective = objective_of(set, 1e-3, head);
        const Matrix weights = random_matrix(shape.features, shape.classes, 17);
        Curvatures rough_kept = curvatures_within(objective, std::size_t{1} << 20);
        Curvatures exact_kept = curvatures_within(objective, std::size_t{1} << 20);
        const Gradient rough = rough_gradient(objective, weights, &rough_kept);
        const Gradient exact = gradient_with_error(objective, weights, &exact_kept);
        CHECK((rough.value - exact.value).norm() <= 10 * rough.error);
        CHECK(rough.norm == doctest::Approx(exact.norm).epsilon(1e-4));
        REQUIRE(rough_kept.values != nullptr);
        for (std::size_t k = 0; k < shape.rows * shape.classes; ++k)
          if (std::abs(rough_kept.values[k] - exact_kept.values[k]) > 1) FAIL("curvature ", k);
      }
    CHECK(curvatures_within(objective_of(random_rows(10, 2, 3, 18), 1e-3), 59).values == nullptr);
    CHECK(curvatures_within(objective_of(random_rows(10, 2, 3, 18), 1e-3), 120).values != nullptr);
  }

  TEST_CASE("Hessian products, diagonal and curvature action equal the dense Hessian, cached or not") {
    for (const Head head : kEachClass)
      for (const Shape& shape : kShapes) {
        const TrainingSet set = random_rows(shape.rows, shape.features, shape.classes, 11, shape.used);
        const Objective objective = objective_of(set, 1e-2, head);
        const Matrix weights = random_matrix(shape.features, shape.classes, 12);
        const Matrix v = random_matrix(shape.features, shape.classes, 13);
        const CurvatureAction action = curvature_action(objective, weights, v);
        std::vector<std::size_t> all(shape.classes), last{shape.classes - 1};
        std::iota(all.begin(), all.end(), std::size_t{0});
        for (const bool kept : {false, true}) {
          Curvatures curvatures = curvatures_within(objective, std::size_t{1} << 20);
          CHECK(curvatures.values != nullptr);
          static_cast<void>(gradient_with_error(objective, weights, &curvatures));
          const HessianOperator hessian(objective, weights, kept ? &curvatures : nullptr);
          const double close = kept ? 0.004 : 1e-5;  // kept curvatures have 8 bits
          const Matrix product = hessian.apply(v, all), diagonal = hessian.diagonal();
          CHECK((hessian.apply(v.rightCols(1), last) - product.rightCols(1)).norm() <= 1e-5 * product.norm());
          for (Eigen::Index c = 0; c < v.cols(); ++c) {
            const Eigen::MatrixXd dense = dense_hessian(set, objective.mu, weights.col(c), head);
            const double size = 1e-30 + dense.norm() * v.col(c).norm();
            CHECK((product.col(c) - dense * v.col(c)).norm() <= close * size);
            CHECK((diagonal.col(c) - dense.diagonal()).norm() <= close * dense.norm());
            CHECK((action.product.col(c) - dense * v.col(c)).norm() <= 1e-12 * size);
            const Eigen::VectorXd image = dense_rows(set) * v.col(c);
            CHECK(action.image_norm[c] == doctest::Approx(image.norm()));
            CHECK(action.squared_image_norm[c] == doctest::Approx(image.cwiseAbs2().norm()));
          }
        }
      }
  }

  TEST_CASE("every pass gives the same bits for any number of threads") {
    const TrainingSet set = random_rows(9000, 20, 5, 14);
    const Matrix weights = random_matrix(20, 5, 15);
    const std::vector<std::size_t> all{0, 1, 2, 3, 4};
    for (const Head head : kHeads) {
      const Objective objective = objective_of(set, 1e-3, head);
      std::optional<Gradient> gradient;
      Matrix product;
      for (const std::size_t threads : {1U, 2U, 3U, 7U}) {
        const ThreadLimit limit(threads);
        const Gradient now = gradient_with_error(objective, weights);
        const Matrix applied = HessianOperator(objective, weights).apply(weights, all);
        if (!gradient) {
          gradient = now;
          product = applied;
        }
        CHECK(now.value == gradient->value);
        CHECK(now.error == gradient->error);
        CHECK(applied == product);
      }
    }
  }

  TEST_CASE("extreme margins give finite losses and slopes") {
    for (const double margin : {-1e308, -800.0, 0.0, 800.0, 1e308}) {
      const Pointwise at = logistic_at(margin, 1);
      CHECK(std::isfinite(logistic_loss(margin, 1)));
      CHECK(std::abs(at.slope) <= 1);
      CHECK(at.curvature >= 0);
      CHECK(at.curvature <= 0.25);
    }
  }
}
