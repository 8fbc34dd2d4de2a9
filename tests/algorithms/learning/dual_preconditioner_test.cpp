// tests/algorithms/learning/dual_preconditioner_test.cpp - inverse Hessians by systems of rows, and
// what factors of either kind save.
#include "algorithms/learning/dual_preconditioner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "algorithms/learning/kept_preconditioner.h"
#include "algorithms/learning/newton.h"
#include "algorithms/learning/whole_preconditioner.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr std::size_t kRoom = std::size_t{64} << 20;

Objective dual_objective(const TrainingSet& set, Head head, double mu) {
  return {set.rows(), set.classes(), head, mu, nullptr};
}

/// Rows of which each direction is 0.8 times as strong as the one before, turned at random, so that
/// no scaling of columns helps.
TrainingSet narrowing_rows(std::size_t rows, std::size_t features) {
  const std::size_t directions = std::min<std::size_t>(features, 40);
  Matrix values = random_matrix(rows, directions, 21);
  for (Eigen::Index d = 0; d < values.cols(); ++d) values.col(d) *= std::pow(0.8, static_cast<double>(d));
  const Matrix turned = values * random_matrix(directions, features, 22);
  const double longest = turned.rowwise().norm().maxCoeff();
  TrainingSet set(features, 3, RowForm(1, false));
  std::vector<float> row(features);
  for (Eigen::Index i = 0; i < turned.rows(); ++i) {
    for (std::size_t f = 0; f < features; ++f) row[f] = static_cast<float>(turned(i, index_of(f)) / longest);
    set.append(static_cast<NodeId>(i), row, static_cast<ClassId>((7 * i) % 3));
  }
  return set;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a dual preconditioner is the inverse Hessian of each class, also of some classes") {
    const TrainingSet set = random_rows(170, 300, 4, 11);  // more rows than a panel has
    for (const Head head : {Head::kLogistic, Head::kLeastSquares})
      for (const double mu : {1.0, 1e-6}) {
        CAPTURE(name_of(head));
        CAPTURE(mu);
        const Objective objective = dual_objective(set, head, mu);
        const Matrix weights = random_matrix(300, 4, 3, 3), right = random_matrix(300, 4, 4);
        const auto inverse = make_dual_preconditioner(objective, weights);
        const Matrix found = inverse->apply(right, std::vector<std::size_t>{0, 1, 2, 3});
        CHECK((curvature_action(objective, weights, found).product - right).norm() <= 1e-6 * right.norm());
        const Matrix last = inverse->apply(right.rightCols(1), std::vector<std::size_t>{3});
        CHECK((last - found.rightCols(1)).norm() <= 1e-9 * last.norm());
      }
  }

  TEST_CASE("a dual preconditioner is for few rows and classes that nothing couples, and no session keeps it") {
    const TrainingSet set = random_rows(20, 30, 3, 12);
    CHECK(dual_preconditioner_bytes(dual_objective(set, Head::kLogistic, 1)) > 0);
    CHECK(dual_preconditioner_bytes(dual_objective(set, Head::kSoftmax, 1)) == 0);
    Objective many = dual_objective(set, Head::kLogistic, 1);
    many.rows.count = 10'000;
    CHECK(dual_preconditioner_bytes(many) == 0);

    const Objective objective = dual_objective(set, Head::kLogistic, 1);
    KeptPreconditioner kept;
    CHECK(kept.take(objective) == nullptr);
    kept.keep(make_dual_preconditioner(objective, Matrix::Zero(30, 3)), objective, 1);
    CHECK(kept.take(objective) == nullptr);
  }

  TEST_CASE("factors save nine of ten readings where mu is small, of few rows and of few features") {
    for (const std::size_t rows : {100, 900}) {
      const std::size_t features = rows == 100 ? 400 : 60;
      const TrainingSet set = narrowing_rows(rows, features);
      CAPTURE(rows);
      const Objective objective = dual_objective(set, Head::kLogistic, 1e-5);
      const Matrix start = Matrix::Zero(index_of(features), 3);
      NewtonOptions options;
      options.tolerance = 1e-9;
      options.best_effort = true;
      const NewtonResult plain = minimise(objective, start, options);
      options.memory = kRoom;
      options.any_way = true;
      const NewtonResult factors = minimise(objective, start, options);
      CHECK(factors.residual <= 2 * plain.residual);
      CHECK(10 * factors.products < plain.products);
      CHECK((factors.weights - plain.weights).norm() <= 1e-2 * plain.weights.norm());
    }
  }
}
