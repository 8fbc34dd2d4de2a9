// tests/algorithms/newton_test.cpp - the finished minimiser against an independent dense solver, and its refusals.
#include "algorithms/newton.h"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>

#include "algorithms/conjugate_gradient.h"
#include "storage/error.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::test;

TEST_SUITE("unit") {
  TEST_CASE("minimise agrees with dense Newton within residual over mu, from zero and from far away") {
    struct Shape {
      std::size_t rows, features, classes, used;
    };
    for (const Shape& shape : {Shape{0, 4, 3, 0},
                               {1, 2, 2, 0},
                               {30, 1, 2, 0},
                               {50, 6, 1, 0},
                               {80, 7, 5, 2},
                               {30, 60, 3, 0},
                               {900, 12, 4, 0}})
      for (const Head head : {Head::kLogistic, Head::kLeastSquares})
        for (const double scale : {0.0, 1.0, 50.0}) {
          const TrainingSet set = random_rows(shape.rows, shape.features, shape.classes, 21, shape.used);
          const double lambda = 1e-2;
          const Objective objective = objective_of(set, lambda, head);
          const NewtonResult done =
              minimise(objective, random_matrix(shape.features, shape.classes, 22, scale), {1e-7, 100, false});
          CHECK(done.residual <= 1e-7);
          double squares = 0;  // of the gradient, by the dense twin
          for (std::size_t c = 0; c < shape.classes; ++c)
            squares += dense_gradient(set, objective.mu, done.weights.col(index_of(c)), c, head,
                                      Eigen::VectorXd::Zero(index_of(shape.features)))
                           .squaredNorm();
          CHECK(std::sqrt(squares) <= done.residual + 1e-13 * static_cast<double>(shape.rows));
          const double distance = (done.weights - dense_minimiser(set, lambda, head)).norm();
          CHECK(distance <= done.residual / objective.mu + 1e-10);
          if (head == Head::kLeastSquares) CHECK(done.steps <= 3);
        }
  }

  TEST_CASE("noise in the objective moves the minimiser as the dense solver says") {
    const TrainingSet set = random_rows(120, 5, 3, 23);
    const Matrix noise = random_matrix(5, 3, 24, 0.5);
    Objective objective = objective_of(set, 1e-2);
    objective.linear = &noise;
    const NewtonResult done = minimise(objective, Matrix::Zero(5, 3), {1e-8, 100, false});
    CHECK((done.weights - dense_minimiser(set, 1e-2, Head::kLogistic, &noise)).norm() <= 1e-8 / objective.mu + 1e-10);
  }

  TEST_CASE("steps are damped where a full Newton step would leap to the other side and back") {
    TrainingSet set(1, 2);
    for (NodeId node = 0; node < 40; ++node) set.append(node, std::vector<float>{1.0F}, node % 4 == 0 ? 1 : 0);
    const Objective objective = objective_of(set, 1e-7);
    const NewtonResult done = minimise(objective, Matrix::Constant(1, 2, 18), {1e-9, 100, false});
    CHECK(done.weights(0, 0) == doctest::Approx(std::log(3.0)).epsilon(1e-5));
    CHECK(done.weights(0, 1) == doctest::Approx(-std::log(3.0)).epsilon(1e-5));
    CHECK(done.steps < 60);
  }

  TEST_CASE("a tolerance below the float error is refused with one that can be reached") {
    const TrainingSet set = random_rows(500, 8, 3, 25);
    const Objective objective = objective_of(set, 1e-3);
    std::string message;
    try {
      static_cast<void>(minimise(objective, Matrix::Zero(8, 3), {1e-14, 100, false}));
    } catch (const UsageError& error) {
      message = error.what();
    }
    const auto at = message.find("use --tau ");
    REQUIRE(at != std::string::npos);
    const double reachable = std::stod(message.substr(at + 10));
    CHECK(minimise(objective, Matrix::Zero(8, 3), {reachable, 100, false}).residual <= reachable);
    CHECK(minimise(objective, Matrix::Zero(8, 3), {1e-14, 100, true}).residual < 1e-9);
  }

  TEST_CASE("starts and tolerances that are not finite are refused") {
    const TrainingSet set = random_rows(10, 2, 2, 26);
    const Objective objective = objective_of(set, 1e-3);
    Matrix start = Matrix::Zero(2, 2);
    CHECK_THROWS_AS(static_cast<void>(minimise(objective, start, {0, 100, false})), UsageError);
    start(0, 0) = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_AS(static_cast<void>(minimise(objective, start, {1e-6, 100, false})), UsageError);
  }

  TEST_CASE("conjugate gradients meet each class's tolerance under every preconditioner") {
    const TrainingSet set = random_rows(400, 15, 4, 27);
    const Objective objective = objective_of(set, 1e-3);
    const Matrix weights = random_matrix(15, 4, 28), right = random_matrix(15, 4, 29, 10);
    const HessianOperator hessian(objective, weights);
    const ClassOperator apply = [&](const Matrix& d, std::span<const std::size_t> c) { return hessian.apply(d, c); };
    const Vector tolerance = Vector::Constant(4, 1e-3);
    std::unique_ptr<Preconditioner> all[] = {make_diagonal_preconditioner(hessian),
                                             make_spectral_preconditioner(hessian),
                                             make_sampled_preconditioner(hessian, 20000)};
    int passes[3] = {};
    int which = 0;
    for (const auto& preconditioner : all) {
      const CgResult cg = conjugate_gradient(apply, *preconditioner, right, tolerance, 200);
      const Matrix left = curvature_action(objective, weights, cg.solution).product;
      for (Eigen::Index c = 0; c < 4; ++c) CHECK((right.col(c) - left.col(c)).norm() <= 2e-3);
      passes[which++] = cg.passes;
    }
    CHECK(passes[1] < passes[0]);
    CHECK(passes[2] <= 2);  // all rows, in nearly their own weights
    CHECK(conjugate_gradient(apply, *make_diagonal_preconditioner(hessian), right, Vector::Constant(4, 1e9), 200)
              .passes == 0);
  }
}
