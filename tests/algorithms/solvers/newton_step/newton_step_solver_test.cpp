// tests/algorithms/solvers/newton_step/newton_step_solver_test.cpp - newton-step and jackknife
// against dense minimisers.
#include "algorithms/solvers/newton_step/newton_step_solver.h"

#include <doctest/doctest.h>

#include <cmath>

#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "support/learner_data.h"

namespace unweave {
namespace {

using testing::dense_minimiser;
using testing::random_change;
using testing::random_rows;

constexpr double kLambda = 0.02;

SolverOptions newton_step_options(Head head, double damping = 0) {
  SolverOptions options;
  options.head = head;
  options.lambda = kLambda;
  options.seed = 4;
  if (damping > 0) options.parameters["damping"] = damping;
  return options;
}

Matrix clean_of(const Model& model) {
  return Eigen::Map<const Matrix>(model.state.arrays.at("clean").data(), model.published.rows(),
                                  model.published.cols());
}

struct Step {
  StepReport report;
  Matrix before, after;
  TrainingSet rows;
};

Step step_of(std::string_view name, const SolverOptions& options, std::size_t removals, std::size_t moves,
             double distance = 0.3) {
  const TrainingSet rows = random_rows(200, 9, 3, 2);
  const std::unique_ptr<Solver> solver = make_solver(name, options);
  Fit fit = solver->fit(rows, {});
  REQUIRE(fit.report.certified);
  const BatchChange change = random_change(rows, 3, 5, removals, moves, distance, 8);
  Step step{{}, clean_of(fit.model), {}, rows};
  step.rows.apply(change);
  step.report = solver->absorb(fit.model, step.rows, change, {});
  step.after = clean_of(fit.model);
  CHECK((fit.model.published - step.after).norm() < 20 * step.report.terms.at("sigma") * std::sqrt(27.0));
  return step;
}

TEST_SUITE("unit") {
  TEST_CASE("one Newton step is exact for least squares, whatever left or moved, and certified") {
    for (const auto& [removals, moves] : {std::pair{1UL, 0UL}, {30UL, 0UL}, {0UL, 20UL}, {20UL, 60UL}}) {
      const Step step = step_of("newton-step", newton_step_options(Head::kLeastSquares), removals, moves);
      const Matrix truth = dense_minimiser(step.rows, kLambda, Head::kLeastSquares);
      CHECK((step.before - truth).norm() > 1e-4);
      CHECK((step.after - truth).norm() < 1e-6);
      CHECK(step.report.residual_bound <= 1e-6);
      CHECK(step.report.certified);
      CHECK(step.report.claim == "T1");
      CHECK_FALSE(step.report.retrained);
    }
  }

  TEST_CASE("a step that leaves a gradient above tau is not certified") {
    for (const char* name : {"newton-step", "jackknife"})
      for (const Head head : {Head::kLogistic, Head::kSoftmax}) {
        const Step step = step_of(name, newton_step_options(head), 30, 10);
        const Matrix truth = dense_minimiser(step.rows, kLambda, head);
        CHECK(step.report.residual_bound > 1e-6);
        CHECK_FALSE(step.report.certified);
        CHECK(step.report.claim->starts_with("as published: "));
        CHECK((step.after - truth).norm() < 0.4 * (step.before - truth).norm());
      }
  }

  TEST_CASE("the two Hessians differ to second order in what is removed, and newton-step is the better") {
    const Matrix left = step_of("newton-step", newton_step_options(Head::kLogistic), 1, 0).after;
    const Step all = step_of("jackknife", newton_step_options(Head::kLogistic), 1, 0);
    const double moved = (all.after - all.before).norm();
    CHECK((left - all.after).norm() < 0.2 * moved);
    CHECK((left - all.after).norm() > 1e-4 * moved);
    const Matrix truth = dense_minimiser(all.rows, kLambda, Head::kLogistic);
    CHECK((left - truth).norm() < (all.after - truth).norm());
    // Least squares: H' s = g against H s = g, by dense solutions.
    const Step before = step_of("jackknife", newton_step_options(Head::kLeastSquares), 25, 0);
    const Eigen::MatrixXd z = testing::dense_rows(random_rows(200, 9, 3, 2));
    const Eigen::MatrixXd hessian = z.transpose() * z + kLambda * 200 * Eigen::MatrixXd::Identity(9, 9);
    const Eigen::MatrixXd kept = testing::dense_rows(before.rows);
    const Eigen::MatrixXd after = kept.transpose() * kept + kLambda * 175 * Eigen::MatrixXd::Identity(9, 9);
    const Matrix truth_step = dense_minimiser(before.rows, kLambda, Head::kLeastSquares) - before.before;
    CHECK((before.after - before.before - hessian.llt().solve(after * truth_step)).norm() < 1e-6);
  }

  TEST_CASE("damping is added to the mean Hessian") {
    const Step step = step_of("newton-step", newton_step_options(Head::kLeastSquares, 0.01), 20, 0);
    const Eigen::MatrixXd kept = testing::dense_rows(step.rows);
    const Eigen::MatrixXd hessian = kept.transpose() * kept + kLambda * 180 * Eigen::MatrixXd::Identity(9, 9);
    const Eigen::MatrixXd damped = hessian + 0.01 * 180 * Eigen::MatrixXd::Identity(9, 9);
    const Matrix truth_step = dense_minimiser(step.rows, kLambda, Head::kLeastSquares) - step.before;
    CHECK((step.after - step.before - damped.llt().solve(hessian * truth_step)).norm() < 1e-6);
    CHECK_FALSE(step.report.certified);
    CHECK(step.report.terms.at("damping") == 0.01);
    SolverOptions wrong;
    wrong.parameters["damping"] = -1;
    CHECK_THROWS_AS(static_cast<void>(make_solver("jackknife", wrong)), UsageError);
  }

  TEST_CASE("printed bounds, standardised features and stale rows are not certified") {
    const TrainingSet rows = random_rows(50, 5, 3, 2);
    SolverOptions paper = newton_step_options(Head::kLogistic), columns = paper;
    paper.bound = BoundRule::kPaper;
    columns.standardized = true;
    CHECK_FALSE(make_solver("newton-step", paper)->fit(rows, {}).report.certified);
    CHECK_FALSE(make_solver("jackknife", columns)->fit(rows, {}).report.certified);
  }
}

}  // namespace
}  // namespace unweave
