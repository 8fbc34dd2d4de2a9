// tests/algorithms/privacy/residual_bounds_test.cpp - constants, counterexamples and orders of the
// residual bounds.
#include "algorithms/privacy/residual_bounds.h"

#include <doctest/doctest.h>

#include <Eigen/SVD>
#include <cmath>

#include "algorithms/learning/spectral_norm.h"
#include "algorithms/numerics/matrix.h"
#include "storage/io/error.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

double true_norm(const TrainingSet& set) {
  return Eigen::JacobiSVD<Eigen::MatrixXd>(dense_rows(set)).singularValues().maxCoeff();
}

ApproximationError column_error(const Eigen::MatrixXd& difference) {
  ApproximationError error;
  error.euclidean = difference.colwise().norm();
  error.absolute = difference.cwiseAbs().colwise().sum();
  error.residue_sum = difference.colwise().sum();
  return error;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("budget constants of the published mechanism") {
    CHECK(1 / objective_noise_budget(1, 1, 1e-4) == doctest::Approx(4.38539).epsilon(1e-6));
    CHECK(objective_noise_budget(0.1, 1, 1e-4) == doctest::Approx(0.022803).epsilon(1e-5));
    CHECK(objective_noise_budget(3, 1, 1e-4) == doctest::Approx(0.68409).epsilon(1e-5));
    CHECK(objective_noise_budget(15, 1, 1e-4) == doctest::Approx(3.42045).epsilon(1e-5));
    CHECK_THROWS_AS(static_cast<void>(objective_noise_budget(-1, 1, 1e-4)), UsageError);
    CHECK_THROWS_AS(static_cast<void>(objective_noise_budget(1, 1, 1)), UsageError);
  }

  TEST_CASE("two isolated nodes with opposite residues: the printed first term is 0, the true error 0.1") {
    const double e = 0.1;
    const TrainingSet none = [] {
      TrainingSet set(1, 1);
      set.append(0, std::vector<float>{0.0F}, 0);
      set.append(1, std::vector<float>{0.0F}, 0);
      return set;
    }();
    Eigen::MatrixXd difference(2, 1);
    difference << e, -e;
    ApproximationError error = column_error(difference);
    const double truth = std::abs(-0.5 * e + 0.5 * -e);  // slopes -y/2 at w = 0, labels +1 and -1
    CHECK(truth == doctest::Approx(0.1));
    CHECK(printed_approximation_term(Head::kLogistic, error) < 1e-15);
    CHECK(corrected_approximation_term(Head::kLogistic, error, 2, frobenius_norm(none.rows()), 0, 1) >= truth);
    CHECK(gradient_gap(Head::kLogistic, error, frobenius_norm(none.rows()), std::sqrt(2.0) / 2, 0) >=
          truth * (1 - 1e-9));
  }

  TEST_CASE("the gap of gradients covers the true one for every head, and the per-class term the logistic one") {
    for (unsigned seed = 0; seed < 40; ++seed)
      for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax}) {
        const TrainingSet near = random_rows(60, 4, 3, seed);
        const BatchChange moved =
            random_change(near, 0, 60, 0, 59, std::pow(10.0, -1 - static_cast<double>(seed % 4)), seed);
        TrainingSet exact = near;
        exact.apply(moved);
        const Matrix weights = random_matrix(4, 3, seed, 2);
        const Objective a = objective_of(near, 1e-3, head), b = objective_of(exact, 1e-3, head);
        const Gradient at_near = gradient_with_error(a, weights), at_exact = gradient_with_error(b, weights);
        const ApproximationError error = column_error(dense_rows(exact) - dense_rows(near));
        CHECK((at_exact.value - at_near.value).norm() <=
              gradient_gap(head, error, frobenius_norm(a.rows), at_near.slope_norm, weights.norm()));
        for (Eigen::Index c = 0; c < 3 && !couples_classes(head); ++c)
          CHECK((at_exact.value - at_near.value).col(c).norm() <=
                corrected_approximation_term(head, error, near.size(), true_norm(near), weights.col(c).norm(),
                                             at_near.class_slope_norm[c]) *
                    (1 + 1e-9));
      }
  }

  TEST_CASE("the gap counts slopes that change, also where every slope is zero before") {
    TrainingSet near(1, 1), exact(1, 1);
    for (NodeId node = 0; node < 50; ++node) {
      near.append(node, std::vector<float>{0.5F}, 0);
      exact.append(node, std::vector<float>{0.51F}, 0);
    }
    const Matrix weights = Matrix::Constant(1, 1, 2);
    const Objective objective = objective_of(near, 1e-3, Head::kLeastSquares);
    const Gradient at_near = gradient_with_error(objective, weights);
    const Gradient at_exact = gradient_with_error(objective_of(exact, 1e-3, Head::kLeastSquares), weights);
    const ApproximationError error = column_error(dense_rows(exact) - dense_rows(near));
    const double truth = (at_exact.value - at_near.value).norm(), frobenius = frobenius_norm(near.rows());
    CHECK(at_near.slope_norm == 0);
    CHECK(truth <= gradient_gap(Head::kLeastSquares, error, frobenius, 0, 2));
    CHECK(truth <= corrected_approximation_term(Head::kLeastSquares, error, 50, frobenius, 2, 0));
  }

  TEST_CASE("the corrected second term covers the true remainder, is below the printed one on rows of norm <= 1") {
    for (unsigned seed = 0; seed < 40; ++seed) {
      const TrainingSet set = random_rows(50, 5, 2, 100 + seed);
      const Objective objective = objective_of(set, 1e-3);
      const Matrix weights = random_matrix(5, 2, seed),
                   step = random_matrix(5, 2, seed + 1, std::pow(10, seed % 3 - 2.0));
      const CurvatureAction action = curvature_action(objective, weights, step);
      const Matrix remainder = gradient_with_error(objective, weights + step).value -
                               gradient_with_error(objective, weights).value - action.product;
      const double norm = true_norm(set);
      for (Eigen::Index c = 0; c < 2; ++c) {
        const double corrected = corrected_step_term(Head::kLogistic, norm, action.squared_image_norm[c], 0);
        CHECK(remainder.col(c).norm() <= corrected + 1e-12);
        CHECK(corrected <= printed_step_term(Head::kLogistic, norm, step.col(c).norm(), action.image_norm[c]));
      }
    }
    CHECK(corrected_step_term(Head::kLeastSquares, 3, 4, 0.25) == 0.25);
  }

  TEST_CASE("the spectral estimate lies between the norm and Frobenius, close to the norm") {
    for (unsigned seed = 0; seed < 12; ++seed) {
      const TrainingSet set = random_rows(1 + 37 * seed, 1 + 3 * seed, 2, 200 + seed);
      const double truth = true_norm(set), estimate = spectral_norm_above(set.rows());
      CHECK(truth <= estimate);
      CHECK(estimate <= frobenius_norm(set.rows()));
      CHECK(estimate <= 1.06 * truth);
    }
    CHECK(spectral_norm_above(TrainingSet(3, 2).rows()) == 0);
  }

  TEST_CASE("worst-case bounds, computed by hand from Theorems 4.2 to 4.4") {
    const WorstCase worst{8, 100, 0.01, 1e-3};
    const auto kappa = [](double m) { return 0.25 / 0.01 * 8 + std::sqrt(8 * m); };
    const double step99 = 2 * 0.25 * 8 / (0.01 * 99), step100 = 2 * 0.25 * 8 / (0.01 * 100);
    CHECK(worst.feature(9) == doctest::Approx(kappa(99) * (1e-3 + 8 * 0.25 * 8 / (0.01 * 99) * 3)));
    CHECK(worst.edge(4, 16) == doctest::Approx(2 * step100 + kappa(100) * (1e-3 + step100 * (2e-3 + 2 + 1))));
    const double neighbours[] = {4, 16};
    CHECK(worst.node(9, neighbours) == doctest::Approx(2 * step99 + kappa(99) * (1e-3 + step99 * (2e-3 + 12 + 2 + 1))));
  }
}
