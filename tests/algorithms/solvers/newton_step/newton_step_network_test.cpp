// tests/algorithms/solvers/newton_step/newton_step_network_test.cpp - damped steps of networks
// against dense solutions, over Hessians made of differences of a slow loss.
#include <doctest/doctest.h>

#include <Eigen/Eigenvalues>

#include "algorithms/learning/damped_step.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/registry/registry.h"
#include "algorithms/sgd/sgd_run.h"
#include "algorithms/solvers/hessian_free/hessian_free_state.h"
#include "algorithms/solvers/newton_step/newton_step_solver.h"
#include "algorithms/unlearning/noiseless_learning.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/slow_network.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr double kLambda = 0.02;

SolverOptions network_options(std::vector<std::size_t> hidden, double epochs, double damping) {
  SolverOptions options;
  options.head = Head::kSoftmax;
  options.hidden = std::move(hidden);
  options.lambda = kLambda;
  options.parameters = {{"epochs", epochs}, {"damping", damping}};
  return options;
}

/// Mean Hessian with the term of lambda, dense.
Eigen::MatrixXd slow_hessian(const NetworkShape& shape, const Vector& at, const TrainingSet& rows) {
  Eigen::MatrixXd out = slow_block(shape, at, rows, 0, at.size());
  out.diagonal().array() += kLambda;
  return out;
}

/// Sum over the rows of the gradients of loss + lambda |w|^2 / 2.
Vector slow_sum(const NetworkShape& shape, const Vector& at, const TrainingSet& rows) {
  return static_cast<double>(rows.size()) * (slow_gradient(shape, at, rows) + kLambda * at);
}

double least_eigenvalue(const Eigen::MatrixXd& symmetric) {
  return symmetric.selfadjointView<Eigen::Lower>().eigenvalues().minCoeff();
}

struct Step {
  StepReport report;
  NetworkShape shape;
  Vector start, step;
  Eigen::MatrixXd hessian;  ///< that the solver should use, without damping
  Vector right;
};

Step step_of(std::string_view name, const SolverOptions& options, unsigned seed, std::size_t removals,
             std::size_t moves) {
  const auto solver = make_solver(name, options);
  const TrainingSet rows = random_rows(40, 4, 3, seed);
  Fit fit = solver->fit(rows, kExact);
  CHECK(fit.report.retrained);
  Step step;
  step.shape = shape_of(fit.model);
  step.start = as_vector(fit.model.published);
  const BatchChange change = random_change(rows, 0, 10, removals, moves, 0.3, 4);
  TrainingSet after = rows;
  after.apply(change);
  step.report = solver->absorb(fit.model, after, change, kExact);
  step.step = as_vector(fit.model.published) - step.start;
  const TrainingSet& of = name == "jackknife" ? rows : after;
  step.hessian = slow_hessian(step.shape, step.start, of);
  step.right = (slow_sum(step.shape, step.start, rows) - slow_sum(step.shape, step.start, after)) /
               static_cast<double>(of.size());
  CHECK_FALSE(step.report.retrained);
  CHECK_FALSE(step.report.certified);
  CHECK_FALSE(step.report.claim.has_value());
  CHECK_FALSE(kind_of(fit.model).claims);
  CHECK(step.report.terms.at("removed_rows") == static_cast<double>(removals));
  CHECK(step.report.terms.at("moved_rows") == static_cast<double>(moves));
  CHECK(step.report.terms.at("step_norm") == doctest::Approx(step.step.norm()).epsilon(1e-9));
  return step;
}

Eigen::MatrixXd damped(const Step& step, double damping) {
  return step.hessian + damping * Eigen::MatrixXd::Identity(step.hessian.rows(), step.hessian.cols());
}

