// tests/algorithms/learning/softmax_test.cpp - the softmax head: constants, kernels and their
// error, Hessian, minimiser.
#include <doctest/doctest.h>

#include <Eigen/Eigenvalues>
#include <numeric>

#include "algorithms/learning/conjugate_gradient.h"
#include "algorithms/learning/newton.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/privacy/accounting/head_constants.h"
#include "storage/io/error.h"
#include "support/fenced_array.h"
#include "support/heads.h"
#include "support/learner_data.h"
#include "support/slow_slopes.h"
#include "support/vector_targets.h"

using namespace unweave;
using namespace unweave::testing;
using unweave::testing::FencedArray;
using unweave::testing::for_each_target;

namespace {

constexpr std::size_t kWorkingMemory = std::size_t{64} << 20;

std::vector<std::size_t> first_classes(std::size_t count) {
  std::vector<std::size_t> classes(count);
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  return classes;
}

std::vector<long double> extended(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

/// Rows of margins that are hard on softmax: all equal, two largest, gaps from 1 to past every
/// exponent, and plain ones.
std::vector<double> hard_margins(std::size_t classes, unsigned kind) {
  const Matrix plain = random_matrix(1, classes, kind, 2);
  std::vector<double> margins(plain.data(), plain.data() + classes);
  if (kind % 7 == 1) std::fill(margins.begin(), margins.end(), 300.25);
  if (kind % 7 == 2) margins[classes - 1] = margins[0] = 40;
  if (kind % 7 == 3) margins[classes / 2] = 37;
  if (kind % 7 == 4) margins[classes / 2] = 720;
  if (kind % 7 == 5) margins[0] = 1e308;
  if (kind % 7 == 6)
    for (std::size_t c = 0; c < classes; ++c) margins[c] = (c % 2 == 0 ? 1 : -1) * 45.0 * static_cast<double>(c);
  return margins;
}

/// What float64 makes of one row of norm 1.
struct RowSlopes {
  std::vector<double> slopes;
  SlopeSums sums;
};

RowSlopes slopes_of(const std::vector<double>& margins, ClassId label, const std::vector<double>& errors) {
  const std::size_t classes = margins.size();
  const double norm = 1;
  std::vector<double> padded = margins, squares(classes + kSlopeSlack), margin_error = errors;
  padded.resize(classes + kSlopeSlack, 1e300);
  margin_error.resize(classes + kSlopeSlack, 1e300);
  const SlopeSums sums = slopes_in_place({Head::kSoftmax, &label, &norm, 1, classes}, margin_error.data(),
                                         padded.data(), squares.data(), nullptr);
  padded.resize(classes);
  for (std::size_t c = 0; c < classes; ++c) CHECK(squares[c] == padded[c] * padded[c]);
  return {padded, sums};
}

double distance(const std::vector<double>& found, const std::vector<long double>& exact) {
  long double sum = 0;
  for (std::size_t c = 0; c < found.size(); ++c) {
    const long double d = static_cast<long double>(found[c]) - exact[c];
    sum += d * d;
  }
  return static_cast<double>(std::sqrt(sum));
}

/// By steps of 1 / (|Z|_F^2 / 2 + mu) down the gradient.
Matrix descended(const TrainingSet& set, double mu, int steps) {
  const Eigen::MatrixXd z = dense_rows(set);
  const double rate = 1 / (smoothness(Head::kSoftmax).curvature * z.squaredNorm() + mu);
  Matrix weights = Matrix::Zero(index_of(set.features()), index_of(set.classes()));
  for (int step = 0; step < steps; ++step) {
    Matrix gradient = mu * weights;
    const Matrix margins = z * weights;
    for (Eigen::Index i = 0; i < z.rows(); ++i) {
      Eigen::ArrayXd p = margins.row(i).transpose().array().exp();
      p /= p.sum();
      p[index_of(set.labels()[size_of(i)])] -= 1;
      gradient += z.row(i).transpose() * p.matrix().transpose();
    }
    weights -= rate * gradient;
  }
  return weights;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a row that is sure of its class curves by what the others weigh, in float32, too") {
    for (const std::size_t classes : {2U, 3U, 17U, 40U}) {
      CAPTURE(classes);
      std::vector<float> probabilities(classes + kSlopeSlack), values(classes + kSlopeSlack);
      std::vector<double> wide_p(classes), wide_v(classes);
      const std::size_t sure = classes - 1;
      for (std::size_t c = 0; c < classes; ++c) {
        probabilities[c] = c == sure ? 1.0F : 1e-11F * static_cast<float>(c + 1);
        values[c] = 1 + 0.25F * static_cast<float>(c);
        wide_p[c] = static_cast<double>(probabilities[c]);
        wide_v[c] = static_cast<double>(values[c]);
      }
      long double mean = 0, weight = 0;  // relative to the sure class
      for (std::size_t c = 0; c < classes; ++c) {
        weight += static_cast<long double>(wide_p[c]);
        mean += static_cast<long double>(wide_p[c]) * static_cast<long double>(wide_v[c] - wide_v[sure]);
      }
      const auto truth = [&, values = wide_v](std::size_t c, long double sum) {
        return static_cast<long double>(wide_p[c]) * (static_cast<long double>(values[c] - values[sure]) - mean / sum);
      };
      center_by(probabilities.data(), values.data(), 1, classes);
      multiply_by_curvatures(Head::kSoftmax, wide_p.data(), wide_v.data(), 1, classes);
      for (std::size_t c = 0; c < classes; ++c) {
        const auto rough = static_cast<long double>(values[c]), fine = static_cast<long double>(wide_v[c]);
        CHECK(std::abs(rough - truth(c, weight)) <= 1e-5L * std::abs(truth(c, weight)));
        CHECK(std::abs(fine - truth(c, 1)) <= 1e-13L * std::abs(truth(c, 1)));
      }
    }
  }

  TEST_CASE("the constants of every head bound slopes and curvatures over all margins, and are reached") {
    for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax})
      for (const std::size_t classes : {2U, 3U, 9U}) {
        double steepest = 0, joint = 0, curved = 0;
        for (unsigned kind = 0; kind < 70; ++kind) {
          std::vector<double> margins = hard_margins(classes, kind);
          if (kind == 0) std::fill(margins.begin(), margins.end(), 0.0);
          if (kind == 7) std::fill(margins.begin() + 2, margins.end(), -1e3);
          if (kind == 7) margins[0] = margins[1] = 0;
          Eigen::MatrixXd hessian = Eigen::MatrixXd::Zero(index_of(classes), index_of(classes));
          double squares = 0;
          const std::vector<long double> slopes = slow_slopes(head, extended(margins), classes - 1);
          for (std::size_t c = 0; c < classes; ++c) {
            const auto slope = static_cast<double>(slopes[c]);
            steepest = std::max(steepest, std::abs(slope));
            squares += slope * slope;
            if (!couples_classes(head))
              hessian(index_of(c), index_of(c)) = derivatives(head, margins[c], c + 1 == classes ? 1 : -1).curvature;
          }
          joint = std::max(joint, std::sqrt(squares));
          if (couples_classes(head)) {
            softmax_in_place(margins.data(), classes);
            const Eigen::Map<const Eigen::VectorXd> p(margins.data(), index_of(classes));
            hessian = Eigen::MatrixXd(p.asDiagonal()) - p * p.transpose();
          }
          curved = std::max(curved, Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(hessian).eigenvalues().maxCoeff());
        }
        const Smoothness bounds = smoothness(head);
        CHECK(curved <= bounds.curvature * (1 + 1e-12));
        CHECK(curved >= bounds.curvature * (1 - 1e-12));
        CHECK(steepest <= bounds.slope);
        if (head == Head::kLeastSquares) continue;
        CHECK(steepest >= 0.999 * bounds.slope);
        const PublicConstants given{.classes = classes};
        const LossConstants loss = loss_constants(head, given);
        CHECK(joint <= loss.data_gradient * (1 + 1e-12));
        if (head == Head::kSoftmax) CHECK(joint >= 0.999 * loss.data_gradient);
      }
    CHECK(strong_convexity(0.5, 8) == 4);
    CHECK(strong_convexity(0.5, 0) == 0.5);
  }

  TEST_CASE("float64 slopes of hard rows are within their own bound of extended precision, on every vector extension") {
    for_each_target([] {
      for (std::size_t classes = 1; classes <= 35; ++classes)
        for (unsigned kind = 0; kind < 14; ++kind) {
          const std::vector<double> margins = hard_margins(classes, kind);
          double widest = 0;
          for (const double m : margins) widest = std::max(widest, std::abs(m));
          // The rounding of a difference is charged to the margins.
          const std::vector<double> errors(classes, widest > 1e6 ? 0 : 2 * rounding_gamma(1) * widest);
          for (const std::size_t label : {std::size_t{0}, classes / 2, classes - 1}) {
            const RowSlopes found = slopes_of(margins, static_cast<ClassId>(label), errors);
            const std::vector<long double> exact = slow_slopes(Head::kSoftmax, extended(margins), label);
            CAPTURE(classes);
            CAPTURE(kind);
            CHECK(distance(found.slopes, exact) <= found.sums.row_error + 1e-300);
            CHECK(found.sums.row_error <= 1e-11);
          }
        }
    });
  }

  TEST_CASE("margins that are off by their stated error move slopes by less than the bound, and by a third of it") {
    std::mt19937 random(5);
    for (std::size_t classes = 1; classes <= 9; ++classes)
      for (unsigned kind = 0; kind < 70; ++kind) {
        if (kind % 7 == 5) continue;  // no difference is left of such margins
        const std::vector<double> margins = hard_margins(classes, kind);
        for (const double size : {1e-9, 1e-4, 2.3e-3, 0.1, 3.0}) {
          std::vector<double> errors(classes);
          for (double& e : errors) e = size * (random() % 4 == 0 ? 0.01 : 1.0) + 1e-13;
          const auto label = static_cast<ClassId>(random() % classes);
          const RowSlopes found = slopes_of(margins, label, errors);
          for (int trial = 0; trial < 8; ++trial) {
            std::vector<long double> moved = extended(margins);
            for (std::size_t c = 0; c < classes; ++c)
              moved[c] += static_cast<long double>(random() % 2 == 0 ? errors[c] - 1e-13 : 1e-13 - errors[c]);
            CAPTURE(classes);
            CAPTURE(kind);
            CAPTURE(size);
            CHECK(distance(found.slopes, slow_slopes(Head::kSoftmax, moved, label)) <= found.sums.row_error);
          }
        }
      }
    for (const double margin : {0.0, 1.0, 5.0, 20.0}) {
      const RowSlopes found = slopes_of({margin, 0}, 0, {1e-6, 1e-6});
      const std::vector<long double> moved{static_cast<long double>(margin) - 1e-6L, 1e-6L};
      CHECK(distance(found.slopes, slow_slopes(Head::kSoftmax, moved, 0)) >= found.sums.row_error / 3);
    }
  }

  TEST_CASE("no vector extension writes past the last margin, sum or probability") {
    for_each_target([] {
      for (std::size_t classes = 1; classes <= 35; ++classes) {
        const std::size_t size = 2 * classes;
        const ClassId labels[] = {0, static_cast<ClassId>(classes - 1)};
        const double norms[] = {0.5, 1};
        const MarginBlock block{Head::kSoftmax, labels, norms, 2, classes};
        const FencedArray<double> slopes(size, true, 0.5), squares(classes, true, 0);
        const FencedArray<float> rough(size, true, 0.5F), alone(size, true, 0.5F), values(size, true, 0),
            again(size, true, 0);
        const FencedArray<float> kept(size, true, 0), rough_kept(size, true, 0);
        const std::vector<double> margin_error(classes + kSlopeSlack);
        for (std::size_t k = 0; k < size; ++k) {
          slopes.data()[k] = static_cast<double>(k % classes) / 8;
          rough.data()[k] = alone.data()[k] = static_cast<float>(slopes.data()[k]);
          values.data()[k] = again.data()[k] = static_cast<float>(k % 5);
        }
        std::vector<long double> row(classes);
        for (std::size_t c = 0; c < classes; ++c) row[c] = static_cast<long double>(c) / 8;
        const SlopeSums sums = slopes_in_place(block, margin_error.data(), slopes.data(), squares.data(), kept.data());
        slopes_in_place(block, rough.data(), rough_kept.data());
        curvatures_in_place(Head::kSoftmax, alone.data(), 2, classes);
        center_by(kept.data(), values.data(), 2, classes);
        center_by(alone.data(), again.data(), 2, classes);
        double absolute = 0;
        for (std::size_t i = 0; i < 2; ++i) {
          const std::vector<long double> expected = slow_slopes(Head::kSoftmax, row, labels[i]);
          double total = 0, mean = 0, norm = 0;
          for (std::size_t c = 0; c < classes; ++c) {
            const std::size_t k = i * classes + c;
            const auto slope = static_cast<double>(expected[c]), p = slope + (c == labels[i] ? 1 : 0);
            norm += slope * slope;
            CHECK(slopes.data()[k] == doctest::Approx(slope).epsilon(1e-14));
            CHECK(static_cast<double>(rough.data()[k]) == doctest::Approx(slope).epsilon(1e-5));
            CHECK(static_cast<double>(alone.data()[k]) == doctest::Approx(p).epsilon(1e-5));
            CHECK(static_cast<double>(kept.data()[k]) == doctest::Approx(p).epsilon(1e-6));
            CHECK(std::abs(rough_kept.data()[k] - kept.data()[k]) <= 1);
            total += p;
            mean += p * static_cast<double>(k % 5);
          }
          CHECK(total == doctest::Approx(1));
          absolute += norms[i] * std::sqrt(norm);
          float sum = 0;
          for (std::size_t c = 0; c < classes; ++c) {
            const std::size_t k = i * classes + c;
            const double p = static_cast<double>(expected[c]) + (c == labels[i] ? 1 : 0);
            const double centred = p * (static_cast<double>(k % 5) - mean);
            CHECK(std::abs(static_cast<double>(again.data()[k]) - centred) <= 1e-5);
            CHECK(std::abs(static_cast<double>(values.data()[k]) - centred) <= 0.02);
            sum += values.data()[k];
          }
          CHECK(std::abs(sum) <= 1e-5F);  // also of rounded probabilities
        }
        CHECK(sums.absolute == doctest::Approx(absolute).epsilon(1e-12));
      }
    });
  }

  TEST_CASE(
      "Hessian products and their diagonal equal the dense Hessian, cached or not, and differences of gradients") {
    struct Shape {
      std::size_t rows, features, classes;
    };
    for (const Shape& shape : {Shape{0, 3, 2}, {1, 1, 1}, {7, 1, 3}, {40, 5, 1}, {300, 9, 4}, {700, 12, 18}}) {
      const TrainingSet set = random_rows(shape.rows, shape.features, shape.classes, 11);
      const Objective objective = objective_of(set, 1e-2, Head::kSoftmax);
      const Matrix weights = random_matrix(shape.features, shape.classes, 12);
      const Matrix v = random_matrix(shape.features, shape.classes, 13);
      const DenseSoftmax dense = dense_softmax(set, objective.mu, weights);
      const Matrix expected = dense_softmax_product(dense, v);
      const double size = dense.hessian.norm() * v.norm();
      const Matrix action = curvature_action(objective, weights, v).product;
      CHECK((action - expected).norm() <= 1e-13 * size);
      const double h = 1e-4;
      const Matrix difference = (gradient_with_error(objective, weights + h * v).value -
                                 gradient_with_error(objective, weights - h * v).value) /
                                (2 * h);
      CHECK((difference - action).norm() <= 1e-7 * size);
      const std::vector<std::size_t> all = first_classes(shape.classes);
      for (const bool kept : {false, true}) {
        Curvatures probabilities = curvatures_within(objective, kWorkingMemory);
        static_cast<void>(gradient_with_error(objective, weights, &probabilities));
        const HessianOperator hessian(objective, weights, kept ? &probabilities : nullptr);
        const double close = kept ? 0.01 : 1e-5;  // kept probabilities have 8 bits
        CHECK((hessian.apply(v, all) - expected).norm() <= close * size);
        const Matrix diagonal = hessian.diagonal();
        for (Eigen::Index c = 0; c < v.cols(); ++c)
          for (Eigen::Index f = 0; f < v.rows(); ++f) {
            const Eigen::Index at = c * v.rows() + f;
            CHECK(std::abs(diagonal(f, c) - dense.hessian(at, at)) <= close * dense.hessian.norm());
          }
        // Positive semidefinite before mu, along what is equal in all classes too.
        const Matrix equal = v.col(0) * Matrix::Ones(1, v.cols());
        const Matrix image = hessian.apply(equal, all);
        CHECK((image - objective.mu * equal).norm() <= 1e-5 * size + 1e-5 * equal.norm() * dense.hessian.norm());
      }
    }
  }

  TEST_CASE("two classes are a logistic regression of half the regularisation on the difference of their weights") {
    const TrainingSet set = random_rows(300, 6, 2, 51);
    TrainingSet positive(6, 1);
    for (std::size_t i = 0; i < set.size(); ++i) positive.append(set.nodes()[i], set.row(i), 0);
    const double lambda = 1e-2;
    const Objective both = objective_of(set, lambda, Head::kSoftmax);
    const Matrix weights = minimise(both, random_matrix(6, 2, 52), {1e-9, 100, false, kWorkingMemory}).weights;
    const Matrix logistic = dense_minimiser(set, lambda / 2, Head::kLogistic);
    CHECK((weights.col(0) - weights.col(1) - logistic.col(0)).norm() <= 1e-8);
    CHECK((weights.col(0) + weights.col(1)).norm() <= 1e-8);
    const Objective alone = objective_of(positive, lambda, Head::kSoftmax);
    const Matrix start = random_matrix(6, 1, 53);
    CHECK(gradient_with_error(alone, start).value == alone.mu * start);
    CHECK(objective_value(alone, start) == alone.mu / 2 * start.squaredNorm());
    CHECK(minimise(alone, start, {1e-9, 100, false, kWorkingMemory}).weights.norm() <= 1e-9 / alone.mu);
  }

  TEST_CASE("the minimiser is where plain gradient descent ends") {
    const TrainingSet set = random_rows(60, 4, 3, 54);
    const Objective objective = objective_of(set, 0.02, Head::kSoftmax);
    const Matrix slow = descended(set, objective.mu, 4000);
    const NewtonResult done = minimise(objective, Matrix::Zero(4, 3), {1e-9, 100, false, kWorkingMemory});
    CHECK((done.weights - slow).norm() <= 1e-8);
    CHECK(gradient_with_error(objective, slow).norm <= 1e-8);
    CHECK(objective_value(objective, done.weights) <= objective_value(objective, slow) * (1 + 1e-12));
  }

  TEST_CASE(
      "coupled conjugate gradients meet one tolerance, in fewer products where what is equal in all classes is set apart") {
    const TrainingSet set = random_rows(2000, 16, 6, 55, 3);
    const Objective objective = objective_of(set, 1e-4, Head::kSoftmax);
    const Matrix weights = random_matrix(16, 6, 56, 3), right = random_matrix(16, 6, 57);
    const HessianOperator hessian(objective, weights);
    const ClassOperator apply = [&](const Matrix& d, std::span<const std::size_t> c) { return hessian.apply(d, c); };
    const std::vector<std::size_t> all = first_classes(6);
    const Matrix centred = right.colwise() - right.rowwise().mean();
    const Vector tolerance = Vector::Constant(1, 1e-6 * centred.norm());
    const auto each = make_spectral_preconditioner(hessian);
    const auto together = make_preconditioner(hessian, 0);  // the spectral one, with that part apart
    const Matrix equal = right.col(0) * Matrix::Ones(1, 6);
    CHECK((together->apply(equal, all) - equal / objective.mu).norm() <= 1e-9 * equal.norm() / objective.mu);
    int passes[2] = {};
    int which = 0;
    for (const Preconditioner* preconditioner : {each.get(), together.get()}) {
      const CgResult cg = conjugate_gradient(apply, *preconditioner, centred, tolerance, 400);
      const Matrix left = curvature_action(objective, weights, cg.solution).product;
      CHECK((centred - left).norm() <= 2 * tolerance[0]);
      passes[which++] = cg.passes;
    }
    CHECK(3 * passes[1] < 2 * passes[0]);
    CHECK(conjugate_gradient(apply, *together, centred, Vector::Constant(1, 1e9), 400).passes == 0);
  }
}
