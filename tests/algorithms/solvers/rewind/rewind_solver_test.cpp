// tests/algorithms/solvers/rewind/rewind_solver_test.cpp - constants, kept iterates, when a request
// trains again, what is said of it.
#include "algorithms/solvers/rewind/rewind_solver.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/registry/registry.h"
#include "algorithms/solvers/rewind/rewind_state.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/langevin_runs.h"
#include "support/learner_data.h"
#include "support/rewind_runs.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

constexpr const char* kRewindSolvers[] = {"rewind", "descend"};

SolverOptions rewind_options(double lambda = 0.05) {
  SolverOptions options;
  options.lambda = lambda;
  options.seed = 11;
  return options;
}

/// A solver with a folder of its own.
struct Kept {
  explicit Kept(const char* name, const SolverOptions& options = rewind_options())
      : solver(make_solver(name, options, {0, path()})) {}
  [[nodiscard]] std::filesystem::path path() const { return folder / "models" / "rewind"; }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path())) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  testing::TempDir folder;
  std::unique_ptr<Solver> solver;
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("constants: T gives what capacity allows within half of it, the ball holds the minimiser, noise is as set" *
            doctest::test_suite("slow")) {
    for (const bool descend : {false, true})
      for (const Head head : {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax})
        for (const double sampling : {0.0, 1.0, 2.0}) {
          SolverOptions options = rewind_options();
          options.head = head;
          options.parameters["sampling"] = sampling;
          const TrainingSet rows = random_rows(120, 4, 3, 74);
          const RewindRuns runs(descend, rows, options);
          CHECK(dense_minimiser(rows, options.lambda, head).norm() < runs.constants.radius);
          const auto fewest = runs.account.fewest_epochs(runs.account.worst_change(12));
          REQUIRE(fewest.has_value());
          CHECK(*fewest <= runs.constants.epochs / 2);
          CHECK(runs.account.residual(runs.account.worst_change(12), *fewest) <= runs.account.noise().distance);
          if (*fewest > 1)
            CHECK(runs.account.residual(runs.account.worst_change(12), *fewest - 1) > runs.account.noise().distance);
          CHECK(runs.account.noise().sigma == doctest::Approx(0.01).epsilon(1e-4));
          CHECK(delta_of(runs.account.noise().sensitivity, runs.account.noise().sigma, 1) <= 1e-4);
          const std::vector<std::uint64_t> kept = runs.account.kept_epochs();
          CHECK(kept.front() == 1);
          CHECK(kept.back() == *fewest);
          for (std::size_t i = 1; i < kept.size(); ++i)
            CHECK(static_cast<double>(kept[i]) <= std::max(std::ceil(1.5 * static_cast<double>(kept[i - 1])), 2.0));
        }
  }

  TEST_CASE("full batches have the sure bound of Rewind-to-Delete, drawn ones its mean and tail") {
    SolverOptions options = rewind_options(0.1);
    options.parameters = {{"batch-rows", 400}, {"epochs", 200}, {"step-size", 0.5}};
    const TrainingSet rows = random_rows(400, 3, 1, 5);
    const RewindRuns runs(false, rows, options);
    const RunChange change = runs.account.worst_change(10);
    const DescentPlan plan{GradientStep::strongly_convex(0.5, 0.35, 0.1), 200, 400, DataChange::weighted(400, 1, 10)};
    for (const std::uint64_t epochs : {1, 50, 199})
      CHECK(runs.account.distance(change, epochs) - runs.account.rounding() ==
            doctest::Approx(rewind_distance(plan, epochs)).epsilon(1e-8));
    // Half of the value that the specification prints for 2 G a row: an emptied slot changes by G.
    CHECK(rewind_distance(plan, 50) == doctest::Approx(0.03845496131 / 2));
    options.parameters["sampling"] = 1;
    const RewindRuns drawn(false, rows, options);
    CHECK(drawn.account.distance(change, 50) == doctest::Approx(runs.account.distance(change, 50)));
    CHECK(drawn.account.residual(change, 50) > runs.account.residual(change, 50));
    CHECK(drawn.account.drawn_sigma(change, 50, DistanceRule::kMean) >
          drawn.account.drawn_sigma(change, 50, DistanceRule::kTail));
  }

  TEST_CASE("rewind goes on from the iterate that it kept, bit for bit, and from no later one than it needs") {
    for (const char* name : kRewindSolvers) {
      const Kept world(name);
      TrainingSet rows = random_rows(100, 4, 2, 75);
      const RewindRuns runs(name[0] == 'd', rows, rewind_options());
      Fit fit = world.solver->fit(rows, kExact);
      CHECK(fit.report.certified);
      CHECK(fit.report.claim == "T4");
      CHECK(fit.report.retrained);
      CHECK(fit.report.residual_bound == 0);
      CHECK(fit.report.passes == static_cast<int>(runs.constants.epochs));
      const RewindState state = rewind_state(fit.model);
      CHECK(world.files().size() == state.kept.size());
      for (const std::uint64_t kept : state.kept) {
        Matrix expected = runs.zero(rows);
        runs.run(rows, 0, runs.constants.epochs - kept, expected);
        CHECK(read_iterate(world.path(), state, kept, fit.model.published) == expected);
      }
      const BatchChange change = coherent_change(rows, 1, 5, 0.1F);
      rows.apply(change);
      const StepReport report = world.solver->absorb(fit.model, rows, change, kExact);
      CHECK_FALSE(report.retrained);
      const auto fewest = runs.account.fewest_epochs(runs.change(change));
      REQUIRE(fewest.has_value());
      CHECK(static_cast<std::uint64_t>(report.passes) >= *fewest);
      CHECK(static_cast<double>(report.passes) <= std::ceil(1.5 * static_cast<double>(*fewest)));
      CHECK(world.files().size() == state.kept.size());
    }
  }

  TEST_CASE("weights add up over batches until the model is trained again in its slots, and then start anew") {
    const Kept world("rewind");
    TrainingSet rows = random_rows(100, 4, 2, 76);
    Fit fit = world.solver->fit(rows, kExact);
    const RewindState first = rewind_state(fit.model);
    double bound = 0;
    int batches = 0;
    for (StepReport report; !report.retrained; ++batches) {
      REQUIRE(batches < 50);
      const BatchChange change = coherent_change(rows, 2, 0, 0);
      rows.apply(change);
      report = world.solver->absorb(fit.model, rows, change, kExact);
      CHECK(report.certified);
      if (report.retrained) break;
      CHECK(rewind_state(fit.model).run == first.run);
      const double total = 2.0 * (batches + 1) * std::sqrt(2.0);
      double sum = 0;
      for (const double weight : rewind_state(fit.model).weights) sum += weight;
      CHECK(sum == doctest::Approx(total));
      bound = report.residual_bound;
    }
    CHECK(batches >= 4);  // capacity is a tenth of the rows
    CHECK(bound > 0);
    const RewindState again = rewind_state(fit.model);
    CHECK(again.run != first.run);
    CHECK(again.constants == first.constants);
    CHECK(*std::max_element(again.weights.begin(), again.weights.end()) == 0);
    CHECK(world.files().size() == first.kept.size() + again.kept.size());
    world.solver->tidy(fit.model);
    CHECK(world.files().size() == again.kept.size());
    for (const std::uint64_t kept : again.kept)
      CHECK(std::filesystem::exists(world.path() / iterate_name(again.run, kept)));
  }

  TEST_CASE("a row that moves to and fro weighs at most two gradients, one that leaves at most one") {
    const Kept world("descend");
    TrainingSet rows = random_rows(60, 3, 2, 77);
    Fit fit = world.solver->fit(rows, kExact);
    const double gradient = std::sqrt(2.0);
    for (int i = 0; i < 12; ++i) {
      const BatchChange change = coherent_change(rows, 0, 1, i % 2 == 0 ? 0.4F : -0.4F);
      rows.apply(change);
      static_cast<void>(world.solver->absorb(fit.model, rows, change, kExact));
    }
    CHECK(rewind_state(fit.model).weights[0] == doctest::Approx(2 * gradient));
    BatchChange change(3, 2);
    change.removed.append(rows.nodes()[0], rows.row(0), rows.labels()[0]);
    rows.apply(change);
    static_cast<void>(world.solver->absorb(fit.model, rows, change, kExact));
    CHECK(rewind_state(fit.model).weights[0] == doctest::Approx(gradient));
    CHECK(rewind_state(fit.model).slots[0] == kNoNode);
  }

  TEST_CASE("adaptive requests are certified for batches in turn alone; standardised and approximate rows never") {
    for (const char* name : kRewindSolvers)
      for (const double sampling : {0.0, 1.0, 2.0}) {
        SolverOptions options = rewind_options();
        options.parameters["sampling"] = sampling;
        const Kept world(name, options);
        TrainingSet rows = random_rows(80, 3, 2, 78);
        Fit fit = world.solver->fit(rows, kExact);
        CHECK(fit.report.certified);
        for (const bool adaptive : {false, true, false}) {
          BatchChange change = coherent_change(rows, 1, 2, 0.05F);
          change.adaptive = adaptive;
          rows.apply(change);
          const StepReport report = world.solver->absorb(fit.model, rows, change, kExact);
          CHECK_FALSE(report.retrained);
          CHECK(report.certified == (sampling == 0 || !rewind_state(fit.model).adaptive_requests));
          CHECK(report.claim.has_value() == report.certified);
        }
        CHECK(rewind_state(fit.model).adaptive_requests);
        CHECK(world.solver->catch_up(fit.model, rows, kExact).certified);
        ApproximationError lazy;
        lazy.euclidean = Vector::Constant(3, 1e-4);
        lazy.absolute = Vector::Constant(3, 1e-3);
        lazy.residue_sum = Vector::Zero(3);
        CHECK_FALSE(world.solver->absorb(fit.model, rows, BatchChange(3, 2), lazy).certified);
        options.standardized = true;
        const Kept standardized(name, options);
        CHECK_FALSE(standardized.solver->fit(rows, kExact).report.certified);
      }
  }

  TEST_CASE("as printed: the removed rows alone are counted, the claim is the paper's, nothing is certified") {
    for (const char* name : kRewindSolvers) {
      SolverOptions options = rewind_options(0.3);
      options.bound = BoundRule::kPaper;
      options.parameters["sigma"] = 100;
      options.parameters["batch-rows"] = 80;
      const Kept world(name, options);
      TrainingSet rows = random_rows(80, 3, 2, 79);
      Fit fit = world.solver->fit(rows, kExact);
      CHECK_FALSE(fit.report.certified);
      CHECK(fit.report.claim->starts_with("as published: Mu and Klabjan, Theorem"));
      const BatchChange change = coherent_change(rows, 0, 60, 0.5F);
      rows.apply(change);
      const StepReport report = world.solver->absorb(fit.model, rows, change, kExact);
      CHECK_FALSE(report.certified);
      if (name[0] == 'r') CHECK(report.residual_bound == 0);  // rows that moved are not in it
      CHECK(report.terms.at("moved_weight") > 1);
    }
  }

  TEST_CASE("equal to the bit for any number of threads; another release draws other noise") {
    const TrainingSet rows = random_rows(2500, 20, 3, 80);
    for (const double sampling : {0.0, 1.0}) {
      SolverOptions options = rewind_options();
      options.parameters["sampling"] = sampling;
      const Kept world("rewind", options);
      const Matrix one = [&] {
        const ThreadLimit limit(1);
        return world.solver->fit(rows, kExact).model.published;
      }();
      const ThreadLimit limit(4);
      Fit fit = world.solver->fit(rows, kExact);
      CHECK(fit.model.published == one);
      static_cast<void>(world.solver->catch_up(fit.model, rows, kExact));
      CHECK(fit.model.published != one);
    }
  }

  TEST_CASE("degenerate tasks: no rows, one row, one class, one feature, everything leaves") {
    for (const char* name : kRewindSolvers)
      for (const double sampling : {0.0, 1.0})
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{33}})
          for (const std::size_t classes : {std::size_t{1}, std::size_t{3}}) {
            SolverOptions options = rewind_options();
            options.parameters["sampling"] = sampling;
            const Kept world(name, options);
            TrainingSet set = random_rows(count, 2, classes, 81, 1);
            Fit fit = world.solver->fit(set, kExact);
            CHECK(fit.report.certified);
            const BatchChange change = random_change(set, 0, 1, count, 0, 0, 1);
            set.apply(change);
            CHECK(world.solver->absorb(fit.model, set, change, kExact).certified);
            CHECK(fit.model.published.allFinite());
            CHECK(fit.model.trained_rows == 0);
          }
  }

  TEST_CASE("without a folder nothing is kept, and every batch trains again") {
    const auto solver = make_solver("rewind", rewind_options());
    TrainingSet rows = random_rows(60, 3, 2, 82);
    Fit fit = solver->fit(rows, kExact);
    const BatchChange change = coherent_change(rows, 1, 0, 0);
    rows.apply(change);
    const StepReport report = solver->absorb(fit.model, rows, change, kExact);
    CHECK(report.retrained);
    CHECK(report.certified);
  }

  TEST_CASE("an iterate that is missing, damaged or of another run is told, with what to do") {
    const Kept world("descend");
    TrainingSet rows = random_rows(60, 3, 2, 83);
    Fit fit = world.solver->fit(rows, kExact);
    const RewindState state = rewind_state(fit.model);
    const auto file = world.path() / iterate_name(state.run, 0);
    const std::string good = testing::read_all(file);
    const BatchChange change = coherent_change(rows, 1, 0, 0);
    rows.apply(change);
    const auto refused = [&](const char* words) {
      Model copy = fit.model;
      CHECK_THROWS_WITH_AS(world.solver->absorb(copy, rows, change, kExact), doctest::Contains(words), DataError);
    };
    std::string bad = good;
    bad[bad.size() - 5] ^= 1;
    testing::write_file(file, bad);
    refused("train the model again");
    testing::write_file(file, "");
    refused("train the model again");
    RewindState other = state;
    other.run += 1;
    write_iterate(world.path(), other, 0, fit.model.published);
    testing::write_file(file, testing::read_all(world.path() / iterate_name(other.run, 0)));
    refused("no iterate of this model");
    std::filesystem::remove(file);
    refused(file.c_str());
    testing::write_file(file, good);
    CHECK_FALSE(world.solver->absorb(fit.model, rows, change, kExact).retrained);
  }

  TEST_CASE(
      "refused: parameters out of range, noise below rounding, models without slots, rows that are not the model's") {
    const TrainingSet rows = random_rows(40, 3, 2, 84);
    const auto refused = [&](const char* name, double value) {
      SolverOptions options = rewind_options();
      options.parameters[name] = value;
      CAPTURE(name);
      CHECK_THROWS_AS(static_cast<void>(make_solver("rewind", options)->fit(rows, kExact)), UsageError);
    };
    for (const char* name : {"epochs", "batch-rows", "order-key"})
      for (const double value : {0.0, 1.5, -1.0, 1e300}) refused(name, value);
    refused("batch-rows", 41);
    for (const double value : {3.0, 0.5, -1.0}) refused("sampling", value);
    for (const char* name : {"sigma", "step-size", "radius"})
      for (const double value : {0.0, -1.0}) refused(name, value);
    refused("step-size", 9);
    refused("sigma", 1e-12);
    refused("capacity", 1.5);
    refused("retention", 0.5);
    const Kept world("rewind");
    Fit fit = world.solver->fit(rows, kExact);
    CHECK_THROWS_AS(make_solver("descend", rewind_options())->absorb(fit.model, rows, BatchChange(3, 2), kExact),
                    UsageError);
    CHECK_THROWS_AS(world.solver->absorb(fit.model, random_rows(39, 3, 2, 84), BatchChange(3, 2), kExact), UsageError);
    fit.model.state.arrays["weights"].pop_back();
    CHECK_THROWS_AS(world.solver->absorb(fit.model, rows, BatchChange(3, 2), kExact), UsageError);
    fit.model.state = {};
    CHECK_THROWS_AS(world.solver->absorb(fit.model, rows, BatchChange(3, 2), kExact), UsageError);
  }

  TEST_CASE(
      "where float64 at a weak lambda could exceed what the usual noise covers, the default is twice what it needs") {
    SolverOptions options = rewind_options();
    options.parameters = {{"epochs", 4}};
    const auto noise_at = [&](double lambda) {
      options.lambda = lambda;
      const RewindConstants constants = choose_rewind_constants(false, 1000, 50, 4, options);
      const RewindAccount account(false, constants, 50, 4, options);
      CHECK(account.rounding() < account.noise().distance);
      return std::pair(constants.sigma, account.rounding() / account.noise().distance);
    };
    CHECK(noise_at(1e-3).first == 0.01);
    const auto [sigma, share] = noise_at(1e-8);
    CHECK(sigma > 0.011);
    CHECK(share == doctest::Approx(0.5).epsilon(1e-3));
    options.parameters["sigma"] = 0.01;
    CHECK_THROWS_AS(static_cast<void>(choose_rewind_constants(false, 1000, 50, 4, options)), UsageError);
  }

  TEST_CASE("small and large epsilon and delta: a bound that holds or one clear error, never NaN") {
    for (const double epsilon : {1e-9, 1e-3, 10.0, 1e3, 1e6})
      for (const double delta : {1e-300, 1e-12, 0.5}) {
        SolverOptions options = rewind_options();
        options.epsilon = epsilon;
        options.delta = delta;
        CAPTURE(epsilon);
        CAPTURE(delta);
        try {
          const RewindRuns runs(true, random_rows(50, 3, 2, 85), options);
          const double residual = runs.account.residual(runs.account.worst_change(5), 1);
          CHECK(std::isfinite(residual));
          CHECK(runs.account.noise().distance > 0);
        } catch (const UsageError& error) {
          CHECK(std::string(error.what()).find("noise") != std::string::npos);
        }
      }
  }
}