void check_solved(const Step& step) {
  const Eigen::MatrixXd matrix = damped(step, step.report.terms.at("damping"));
  REQUIRE(step.right.norm() > 1e-5);
  CHECK((matrix * step.step - step.right).norm() < 1e-5 * step.right.norm());
  const Eigen::VectorXd exact = matrix.fullPivLu().solve(step.right);
  CHECK((step.step - exact).norm() < 1e-5 / std::abs(least_eigenvalue(matrix)) * step.right.norm());
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a network takes the step of its whole damped Hessian, for rows that left and rows that moved" *
            doctest::test_suite("slow")) {
    std::vector<SolverOptions> all(3, network_options({3}, 40, 0.5));
    all[1].hidden = {3, 2};
    all[1].activation = Activation::kSmelu;
    all[2].blocks = 2;
    for (const SolverOptions& options : all)
      for (const char* name : {"newton-step", "jackknife"}) {
        CAPTURE(name);
        CHECK(make_solver(name, options)->reads_moved_rows());
        for (const auto& [removals, moves] : {std::pair<std::size_t, std::size_t>{3, 0}, {0, 9}, {3, 9}}) {
          const Step step = step_of(name, options, 1, removals, moves);
          CHECK(step.report.terms.at("damping") == 0.5);
          check_solved(step);
        }
      }
  }

  TEST_CASE("where the Hessian does not curve upward the damping is raised until it does, and no further" *
            doctest::test_suite("slow")) {
    int met = 0;
    for (unsigned seed = 1; seed < 8; ++seed)
      for (const char* name : {"newton-step", "jackknife"}) {
        const Step step = step_of(name, network_options({4}, 3, 1e-4), seed, 4, 6);
        if (least_eigenvalue(damped(step, 1e-4)) > -1e-3) continue;
        ++met;
        const double used = step.report.terms.at("damping");
        CHECK(used > 1e-4);
        CHECK(std::log(used / 1e-4) / std::log(4) == doctest::Approx(std::round(std::log(used / 1e-4) / std::log(4))));
        CHECK(least_eigenvalue(damped(step, used / 4)) < 1e-6);
        CHECK(least_eigenvalue(damped(step, used)) > 0);
        check_solved(step);
      }
    CHECK(met >= 4);
  }

  TEST_CASE(
      "damped systems of a given spectrum: exact, raised by fours, and as they are where no direction shows more") {
    const auto solve = [](const Vector& spectrum, const Vector& right) {
      return solve_damped([&](const Vector& v) -> Vector { return spectrum.cwiseProduct(v); }, right, 0.01);
    };
    Vector spectrum(3), right(3);
    right << 1, -2, 0.5;
    spectrum << 1, 0.2, 2;
    const DampedStep upward = solve(spectrum, right);
    CHECK(upward.damping == 0.01);
    CHECK((upward.step - right.cwiseQuotient((spectrum.array() + 0.01).matrix())).norm() < 1e-5);
    CHECK(upward.missing < 2e-6 * right.norm());
    spectrum << 1, -0.3, 2;
    const DampedStep raised = solve(spectrum, right);
    CHECK(raised.damping == doctest::Approx(0.64));
    CHECK((raised.step - right.cwiseQuotient((spectrum.array() + 0.64).matrix())).norm() < 1e-5);
    CHECK(raised.products > upward.products);
    right << 1, 0, 0.5;  // has nothing of the direction that curves down
    CHECK(solve(spectrum, right).damping == 0.01);
    for (const double tiny : {0.0, 1e-300}) {
      const DampedStep none = solve(spectrum, Vector::Constant(3, tiny));
      CHECK(none.step.norm() == 0);
      CHECK(none.damping == 0.01);
    }
  }

  TEST_CASE("it starts from the run of hessian-free, and comes nearer to the run over the slots that are left") {
    SolverOptions options = network_options({3}, 300, 0.01);
    const TrainingSet rows = random_rows(60, 4, 3, 2);
    SolverOptions plain = options;
    plain.parameters.erase("damping");
    const testing::TempDir dir;
    const auto vectors = make_solver("hessian-free", plain, {0, dir / "vectors"});
    const std::vector<double> run = vectors->fit(rows, kExact).model.state.arrays.at("clean");
    for (const char* name : {"newton-step", "jackknife"}) {
      CAPTURE(name);
      const auto solver = make_solver(name, options);
      Fit fit = solver->fit(rows, kExact);
      const Matrix start = fit.model.published;
      CHECK((as_vector(start) - Eigen::Map<const Vector>(run.data(), index_of(run.size()))).norm() < 1e-6);
      const BatchChange change = random_change(rows, 0, 10, 2, 0, 0.3, 4);
      TrainingSet after = rows;
      after.apply(change);
      Model again = fit.model;
      CHECK(solver->catch_up(again, after, kExact).retrained);
      CHECK(solver->absorb(fit.model, after, change, kExact).terms.at("damping") == 0.01);
      CHECK((fit.model.published - again.published).norm() < 0.8 * (start - again.published).norm());
      CHECK(fit.model.state.arrays == again.state.arrays);

      BatchChange all(4, 3);
      for (std::size_t i = 0; i < after.size(); ++i)
        all.removed.append(after.nodes()[i], after.row(i), after.labels()[i]);
      CHECK(solver->absorb(fit.model, TrainingSet(4, 3), all, kExact).retrained);
      const Network network(shape_of(fit.model));
      CHECK(as_vector(fit.model.published) == network.initial(1));
    }
  }

  TEST_CASE("what cannot be is refused") {
    for (const char* name : {"newton-step", "jackknife"}) {
      CHECK_THROWS_WITH_AS(make_solver(name, network_options({3}, 5, 0.0)), "set=damping must be above 0 with head=mlp",
                           UsageError);
      CHECK_THROWS_WITH_AS(make_solver(name, network_options({3}, 5, -1.0)), "set=damping must be at least 0",
                           UsageError);
      CHECK_THROWS_AS(make_solver(name, network_options({3}, 0, 1)), UsageError);
      CHECK_THROWS_AS(make_solver(name, network_options({}, 5, 1)), UsageError);  // epochs of a minimiser
      const auto solver = make_solver(name, network_options({3}, 5, 1));
      const TrainingSet rows = random_rows(20, 4, 3, 2);
      const Fit fit = solver->fit(rows, kExact);
      for (const std::vector<double>& nodes : {std::vector<double>{}, {0.5}, {-1}, {1e12}}) {
        Model wrong = fit.model;
        wrong.state.arrays["nodes"] = nodes;
        CHECK_THROWS_AS(static_cast<void>(solver->absorb(wrong, rows, BatchChange(4, 3), kExact)), UsageError);
      }
    }
  }
}
