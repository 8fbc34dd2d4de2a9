// tests/algorithms/solvers/objective_noise/network_scalegun_test.cpp - the deep variant of
// ScaleGUN: steps against blocks of the Hessian made of differences of a slow loss.
#include <doctest/doctest.h>

#include <Eigen/Eigenvalues>

#include "algorithms/numerics/matrix.h"
#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/slow_network.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

SolverOptions network_options(std::vector<std::size_t> hidden, double damping) {
  SolverOptions options;
  options.head = Head::kSoftmax;
  options.hidden = std::move(hidden);
  options.alpha = 0;
  options.parameters = {{"epochs", 4}, {"damping", damping}};
  return options;
}

/// First parameter and number of each tensor, as PyTorch would list them.
std::vector<std::pair<Eigen::Index, Eigen::Index>> tensors(const NetworkShape& shape) {
  std::vector<std::pair<Eigen::Index, Eigen::Index>> out;
  Eigen::Index first = 0;
  std::size_t inputs = shape.features / shape.blocks;
  std::vector<std::size_t> widths = shape.hidden;
  widths.push_back(shape.classes);
  for (const std::size_t width : widths) {
    out.emplace_back(first, index_of(inputs * width));
    out.emplace_back(first + out.back().second, index_of(width));
    first = out.back().first + out.back().second;
    inputs = width;
  }
  if (shape.blocks > 1) out.emplace_back(first, index_of(shape.blocks));
  return out;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("every tensor takes the step of its own block, for rows that left and rows that moved") {
    std::vector<SolverOptions> all(3, network_options({3}, 0.05));
    all[1].hidden = {3, 2};
    all[2].blocks = 2;  // a filter is a tensor too
    for (const SolverOptions& options : all) {
      const auto solver = make_solver("scalegun", options);
      CHECK(solver->reads_moved_rows());
      const TrainingSet rows = random_rows(40, 4, 3, 1);
      const Fit fit = solver->fit(rows, kExact);
      CHECK(fit.report.retrained);
      const NetworkShape shape = shape_of(fit.model);
      const Vector start = as_vector(fit.model.published);
      for (const auto& [removals, moves] : {std::pair<std::size_t, std::size_t>{3, 0}, {0, 9}, {3, 9}}) {
        const BatchChange change = random_change(rows, 0, 10, removals, moves, 0.3, 4);
        TrainingSet after = rows;
        after.apply(change);
        Model model = fit.model;
        const StepReport report = solver->absorb(model, after, change, kExact);
        CHECK_FALSE(report.retrained);
        CHECK_FALSE(report.certified);
        CHECK_FALSE(report.claim.has_value());
        CHECK_FALSE(kind_of(model).claims);
        CHECK(report.terms.at("unfinished_tensors") == 0);
        CHECK(report.terms.at("removed_rows") == static_cast<double>(removals));
        CHECK(report.terms.at("moved_rows") == static_cast<double>(moves));
        const Vector right = slow_gradient(shape, start, rows) - slow_gradient(shape, start, after);
        const Vector step = as_vector(model.published) - start;
        for (const auto& [first, size] : tensors(shape)) {
          Eigen::MatrixXd block = slow_block(shape, start, after, first, size);
          block.diagonal().array() += 0.05;
          const double least = block.selfadjointView<Eigen::Lower>().eigenvalues().minCoeff();
          REQUIRE(least > 0);
          const Eigen::VectorXd wanted = right.segment(first, size);
          REQUIRE(wanted.norm() > 1e-5);
          const Eigen::VectorXd exact = block.llt().solve(wanted);
          CHECK((block * step.segment(first, size) - wanted).norm() < 1.1e-4 * wanted.norm());
          CHECK((step.segment(first, size) - exact).norm() < 1.1e-4 / least * wanted.norm());
        }
      }
    }
  }

  TEST_CASE("a block that does not curve upward leaves the change of the gradient as the step") {
    const SolverOptions options = network_options({1}, 1e-4);
    const auto solver = make_solver("scalegun", options);
    bool met = false;
    for (unsigned seed = 0; seed < 40 && !met; ++seed) {
      const TrainingSet rows = random_rows(12, 3, 2, seed);
      Fit fit = solver->fit(rows, kExact);
      const NetworkShape shape = shape_of(fit.model);
      fit.model.published *= -1;  // far from a minimum
      const Vector start = as_vector(fit.model.published);
      const BatchChange change = random_change(rows, 0, 4, 2, 3, 0.3, seed);
      TrainingSet after = rows;
      after.apply(change);
      const auto [bias, size] = tensors(shape)[1];
      REQUIRE(size == 1);
      if (slow_block(shape, start, after, bias, 1)(0, 0) > -1e-3) continue;
      met = true;
      const double right = slow_gradient(shape, start, rows)[bias] - slow_gradient(shape, start, after)[bias];
      const StepReport report = solver->absorb(fit.model, after, change, kExact);
      CHECK(report.terms.at("unfinished_tensors") >= 1);
      CHECK(fit.model.published(bias, 0) - start[bias] == doctest::Approx(right).epsilon(1e-6));
    }
    CHECK(met);
  }

  TEST_CASE("learning has the paper's noise; without it, without rows and after a missed batch it is that of retrain") {
    SolverOptions options = network_options({4}, 1e-4);
    const TrainingSet rows = random_rows(60, 5, 3, 2);
    SolverOptions plain = options;
    plain.parameters.erase("damping");
    const Matrix reference = make_solver("retrain", plain)->fit(rows, kExact).model.published;
    const auto quiet = make_solver("scalegun", options);
    Fit fit = quiet->fit(rows, kExact);
    CHECK(fit.model.published == reference);

    BatchChange all(5, 3);
    for (std::size_t i = 0; i < rows.size(); ++i) all.removed.append(rows.nodes()[i], rows.row(i), rows.labels()[i]);
    const TrainingSet none(5, 3);
    CHECK(quiet->absorb(fit.model, none, all, kExact).retrained);
    CHECK(fit.model.published.allFinite());
    CHECK(quiet->catch_up(fit.model, rows, kExact).retrained);
    CHECK(fit.model.published == reference);

    options.alpha = 5;
    options.seed = 1;
    const Matrix one = make_solver("scalegun", options)->fit(rows, kExact).model.published;
    CHECK(one == make_solver("scalegun", options)->fit(rows, kExact).model.published);
    options.seed = 2;
    const Matrix other = make_solver("scalegun", options)->fit(rows, kExact).model.published;
    CHECK((one - reference).norm() > 1e-2);
    CHECK((one - other).norm() > 1e-2);

    options.parameters["damping"] = 0;
    CHECK_THROWS_WITH_AS(make_solver("scalegun", options), "set=damping must be above 0", UsageError);
  }
}
