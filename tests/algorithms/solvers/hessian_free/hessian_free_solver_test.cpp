// tests/algorithms/solvers/hessian_free/hessian_free_solver_test.cpp - removal by addition: order,
// noise, what is certified, what trains again.
#include "algorithms/solvers/hessian_free/hessian_free_solver.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "algorithms/registry/registry.h"
#include "algorithms/sgd/sgd_run.h"
#include "algorithms/solvers/hessian_free/hessian_free_state.h"
#include "algorithms/unlearning/noiseless_learning.h"
#include "algorithms/unlearning/release.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::random_rows;
using testing::TempDir;

SolverOptions hessian_free_options(std::map<std::string, double, std::less<>> parameters = {}) {
  SolverOptions options;
  options.lambda = 0.05;
  options.seed = 3;
  options.parameters = std::move(parameters);
  options.parameters.emplace("epochs", 6);
  options.parameters.emplace("batch-rows", 16);
  return options;
}

/// A model on rows that leave.
struct World {
  TempDir folder;
  std::unique_ptr<Solver> solver;
  TrainingSet rows;
  Model model;
  StepReport report;

  explicit World(const SolverOptions& options, std::size_t count = 90)
      : rows(random_rows(count, 8, 3, 11, 0, options.intercept)) {
    solver = make_solver("hessian-free", options, {std::size_t{1} << 28, folder / "f"});
    Fit fit = solver->fit(rows, {});
    model = std::move(fit.model);
    report = fit.report;
    solver->tidy(model);
  }

  /// The rows with these indices among those present leave, and that of index `moved` moves.
  StepReport remove(const std::vector<std::size_t>& indices, std::size_t moved = SIZE_MAX) {
    BatchChange change(rows.features(), rows.classes(), rows.form());
    for (const std::size_t i : indices) change.removed.append(rows.nodes()[i], rows.row(i), rows.labels()[i]);
    if (moved < rows.size()) {
      std::vector<float> row(rows.row(moved).begin(), rows.row(moved).end());
      change.moved_from.append(rows.nodes()[moved], row, rows.labels()[moved]);
      for (float& x : row) x = -x;
      change.moved_to.append(rows.nodes()[moved], row, rows.labels()[moved]);
    }
    rows.apply(change);
    report = solver->absorb(model, rows, change, {});
    solver->tidy(model);
    return report;
  }
  [[nodiscard]] HessianFreeState state() const { return hessian_free_state(model); }
  /// The end of a run on the rows that are left.
  [[nodiscard]] Vector retrained() const {
    const HessianFreeState own = state();
    const Network network(shape_of(model));
    const SgdSchedule schedule(own.constants.sgd);
    return end_of_run(SgdRun(network, rows, schedule, own.slots, 0.05)).weights;
  }
  [[nodiscard]] double distance() const { return (state().clean - retrained()).norm(); }
};

