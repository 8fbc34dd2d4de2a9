// tests/algorithms/learning/newton_test.cpp - the finished minimiser against an independent dense
// solver, and its refusals.
#include "algorithms/learning/newton.h"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>

#include "algorithms/learning/conjugate_gradient.h"
#include "algorithms/learning/working_memory.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr std::size_t kMemory = std::size_t{64} << 20;  // for all that these tests can use
constexpr std::size_t kAmple = std::numeric_limits<std::size_t>::max();

/// Rows that have nearly one direction, as embeddings do, and labels that hang on the little by
/// which they differ: the weights that part them are large.
TrainingSet nearly_parallel_rows(std::size_t rows, std::size_t features, std::size_t classes, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const Matrix common = random_matrix(1, features, seed + 1), centres = random_matrix(classes, features, seed + 2);
  TrainingSet set(features, classes);
  std::vector<float> row(features);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto label = static_cast<ClassId>(random() % classes);
    for (std::size_t f = 0; f < features; ++f)
      row[f] = static_cast<float>(0.95 * common(0, index_of(f)) / common.norm() +
                                  2e-3 * (0.1 * centres(label, index_of(f)) + normal(random)));
    set.append(static_cast<NodeId>(i), row, label);
  }
  return set;
}

}  // namespace

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
      for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax})
        for (const double scale : {0.0, 1.0, 50.0}) {
          const std::size_t memory = scale == 1 ? 0 : std::size_t{64} << 20;
          const TrainingSet set = random_rows(shape.rows, shape.features, shape.classes, 21, shape.used);
          const double lambda = 1e-2;
          const Objective objective = objective_of(set, lambda, head);
          const NewtonResult done =
              minimise(objective, random_matrix(shape.features, shape.classes, 22, scale), {1e-7, 100, false, memory});
          CHECK(done.residual <= 1e-7);
          double squares = 0;  // sum of squares of the gradient, by the dense twin
          if (head == Head::kSoftmax) squares = dense_softmax(set, objective.mu, done.weights).gradient.squaredNorm();
          for (std::size_t c = 0; c < shape.classes && head != Head::kSoftmax; ++c)
            squares += dense_gradient(set, objective.mu, done.weights.col(index_of(c)), c, head,
                                      Eigen::VectorXd::Zero(index_of(shape.features)))
                           .squaredNorm();
          CHECK(std::sqrt(squares) <= done.residual + 1e-13 * static_cast<double>(shape.rows));
          const double distance = (done.weights - dense_minimiser(set, lambda, head)).norm();
          CHECK(distance <= done.residual / objective.mu + 1e-10);
          if (head == Head::kLeastSquares) CHECK(done.steps <= 3);
        }
  }

  TEST_CASE("a start from which a minimisation does not end decides nothing: it begins again from zero") {
    const TrainingSet set = random_rows(60, 12, 3, 11);
    const Objective objective{set.rows(), 3, Head::kLogistic, 1e-15 * 60, nullptr};
    NewtonOptions options;
    options.tolerance = 1e-6;
    options.memory = kMemory;
    const NewtonResult cold = minimise(objective, Matrix::Zero(12, 3), options);
    CHECK(cold.residual <= 1e-6);
    int again = 0;
    for (const double size : {1e6, 1e9, 1e12, 1e15, 1e18}) {
      const NewtonResult warm = minimise(objective, size * random_matrix(12, 3, 5), options);
      CHECK(warm.residual <= 1e-6);
      again += warm.weights == cold.weights ? 1 : 0;  // the bits of a run from zero
    }
    CHECK(again > 0);
  }

  TEST_CASE("noise in the objective moves the minimiser as the dense solver says") {
    const TrainingSet set = random_rows(120, 5, 3, 23);
    const Matrix noise = random_matrix(5, 3, 24, 0.5);
    Objective objective = objective_of(set, 1e-2);
    objective.linear = &noise;
    const NewtonResult done = minimise(objective, Matrix::Zero(5, 3), {1e-8, 100, false, kMemory});
    CHECK((done.weights - dense_minimiser(set, 1e-2, Head::kLogistic, &noise)).norm() <= 1e-8 / objective.mu + 1e-10);
  }

  TEST_CASE("steps are damped where a full Newton step would leap to the other side and back") {
    TrainingSet set(1, 2);
    for (NodeId node = 0; node < 40; ++node) set.append(node, std::vector<float>{1.0F}, node % 4 == 0 ? 1 : 0);
    const Objective objective = objective_of(set, 1e-7);
    const NewtonResult done = minimise(objective, Matrix::Constant(1, 2, 18), {1e-9, 100, false, kMemory});
    CHECK(done.weights(0, 0) == doctest::Approx(std::log(3.0)).epsilon(1e-5));
    CHECK(done.weights(0, 1) == doctest::Approx(-std::log(3.0)).epsilon(1e-5));
    CHECK(done.steps < 60);
  }

  TEST_CASE("the error of float32 gradients is told near the minimiser too, where large weights are rounded") {
    struct Shape {
      std::size_t rows, features, classes;
    };
    for (const Shape& shape : {Shape{20000, 20, 3}, {3000, 64, 2}, {300, 12, 4}}) {
      const TrainingSet set = nearly_parallel_rows(shape.rows, shape.features, shape.classes, 31);
      const Objective objective = objective_of(set, 1e-9);
      const Matrix zero = Matrix::Zero(index_of(shape.features), index_of(shape.classes));
      // As near as these conditions let the kernels of this machine come.
      const NewtonResult done = minimise(objective, zero, {1e-5, 100, true, kMemory});
      CHECK(done.residual <= 1e-4);
      CHECK(done.weights.norm() > 50);
      const Gradient rough = rough_gradient(objective, done.weights);
      const double away = (rough.value - done.gradient.value).norm();
      CAPTURE(shape.rows);
      CHECK(away <= 10 * rough.error);
      CHECK(away >= 0.01 * rough.error);
    }
  }

  TEST_CASE("steps by float32 gradients leave the float64 ones their own number") {
    const TrainingSet set = random_rows(2000, 9, 4, 33);
    const Objective objective = objective_of(set, 1e-2, Head::kLeastSquares);
    const NewtonResult done = minimise(objective, random_matrix(9, 4, 34), {1e-5, 1, false, kMemory});
    CHECK(done.residual <= 1e-5);
    CHECK(done.steps == 2);
  }

  TEST_CASE("a sampled preconditioner is near the inverse where float32 sums are not positive definite") {
    constexpr std::size_t kFeatures = 24;
    for (unsigned seed = 0; seed < 4; ++seed) {
      const Matrix direction = random_matrix(kFeatures, 1, seed).normalized();
      TrainingSet set(kFeatures, 1);
      std::vector<float> row(kFeatures);
      for (NodeId node = 0; node < 3000; ++node) {  // rows of one direction, and several lengths
        for (std::size_t f = 0; f < kFeatures; ++f)
          row[f] = static_cast<float>((0.3 + 2e-4 * (node * 7919 % 3001)) * direction(index_of(f), 0));
        set.append(node, row, 0);
      }
      for (const double mu : {1e-12, 1e-30}) {
        Objective objective = objective_of(set, 1);
        objective.mu = mu;
        const Matrix weights = Matrix::Zero(kFeatures, 1);
        const HessianOperator hessian(objective, weights);
        const std::vector<std::size_t> classes{0};
        const auto preconditioner = make_sampled_preconditioner(hessian, {kFeatures, 3000});
        const Matrix image = curvature_action(objective, weights, direction).product;
        CHECK((preconditioner->apply(image, classes) - direction).norm() < 0.5);
        for (unsigned other = 0; other < 20; ++other) {  // positive definite
          const Matrix residual = random_matrix(kFeatures, 1, 100 + other);
          CHECK(residual.col(0).dot(preconditioner->apply(residual, classes).col(0)) > 0);
        }
      }
    }
  }

  TEST_CASE("rows of norm 0 among the picked from do no harm") {
    TrainingSet set(3, 2);
    for (NodeId node = 0; node < 500; ++node) {
      const auto x = node % 3 == 0 ? 0.0F : 0.1F * static_cast<float>(node % 7);
      set.append(node, std::vector<float>{x, -x / 2, x * x}, node % 2);
    }
    const Objective objective = objective_of(set, 1e-2);
    const HessianOperator hessian(objective, Matrix::Zero(3, 2));
    for (const std::size_t picks : {std::size_t{1}, std::size_t{49}, std::size_t{1000}}) {
      const auto preconditioner = make_sampled_preconditioner(hessian, {3, picks});
      CHECK(preconditioner->apply(random_matrix(3, 2, 3), std::vector<std::size_t>{0, 1}).allFinite());
    }
  }

  TEST_CASE("the memory that was granted decides the preconditioner, and is what the sampled one needs") {
    const TrainingSet set = random_rows(900, 6, 40, 36);
    const Objective objective = objective_of(set, 1e-3);
    const HessianOperator hessian(objective, random_matrix(6, 40, 37));
    // What a thread takes that inverts a class: shares twice, picks of two signs and three
    // matrices.
    const std::size_t a_thread = 2 * 900 * 8 + 2 * (1024 * 6 + 36) * 4 + 3 * 36 * 8;
    // All classes' factors and the matrix they share; curvatures of the classes at hand.
    const std::size_t together = (40 + 1) * 36 * sizeof(double) + 900 * 32 * sizeof(float);
    for (const std::size_t threads : {1U, 3U}) {
      const ThreadLimit limit(threads);
      CHECK(preconditioner_bytes(set.rows(), 40, kAmple) == together + threads * a_thread);
    }
    const ThreadLimit limit(2);
    const std::size_t bytes = preconditioner_bytes(set.rows(), 40, kAmple);
    std::vector<std::size_t> classes(40);
    std::iota(classes.begin(), classes.end(), std::size_t{0});
    const Matrix right = random_matrix(6, 40, 38);
    const Matrix sampled = make_sampled_preconditioner(hessian, {6, 150})->apply(right, classes);
    CHECK(make_preconditioner(hessian, bytes)->apply(right, classes) == sampled);
    const Matrix spectral = make_spectral_preconditioner(hessian)->apply(right, classes);
    CHECK(make_preconditioner(hessian, bytes - 1)->apply(right, classes) == spectral);
    CHECK(preconditioner_bytes(random_rows(20, 6, 40, 36).rows(), 40, kAmple) == 0);  // too few rows to pick from

    const std::size_t curvatures = 900 * 40 * sizeof(float);
    const WorkingMemory all = working_memory_within(set.rows(), 40, bytes + curvatures);
    CHECK(all.preconditioner == bytes);
    CHECK(all.curvatures == curvatures);
    CHECK(working_memory_within(set.rows(), 40, bytes + curvatures - 1).total() == bytes);
    CHECK(working_memory_within(set.rows(), 40, bytes - 1).total() == curvatures);
    CHECK(working_memory_within(set.rows(), 40, curvatures - 1).total() == 0);
    MemoryBudget budget(2 * (bytes + curvatures)), less(2 * bytes);
    CHECK(reserve_working_memory(set.rows(), 40, budget).bytes() == bytes + curvatures);
    CHECK(reserve_working_memory(set.rows(), 40, less).bytes() == bytes);
    CHECK(budget.used() == 0);
  }

  TEST_CASE("a preconditioner of few directions is the inverse on rows that have no others, and 1 / mu beside them") {
    constexpr std::size_t kFeatures = 40, kUsed = 5;
    TrainingSet set(kFeatures, 3);
    const Matrix values = random_matrix(600, kUsed, 41, 0.3);
    for (NodeId node = 0; node < 600; ++node) {
      std::vector<float> row(kFeatures);
      for (std::size_t f = 0; f < kUsed; ++f) row[f] = static_cast<float>(values(node, index_of(f)));
      set.append(node, row, node % 3);
    }
    const Objective objective = objective_of(set, 1e-2);
    const Matrix weights = random_matrix(kFeatures, 3, 42);
    const HessianOperator hessian(objective, weights);
    const std::vector<std::size_t> classes{0, 1, 2}, last{2};
    const auto preconditioner = make_sampled_preconditioner(hessian, {kUsed, 20000});
    const Matrix direction = random_matrix(kFeatures, 3, 43);
    for (std::size_t c = 0; c < 3; ++c) {
      const Eigen::Index at = index_of(c);
      const Eigen::MatrixXd dense = dense_hessian(set, objective.mu, weights.col(at), Head::kLogistic);
      const Matrix image = dense * direction.col(at);
      const Matrix back = preconditioner->apply(image, std::vector<std::size_t>{c});
      CHECK((back - direction.col(at)).norm() < 0.02 * direction.col(at).norm());
    }
    Matrix unused = Matrix::Zero(kFeatures, 1);
    unused(kFeatures - 1, 0) = objective.mu;
    CHECK(preconditioner->apply(unused, last)(kFeatures - 1, 0) == doctest::Approx(1).epsilon(1e-4));
    const Matrix together = preconditioner->apply(direction, classes);
    CHECK((preconditioner->apply(direction.rightCols(1), last) - together.rightCols(1)).norm() <
          1e-12 * together.norm());
  }

  TEST_CASE("what curvatures have in common is not sampled: few picks are near the inverse where they vary little") {
    const TrainingSet set = random_rows(3000, 12, 3, 47);
    for (const Head head : {Head::kLogistic, Head::kLeastSquares}) {
      const Objective objective = objective_of(set, 1e-3, head);
      const Matrix weights = random_matrix(12, 3, 48, 0.3);
      const HessianOperator hessian(objective, weights);
      const auto preconditioner = make_sampled_preconditioner(hessian, {12, 48});
      const double close = head == Head::kLogistic ? 0.05 : 1e-5;  // picks alone are sqrt(12 / 48) off
      for (std::size_t c = 0; c < 3; ++c) {
        const Matrix direction = random_matrix(12, 1, 49);
        const Matrix image = dense_hessian(set, objective.mu, weights.col(index_of(c)), head) * direction;
        const Matrix back = preconditioner->apply(image, std::vector<std::size_t>{c});
        CHECK((back - direction).norm() < close * direction.norm());
      }
    }
  }

  TEST_CASE("of many features the strongest directions are enough: half the products of the diagonal, or fewer") {
    constexpr std::size_t kFeatures = 600;
    std::mt19937 random(44);
    std::normal_distribution<double> normal;
    TrainingSet set(kFeatures, 3);
    const Matrix mixing = random_matrix(30, kFeatures, 45);
    for (NodeId node = 0; node < 2000; ++node) {
      Matrix row = Matrix::Zero(1, kFeatures);
      for (Eigen::Index k = 0; k < 30; ++k) row += normal(random) / static_cast<double>(k + 1) * mixing.row(k);
      std::vector<float> narrow(kFeatures);
      for (std::size_t f = 0; f < kFeatures; ++f)
        narrow[f] = static_cast<float>(0.01 * row(0, index_of(f)) + 1e-4 * normal(random));
      set.append(node, narrow, node % 3);
    }
    const Objective objective = objective_of(set, 1e-5);
    const Matrix right = random_matrix(kFeatures, 3, 46);
    const HessianOperator hessian(objective, Matrix::Zero(kFeatures, 3));
    const ClassOperator apply = [&](const Matrix& d, std::span<const std::size_t> c) { return hessian.apply(d, c); };
    const Vector tolerance = 1e-3 * right.colwise().norm();
    const auto diagonal = make_diagonal_preconditioner(hessian);
    const auto strongest = make_sampled_preconditioner(hessian, {128, 2048});
    const int many = conjugate_gradient(apply, *diagonal, right, tolerance, 400).passes;
    const CgResult cg = conjugate_gradient(apply, *strongest, right, tolerance, 400);
    CHECK(2 * cg.passes <= many);
    const Matrix left = curvature_action(objective, Matrix::Zero(kFeatures, 3), cg.solution).product;
    for (Eigen::Index c = 0; c < 3; ++c) CHECK((right.col(c) - left.col(c)).norm() <= 2 * tolerance[c]);
    Rows wide;
    wide.count = 30000;
    wide.features = 1000;
    const ThreadLimit limit(1);
    const std::size_t a_thread = 2 * 30000 * 8 + 2 * (1024 + 128) * 128 * 4 + 3 * 128 * 128 * 8;
    CHECK(preconditioner_bytes(wide, 40, kAmple) ==
          40 * 128 * 128 * 8 + 30000 * (32 + 128) * 4 + 1000 * 128 * (8 + 4) + a_thread);
    // With many more features the directions themselves take most: a part a lane, one more and
    // zero, then factors.
    wide.features = 20000;
    CHECK(preconditioner_bytes(wide, 40, kAmple) == 20000UL * 128 * ((16 + 2) * 4 + 4 * 8));
    // With one class the matrix that all share takes most while it is summed.
    wide.features = 500;
    wide.count = 1'000'000;
    CHECK(preconditioner_bytes(wide, 1, kAmple) == 500UL * 500 * ((16 + 2) * 4 + 8));
    wide.features = 1000;
    wide.count = 3000;  // too few to pick from
    CHECK(preconditioner_bytes(wide, 40, kAmple) == 0);
  }

  TEST_CASE("a tolerance below the float error is refused with one that can be reached") {
    const TrainingSet set = random_rows(500, 8, 3, 25);
    const Objective objective = objective_of(set, 1e-3);
    std::string message;
    try {
      static_cast<void>(minimise(objective, Matrix::Zero(8, 3), {1e-14, 100, false, kMemory}));
    } catch (const UsageError& error) {
      message = error.what();
    }
    const auto at = message.find("use tau=");
    REQUIRE(at != std::string::npos);
    const double reachable = std::stod(message.substr(at + std::string("use tau=").size()));
    CHECK(minimise(objective, Matrix::Zero(8, 3), {reachable, 100, false, kMemory}).residual <= reachable);
    CHECK(minimise(objective, Matrix::Zero(8, 3), {1e-14, 100, true, kMemory}).residual < 1e-9);
  }

  TEST_CASE("starts and tolerances that are not finite are refused") {
    const TrainingSet set = random_rows(10, 2, 2, 26);
    const Objective objective = objective_of(set, 1e-3);
    Matrix start = Matrix::Zero(2, 2);
    CHECK_THROWS_AS(static_cast<void>(minimise(objective, start, {0, 100, false, kMemory})), UsageError);
    start(0, 0) = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_AS(static_cast<void>(minimise(objective, start, {1e-6, 100, false, kMemory})), UsageError);
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
                                             make_sampled_preconditioner(hessian, {15, 20000})};
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
