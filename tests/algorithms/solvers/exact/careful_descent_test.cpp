// tests/algorithms/solvers/exact/careful_descent_test.cpp - float64 systems, whole factors, and the
// way to the minimiser where curvatures range over ten orders.
#include "algorithms/solvers/exact/careful_descent.h"

#include <doctest/doctest.h>

#include <numeric>

#include "algorithms/learning/whole_preconditioner.h"
#include "algorithms/solvers/exact/exact_gradient.h"
#include "support/exact_reference.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr std::size_t kAmple = std::size_t{64} << 20;

std::vector<std::size_t> every_class(std::size_t count) {
  std::vector<std::size_t> classes(count);
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  return classes;
}

/// Most rows are sure of their class at these weights.
Matrix sure_weights(const TrainingSet& rows) {
  return random_matrix(rows.features(), rows.classes(), 3, 40);
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a whole preconditioner is the inverse, also where rows are sure of their class") {
    const TrainingSet rows = random_rows(700, 6, 4, 11);
    for (const Head head : exact_heads())
      for (const double lambda : {1e-3, 1e-9}) {
        CAPTURE(name_of(head));
        CAPTURE(lambda);
        const Objective objective = testing::objective_of(rows, lambda, head);
        const Matrix weights = sure_weights(rows), right = random_matrix(6, 4, 4);
        const Matrix found = make_whole_preconditioner(objective, weights)->apply(right, every_class(4));
        const Matrix back = curvature_action(objective, weights, found).product;
        CHECK((back - right).norm() <= 1e-5 * right.norm());
      }
  }

  TEST_CASE("whole factors are taken up to 256 MiB, and where a small mu asks for them") {
    const TrainingSet rows = random_rows(50, 6, 4, 11);
    for (const Head head : exact_heads()) {
      CHECK(careful_bytes(testing::objective_of(rows, 1e-4, head)) == 0);
      const Objective small = testing::objective_of(rows, 1e-9, head);
      CHECK(careful_bytes(small) == whole_preconditioner_bytes(small));
      CHECK(careful_bytes(small) > 0);
      Objective wide = small;
      wide.rows.features = 6000;
      CHECK(whole_preconditioner_bytes(wide) == 0);
    }
  }

  TEST_CASE("careful descent comes next to the minimiser, with whole factors and without") {
    const TrainingSet rows = random_rows(200, 5, 3, 12);
    for (const Head head : exact_heads())
      for (const std::size_t memory : {kAmple, std::size_t{0}}) {
        CAPTURE(name_of(head));
        CAPTURE(memory);
        const Objective objective = testing::objective_of(rows, 1e-11, head);
        const NewtonResult found = descend_carefully(objective, memory);
        const ExactGradient gradient = exact_gradient(objective, found.weights, 3);
        // A hundredth of the grid of 2^-24, by strong convexity; float64 gradients leave more on
        // other rows.
        CHECK((system_norms(head, gradient.value) + gradient.error).maxCoeff() <= 1e-2 * objective.mu);
        CHECK(found.steps < 150);
      }
  }

  TEST_CASE("with the sizes of columns bounds hold, and small features with large weights cost nothing") {
    TrainingSet rows(4, 3, RowForm(1));
    const TrainingSet plain = random_rows(60, 4, 3, 13);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      std::vector<float> row(plain.row(i).begin(), plain.row(i).end());
      row[1] *= 1e-4F;
      rows.append(static_cast<NodeId>(i), row, plain.labels()[i]);
    }
    const Vector sizes = column_sizes(rows.rows());
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < 4; ++j) CHECK(static_cast<double>(std::abs(rows.row(i)[j])) <= sizes[index_of(j)]);
    CHECK(sizes[1] < 1e-4);
    for (const Head head : exact_heads()) {
      CAPTURE(name_of(head));
      const Objective objective = testing::objective_of(rows, 1e-6, head);
      Matrix weights = random_matrix(4, 3, 5), step = random_matrix(4, 3, 6, 1e-9);
      weights.row(1) *= 1e7;
      step.row(1) *= 1e5;
      const ExactGradient without = exact_gradient(objective, weights, 3),
                          with = exact_gradient(objective, weights, 3, &sizes);
      CHECK(with.value == without.value);
      CHECK((with.error.array() <= without.error.array()).all());
      const FirstOrder near = first_order(objective, with, step, &sizes);
      CHECK((near.error.array() <= first_order(objective, without, step).error.array()).all());
      DecimalColumns there = as_decimals(with.point);
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t j = 0; j < 4; ++j) there[c][j] += Decimal(step(index_of(j), index_of(c)));
      const std::vector<Decimal> off =
          column_distances(as_decimals(near.residual), decimal_gradient(objective, there), near.error.size() == 1);
      for (std::size_t s = 0; s < off.size(); ++s) CHECK(static_cast<double>(off[s]) <= near.error[index_of(s)]);

      const Objective small = testing::objective_of(rows, 1e-11, head);
      const Matrix minimiser = descend_carefully(small, kAmple).weights;
      CHECK(minimiser.row(1).norm() > 1e3);
      CHECK(exact_gradient(small, minimiser, 3, &sizes).error.maxCoeff() <
            0.5 * exact_gradient(small, minimiser, 3).error.maxCoeff());
    }
  }
}
