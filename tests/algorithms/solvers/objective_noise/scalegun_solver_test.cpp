// tests/algorithms/solvers/objective_noise/scalegun_solver_test.cpp - steps, accounts and triggers
// of the published methods, densely checked.
#include "algorithms/solvers/objective_noise/scalegun_solver.h"

#include <doctest/doctest.h>

#include <cmath>

#include "algorithms/learning/objective.h"
#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

SolverOptions scalegun_options(double alpha = 0.1) {
  SolverOptions options;
  options.seed = 5;
  options.lambda = 1e-2;
  options.alpha = alpha;
  return options;
}

/// |grad L_b| per class at the model's weights, by dense algebra.
Vector true_residual(const Model& model, const TrainingSet& rows, double lambda, Head head = Head::kLogistic) {
  Vector out(model.published.cols());
  const Matrix noise = objective_noise_state(model).noise;
  for (Eigen::Index c = 0; c < out.size(); ++c)
    out[c] = dense_gradient(rows, lambda * static_cast<double>(rows.size()), model.published.col(c), size_of(c), head,
                            noise.col(c))
                 .norm();
  return out;
}

/// w + H^-1 (gradient before - gradient after), H on the data before or after.
Matrix dense_step(const Model& model, const TrainingSet& before, const TrainingSet& after, double lambda,
                  bool on_before) {
  Matrix out = model.published;
  const double mu0 = lambda * static_cast<double>(before.size()), mu1 = lambda * static_cast<double>(after.size());
  for (Eigen::Index c = 0; c < out.cols(); ++c) {
    const Eigen::VectorXd w = out.col(c), none = Eigen::VectorXd::Zero(w.size());
    const Eigen::VectorXd delta = dense_gradient(before, mu0, w, size_of(c), Head::kLogistic, none) -
                                  dense_gradient(after, mu1, w, size_of(c), Head::kLogistic, none);
    const Eigen::MatrixXd hessian =
        on_before ? dense_hessian(before, mu0, w, Head::kLogistic) : dense_hessian(after, mu1, w, Head::kLogistic);
    out.col(c) += hessian.llt().solve(delta);
  }
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("one batch is the dense Newton step, with the right Hessian and the right n before and after") {
    for (const char* name : {"scalegun", "cgu", "ceu", "scalegun with memory", "cgu with memory", "ceu with memory"}) {
      const SolverOptions options = scalegun_options(10);
      const std::string_view method = std::string_view(name).substr(0, std::string_view(name).find(' '));
      const auto solver = make_solver(method, options, {method != name ? std::size_t{1} << 20 : 0});
      const bool edges = method == "ceu";
      const TrainingSet before = random_rows(150, 6, 3, 51);
      const BatchChange change = random_change(before, 0, 30, edges ? 0 : 4, 40, 0.05, 3);
      TrainingSet after = before;
      after.apply(change);
      Fit fit = solver->fit(before, kExact);
      CHECK(true_residual(fit.model, before, options.lambda).norm() <= options.tau * 1.01);
      const Matrix expected = dense_step(fit.model, before, after, options.lambda, edges);
      const Matrix start = fit.model.published;
      const StepReport report = solver->absorb(fit.model, after, change, kExact);
      CHECK_FALSE(report.retrained);
      CHECK_FALSE(report.certified);
      CHECK(report.claim->substr(0, 12) == "as published");
      CHECK((expected - start).norm() > 1e-3);
      const double allowed = report.terms.at("solver_error") / (options.lambda * 146) + 1e-9;
      CHECK((fit.model.published - expected).norm() <= allowed);
      CHECK(allowed < 1e-2 * (expected - start).norm());
    }
  }

  TEST_CASE("the corrected account covers the true residual of every class along a sequence") {
    for (const char* name : {"scalegun", "cgu", "ceu"})
      for (const Head head : {Head::kLogistic, Head::kLeastSquares}) {
        SolverOptions options = scalegun_options(3);
        options.head = head;
        const auto solver = make_solver(name, options);
        TrainingSet rows = random_rows(200, 8, 2, 52);
        Fit fit = solver->fit(rows, kExact);
        for (unsigned step = 0; step < 15; ++step) {
          const BatchChange change =
              random_change(rows, step, 90, std::string_view(name) == "ceu" ? 0 : 2, 20, 0.05, step);
          rows.apply(change);
          const StepReport report = solver->absorb(fit.model, rows, change, kExact);
          if (name != std::string_view("ceu")) CHECK_FALSE(report.retrained);
          const Vector truth = true_residual(fit.model, rows, options.lambda, head);
          for (Eigen::Index c = 0; c < 2; ++c)
            CHECK(truth[c] <= objective_noise_state(fit.model).accumulated[c] + 1e-10);
          CHECK(report.residual_bound == doctest::Approx(objective_noise_state(fit.model).accumulated.norm()));
          CHECK(report.terms.at("accumulated") == doctest::Approx(report.residual_bound));
        }
      }
  }

  TEST_CASE("past the budget the model is trained again with a fresh B and an empty account") {
    SolverOptions options = scalegun_options(2e-4);
    const auto solver = make_solver("cgu", options);
    TrainingSet rows = random_rows(200, 6, 2, 53);
    Fit fit = solver->fit(rows, kExact);
    CHECK(fit.report.residual_bound <= fit.report.budget);
    bool retrained = false;
    for (unsigned step = 0; step < 10; ++step) {
      const Matrix noise = objective_noise_state(fit.model).noise;
      const BatchChange change = random_change(rows, 0, 20, 3, 60, 0.2, step);
      rows.apply(change);
      const StepReport report = solver->absorb(fit.model, rows, change, kExact);
      CHECK((objective_noise_state(fit.model).noise != noise) == report.retrained);
      if (report.retrained) CHECK(true_residual(fit.model, rows, options.lambda).norm() <= 1.01 * options.tau);
      CHECK(report.residual_bound <= report.budget);
      retrained = retrained || report.retrained;
    }
    CHECK(retrained);
  }

  TEST_CASE("the paper's rule is the class mean of the printed terms, the corrected one is joint") {
    SolverOptions paper = scalegun_options(3), joint = scalegun_options(3);
    paper.bound = BoundRule::kPaper;
    const TrainingSet before = random_rows(150, 6, 4, 54);
    const BatchChange change = random_change(before, 0, 30, 4, 40, 0.05, 3);
    TrainingSet after = before;
    after.apply(change);
    Fit a = make_solver("scalegun", paper)->fit(before, kExact),
        b = make_solver("scalegun", joint)->fit(before, kExact);
    const StepReport by_paper = make_solver("scalegun", paper)->absorb(a.model, after, change, kExact);
    const StepReport by_joint = make_solver("scalegun", joint)->absorb(b.model, after, change, kExact);
    CHECK(by_paper.residual_bound == doctest::Approx(objective_noise_state(a.model).accumulated_printed.mean()));
    CHECK(by_joint.residual_bound == doctest::Approx(objective_noise_state(b.model).accumulated.norm()));
    CHECK(by_paper.budget == by_joint.budget);
    CHECK(by_paper.terms.at("corrected_bound") == doctest::Approx(by_joint.terms.at("corrected_bound")));
    CHECK(objective_noise_state(a.model).accumulated_printed.norm() >
          objective_noise_state(b.model).accumulated.norm());  // each printed term is the larger one
    CHECK(objective_noise_state(a.model).accumulated_printed.mean() <
          objective_noise_state(a.model).accumulated_printed.norm());  // yet the class rule asks less
  }

  TEST_CASE("a lazy embedding: covered by the corrected bound, refused where it spends the budget alone") {
    const SolverOptions options = scalegun_options(10);
    const auto solver = make_solver("scalegun", options);
    const TrainingSet near = random_rows(120, 5, 2, 55);
    const BatchChange drift = random_change(near, 0, 120, 0, 119, 1e-3, 9);
    TrainingSet exact = near;
    exact.apply(drift);
    const Eigen::MatrixXd difference = dense_rows(exact) - dense_rows(near);
    ApproximationError lazy;
    lazy.euclidean = difference.colwise().norm();
    lazy.absolute = difference.cwiseAbs().colwise().sum();
    lazy.residue_sum = difference.colwise().sum();
    Fit fit = solver->fit(near, lazy);
    CHECK_FALSE(fit.report.flush_needed);
    CHECK(true_residual(fit.model, exact, options.lambda).norm() <= fit.report.residual_bound);
    CHECK(fit.report.terms.at("approximation") > 0);

    const Model before = fit.model;
    const BatchChange nothing(5, 2);
    for (const char* name : {"cgu", "ceu"}) {  // these need the exact embedding
      Fit other = make_solver(name, options)->fit(near, kExact);
      CHECK(make_solver(name, options)->absorb(other.model, near, nothing, lazy).flush_needed);
    }
    lazy.euclidean *= 1e4;
    lazy.absolute *= 1e4;
    const StepReport refused = solver->absorb(fit.model, near, nothing, lazy);
    CHECK(refused.flush_needed);
    CHECK(refused.residual_bound > refused.budget);
    CHECK(fit.model.published == before.published);
  }

  TEST_CASE("ceu knows edges alone: other requests retrain") {
    const auto solver = make_solver("ceu", scalegun_options(10));
    TrainingSet rows = random_rows(100, 4, 2, 56);
    Fit fit = solver->fit(rows, kExact);
    const BatchChange change = random_change(rows, 0, 30, 2, 10, 0.05, 3);
    rows.apply(change);
    CHECK(solver->absorb(fit.model, rows, change, kExact).retrained);
    CHECK(fit.model.trained_rows == rows.size());
  }

  TEST_CASE("degenerate tasks: no rows left, one class, one feature") {
    for (const char* name : {"scalegun", "cgu", "ceu"})
      for (const std::size_t classes : {std::size_t{1}, std::size_t{3}}) {
        const auto solver = make_solver(name, scalegun_options(10));
        TrainingSet rows = random_rows(12, 1, classes, 57, 1);
        Fit fit = solver->fit(rows, kExact);
        const BatchChange change = random_change(rows, 0, 1, 12, 0, 0, 1);
        rows.apply(change);
        static_cast<void>(solver->absorb(fit.model, rows, change, kExact));
        CHECK(fit.model.published.allFinite());
        CHECK(fit.model.trained_rows == 0);
      }
  }
}