TEST_SUITE("unit") {
  TEST_CASE("T3: along a stream every certified release stands within its distance of a run on the present rows" *
            doctest::test_suite("slow")) {
    for (const auto& kind : {std::pair("forward", false), {"backward", false}, {"forward", true}}) {
      const char* const way = kind.first;
      const bool intercept = kind.second;
      for (const Head head : {Head::kLogistic, Head::kSoftmax, Head::kLeastSquares}) {
        SolverOptions options = hessian_free_options({{"backward", way == std::string("backward") ? 1.0 : 0.0}});
        options.head = head;
        options.intercept = intercept;
        options.lambda = 0.05;
        options.parameters["s-max"] = 0.5;
        World world(options, 600);
        CAPTURE(way);
        CAPTURE(intercept);
        CHECK(world.report.certified);
        CHECK(world.report.retrained);
        CHECK(world.report.residual_bound == 0);
        CHECK(world.distance() < 1e-12);
        int certified = 0;
        for (int i = 0; i < 4; ++i) {
          const Vector before = world.state().clean;
          const StepReport report = world.remove({static_cast<std::size_t>(100 * i)});
          CHECK_FALSE(report.retrained);
          CHECK(report.passes == 0);
          const double distance = world.distance();
          CHECK(distance <= report.residual_bound);
          CHECK(report.certified == (report.residual_bound <= 0.5));
          CHECK(distance < 0.5 * (before - world.retrained()).norm());
          certified += report.certified ? 1 : 0;
        }
        if (!intercept) CHECK(certified >= 2);  // also of rows that were no declared group
      }
    }
  }

  TEST_CASE("published weights are the clean ones with noise for s-max, fresh at each release, of one level") {
    World world(hessian_free_options());
    const double sigma = world.report.terms.at("sigma");
    const Matrix first = world.model.published;
    CHECK(sigma == doctest::Approx(0.1).epsilon(1e-3));
    world.remove({5});
    CHECK(world.report.terms.at("sigma") == sigma);
    world.remove({6, 20});
    CHECK(world.report.terms.at("sigma") == sigma);
    const Vector noise = as_vector(world.model.published) - world.state().clean;
    CHECK(noise.norm() == doctest::Approx(sigma * std::sqrt(24.0)).epsilon(0.5));
    const Vector fresh = as_vector(first) - world.state().clean;
    CHECK((fresh - noise).norm() > 0.2 * noise.norm());
  }

  TEST_CASE("removals in any order and in any batches end in the same bits") {
    World one(hessian_free_options()), two(hessian_free_options()), all(hessian_free_options());
    for (const std::size_t i : {10, 40, 70}) one.remove({i});  // nodes 10, 41, 72 of the first numbering
    for (const std::size_t i : {72, 41, 10}) two.remove({i});
    all.remove({10, 41, 72});
    CHECK(one.state().clean == two.state().clean);
    CHECK(one.state().clean == all.state().clean);
    CHECK(one.report.residual_bound == doctest::Approx(all.report.residual_bound));
    CHECK(one.state().slots == all.state().slots);
  }

  TEST_CASE("T3 sabotage: vectors without the rows that moved are caught") {
    World world(hessian_free_options());
    const Vector added = [&] {
      World other(hessian_free_options());
      other.remove({12});
      return other.state().clean;
    }();
    const StepReport report = world.remove({12}, 50);
    CHECK(report.retrained);
    CHECK(report.certified);
    CHECK(report.terms.at("moved_rows") == 1);
    CHECK(world.distance() < 1e-12);
    // What the vectors alone say is further off than the noise covers.
    CHECK((added - world.retrained()).norm() > report.budget);
    CHECK(report.terms.at("statistics") == 0);
    CHECK(std::filesystem::is_empty(world.folder / "f"));
    CHECK(world.remove({3}).retrained);
    CHECK(world.distance() < 1e-12);
  }

  TEST_CASE("a declared group leaves by one vector, a part of it by training again") {
    World world(hessian_free_options({{"group-rows", 4}, {"s-max", 0.2}}));
    CHECK(world.report.terms.at("group_rows") == 4);
    StepReport report = world.remove({8, 9, 10, 11});
    CHECK_FALSE(report.retrained);
    CHECK(report.certified);
    CHECK(report.claim == "T3");
    CHECK(world.distance() <= report.residual_bound);
    CHECK(world.state().removed == std::vector<std::uint64_t>{2});
    report = world.remove({0});
    CHECK(report.retrained);
    CHECK(report.certified);
    CHECK(world.distance() < 1e-12);
    report = world.remove({0, 1, 2});  // the rest of that group, by statistics that know what is left
    CHECK_FALSE(report.retrained);
    CHECK(world.distance() <= report.residual_bound);
    CHECK(world.distance() < 1e-2);
  }

  TEST_CASE("no statistics are made where that was asked for, or where it would take days" *
            doctest::test_suite("slow")) {
    SolverOptions options = hessian_free_options({{"statistics", 0}});
    World none(options);
    CHECK(none.report.terms.at("statistics") == 0);
    CHECK_FALSE(std::filesystem::exists(none.folder / "f"));
    CHECK(none.remove({5}).retrained);
    CHECK(none.report.certified);
    CHECK(none.distance() < 1e-12);
    options.parameters["statistics"] = 1;
    CHECK(World(options).report.terms.at("statistics") == 1);

    // Groups are carried forward: 2 x 300 epochs x 40,000 rows x 20,000 groups x 24 weights.
    const World many(hessian_free_options({{"epochs", 300}, {"group-rows", 2}, {"batch-rows", 512}}), 40000);
    CHECK(many.report.terms.at("statistics") == 0);
    CHECK(many.report.certified);
  }

  TEST_CASE("what is not certified says why, or trains again where that was asked for") {
    SolverOptions options = hessian_free_options({{"s-max", 1e-9}});
    World strict(options);
    CHECK(strict.report.certified);
    CHECK_FALSE(strict.remove({4}).certified);
    CHECK(strict.report.claim->starts_with("as published: "));
    CHECK(strict.report.claim->find("s-max") != std::string::npos);
    options.parameters["retrain"] = 1;
    World eager(options);
    CHECK(eager.remove({4}).certified);
    CHECK(eager.report.retrained);
    CHECK(eager.report.terms.at("statistics") == 1);
    CHECK(eager.distance() < 1e-12);
    CHECK(eager.model.releases == 2);  // what was not certified was not published

    SolverOptions paper = hessian_free_options({{"decay", 0.99}});
    paper.bound = BoundRule::kPaper;
    World printed(paper);
    CHECK_FALSE(printed.report.certified);
    const double sigma = printed.report.terms.at("sigma");
    CHECK_FALSE(printed.remove({4}).certified);
    printed.remove({5});
    CHECK(printed.report.terms.at("sigma") == doctest::Approx(2 * sigma).epsilon(1e-6));

    SolverOptions columns = hessian_free_options();
    columns.standardized = true;
    CHECK_FALSE(World(columns).report.certified);
  }

  TEST_CASE("networks are removed from, never certified") {
    SolverOptions options = hessian_free_options({{"epochs", 3}});
    options.head = Head::kSoftmax;
    options.hidden = {6};
    World world(options, 60);
    CHECK_FALSE(world.report.certified);
    const Vector before = world.state().clean;
    const StepReport report = world.remove({7});
    CHECK_FALSE(report.certified);
    CHECK(std::isinf(report.residual_bound));
    CHECK(report.claim->find("hidden") != std::string::npos);
    CHECK(world.distance() < 0.3 * (before - world.retrained()).norm());
  }

  TEST_CASE("rows leave until none is left, and one class before") {
    World world(hessian_free_options({{"s-max", 1e3}}), 40);
    std::vector<std::size_t> class_rows, rest;
    for (std::size_t i = 0; i < world.rows.size(); ++i)
      if (world.rows.labels()[i] == 0) class_rows.push_back(i);
    world.remove(class_rows);
    CHECK(world.model.published.allFinite());
    rest.resize(world.rows.size());
    std::iota(rest.begin(), rest.end(), std::size_t{0});
    world.remove(rest);
    CHECK(world.rows.size() == 0);
    CHECK(world.model.published.allFinite());
    CHECK(world.report.certified == (world.report.residual_bound <= 1e3));
    CHECK(world.solver->catch_up(world.model, world.rows, {}).certified);
    CHECK(world.state().clean.norm() == 0);
    World none(hessian_free_options(), 0);
    CHECK(none.report.certified);
  }

  TEST_CASE("a model whose last rows are not known trains again in its slots, with statistics") {
    World world(hessian_free_options());
    BatchChange change(8, 3);
    change.removed.append(world.rows.nodes()[2], world.rows.row(2), world.rows.labels()[2]);
    world.rows.apply(change);
    const StepReport report = world.solver->catch_up(world.model, world.rows, {});
    world.solver->tidy(world.model);
    CHECK(report.retrained);
    CHECK(report.certified);
    CHECK(world.distance() < 1e-12);
    CHECK_FALSE(world.remove({30}).retrained);
    CHECK(world.distance() <= world.report.residual_bound);
    ApproximationError stale;
    stale.euclidean = stale.absolute = Vector::Constant(8, 1e-3);
    CHECK(world.solver->catch_up(world.model, world.rows, stale).flush_needed);
  }

  TEST_CASE("vectors of removed rows are erased once the model is durable, and not before") {
    World world(hessian_free_options());
    const HessianFreeState before = world.state();
    const auto file = [&] {
      return StatisticsFile(statistics_path(world.folder / "f", before.run, 0),
                            statistics_shape(before.constants, before.run, 24, 0), false);
    };
    BatchChange change(8, 3);
    change.removed.append(world.rows.nodes()[9], world.rows.row(9), world.rows.labels()[9]);
    world.rows.apply(change);
    Model copy = world.model;
    static_cast<void>(world.solver->absorb(world.model, world.rows, change, {}));
    const std::uint64_t record = world.state().removed.at(0);
    CHECK(file().read(record).has_value());
    const Vector once = world.state().clean;
    static_cast<void>(world.solver->absorb(copy, world.rows, change, {}));  // as after a crash before the model
    CHECK(hessian_free_state(copy).clean == once);
    world.solver->tidy(world.model);
    world.solver->tidy(world.model);
    CHECK_FALSE(file().read(record).has_value());
    Model stale = world.model;
    stale.state.arrays["nodes"] = to_solver_state(before).arrays["nodes"];
    stale.trained_rows += 1;
    CHECK_THROWS_AS(static_cast<void>(world.solver->absorb(stale, world.rows, change, {})), FormatError);
  }

  TEST_CASE("parameters out of range and rows without a slot are told") {
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, double>>{{"epochs", 0.5},
                                                                                           {"bits", 12},
                                                                                           {"s-max", 0},
                                                                                           {"s-max", 1e20},
                                                                                           {"step-size", -1},
                                                                                           {"decay", 1.5},
                                                                                           {"group-rows", 0},
                                                                                           {"backward", 2},
                                                                                           {"retrain", 3},
                                                                                           {"statistics", 2},
                                                                                           {"own-hessian", 0.5}}) {
      const auto& shown = name;
      CAPTURE(shown);
      SolverOptions options;
      options.parameters[name] = value;
      CHECK_THROWS_AS(static_cast<void>(make_solver("hessian-free", options)), UsageError);
    }
    SolverOptions confident;
    confident.epsilon = 1e40;  // s-max follows it
    CHECK_THROWS_WITH_AS(static_cast<void>(make_solver("hessian-free", confident)),
                         doctest::Contains("smaller epsilon or set=s-max"), UsageError);
    SolverOptions groups;
    groups.parameters = {{"backward", 1}, {"group-rows", 2}};
    CHECK_THROWS_AS(static_cast<void>(make_solver("hessian-free", groups)), UsageError);
    SolverOptions wild = hessian_free_options({{"step-size", 1e3}, {"decay", 1}});
    wild.head = Head::kLeastSquares;
    CHECK_THROWS_AS(World{wild}, UsageError);
  }
}

}  // namespace
}  // namespace unweave
