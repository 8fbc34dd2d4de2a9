// tests/algorithms/solvers/every_solver_test.cpp - what holds for every solver there is: bad
// options, rows that run out, noise.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "algorithms/live/store_writer.h"
#include "algorithms/models/certificate.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/special_values.h"
#include "support/temp_dir.h"
#include "support/trained_store.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

using testing::kInfinity;
using testing::kNaN;

/// A release that may be printed: numbers that are numbers, and no certificate without a theorem or
/// above its budget.
void check_release(const Model& model, const StepReport& report, const TrainingSet& rows) {
  CHECK(model.trained_rows == rows.size());
  CHECK(shape_of(model).features == rows.features());
  CHECK(shape_of(model).classes == rows.classes());
  CHECK(model.published.allFinite());
  for (const auto& term : report.terms.values()) CHECK_MESSAGE(std::isfinite(term.second), term.first);
  CHECK_FALSE(std::isnan(report.residual_bound));  // infinite where nothing bounds it, as of networks
  CHECK(std::isfinite(report.budget));
  if (!report.certified) return;
  CHECK(std::isfinite(report.residual_bound));
  REQUIRE(report.claim.has_value());
  CHECK(report.claim->starts_with("T"));
  CHECK(report.residual_bound <= report.budget);
}

/// Calls body(); a refusal is one line.
void release_or_refuse(const std::function<void()>& body) {
  try {
    body();
  } catch (const UsageError& error) {
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    CHECK(std::string(error.what()).size() > 10);
  }
}

/// One solver with files of its own in a folder of its own.
struct Maker {
  testing::TempDir dir;
  [[nodiscard]] std::unique_ptr<Solver> make(std::string_view name, const SolverOptions& options) const {
    SolverOptions own = options;
    if (!own.hidden.empty()) own.activation = solver_entry(name).activation.value_or(own.activation);
    return make_solver(name, own, {0, dir / name});
  }
};

BatchChange removal_of(const TrainingSet& rows, const std::function<bool(std::size_t)>& leaves) {
  BatchChange change(rows.features(), rows.classes(), rows.form());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (leaves(i)) change.removed.append(rows.nodes()[i], rows.row(i), rows.labels()[i]);
  change.only_edges = change.removed.size() == 0;
  return change;
}

SolverOptions plain() {
  SolverOptions options;
  options.lambda = 0.05;
  return options;
}

/// Every head, and a network.
std::vector<SolverOptions> all_heads() {
  std::vector<SolverOptions> all(4, plain());
  all[1].head = Head::kLeastSquares;
  all[2].head = all[3].head = Head::kSoftmax;
  all[3].hidden = {2};
  return all;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("every solver refuses epsilon, delta and lambda out of range") {
    for (const std::string_view name : solver_names()) {
      CAPTURE(std::string(name));
      const bool noisy = solver_entry(name).noisy;
      const auto refused = [&](double SolverOptions::*option, double value) {
        SolverOptions options;
        options.*option = value;
        CHECK_THROWS_AS(static_cast<void>(make_solver(name, options)), UsageError);
      };
      for (const double value : {0.0, -1.0, kNaN, kInfinity}) {
        if (noisy) refused(&SolverOptions::epsilon, value);
        refused(&SolverOptions::lambda, value);
        refused(&SolverOptions::tau, value);
      }
      for (const double value : {0.0, 1.0, -1e-300, 2.0, kNaN})
        if (noisy) refused(&SolverOptions::delta, value);
    }
  }

  TEST_CASE("every solver: batches that take a class, all rows but one, the last row, and nothing from nothing") {
    for (const std::string_view name : solver_names())
      for (const SolverOptions& options : all_heads()) {
        CAPTURE(std::string(name));
        CAPTURE(head_name(options));
        release_or_refuse([&, name = name] {
          const Maker maker;
          const auto solver = maker.make(name, options);
          TrainingSet rows = random_rows(12, 3, 3, 21);
          Fit fit = solver->fit(rows, kExact);
          check_release(fit.model, fit.report, rows);
          const auto take = [&](const std::function<bool(std::size_t)>& leaves) {
            const BatchChange change = removal_of(rows, leaves);
            rows.apply(change);
            const StepReport report = solver->absorb(fit.model, rows, change, kExact);
            CHECK_FALSE(report.flush_needed);
            check_release(fit.model, report, rows);
          };
          const ClassId gone = rows.labels()[0];
          take([&](std::size_t i) { return rows.labels()[i] == gone; });
          take([](std::size_t i) { return i > 0; });
          REQUIRE(rows.size() == 1);
          take([](std::size_t) { return true; });
          take([](std::size_t) { return true; });
          const StepReport report = solver->catch_up(fit.model, rows, kExact);
          check_release(fit.model, report, rows);
        });
      }
  }

  TEST_CASE("every solver: bounds as printed certify nothing, and solvers without any refuse them") {
    for (const SolverEntry* const entry : all_solvers()) {
      CAPTURE(std::string(entry->name));
      SolverOptions options = plain();
      options.bound = BoundRule::kPaper;
      bool is_made = false;
      release_or_refuse([&] {
        const Maker maker;
        const auto solver = maker.make(entry->name, options);
        is_made = true;
        TrainingSet rows = random_rows(40, 3, 2, 23);
        Fit fit = solver->fit(rows, kExact);
        CHECK_FALSE(fit.report.certified);
        const BatchChange change = removal_of(rows, [](std::size_t i) { return i == 7; });
        rows.apply(change);
        CHECK_FALSE(solver->absorb(fit.model, rows, change, kExact).certified);
        CHECK_FALSE(solver->catch_up(fit.model, rows, kExact).certified);
      });
      CHECK(is_made == entry->printed);
    }
  }

  TEST_CASE("first-order solvers say how many passes a weak lambda asks for, instead of making them") {
    const TrainingSet rows = random_rows(60, 5, 3, 24);
    for (const std::string_view name : {"langevin", "langevin-full", "rewind", "descend", "descent-to-delete"})
      for (const double lambda : {1e-9, 1e-12, 1e-300}) {
        CAPTURE(std::string(name));
        CAPTURE(lambda);
        SolverOptions options;
        options.lambda = lambda;
        const Maker maker;
        try {
          static_cast<void>(maker.make(name, options)->fit(rows, kExact));
          CHECK_MESSAGE(false, "not refused");
        } catch (const UsageError& error) {
          const std::vector<std::string> named = error.options();
          CHECK(std::find(named.begin(), named.end(), "lambda") != named.end());
        }
      }
  }

  TEST_CASE("every solver trains on no row, one row, one class and one feature, or says why not") {
    for (const std::string_view name : solver_names())
      for (const SolverOptions& options : all_heads())
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5}})
          for (const std::size_t size : {std::size_t{1}, std::size_t{2}}) {
            CAPTURE(std::string(name));
            CAPTURE(head_name(options));
            CAPTURE(count);
            CAPTURE(size);
            release_or_refuse([&, name = name] {
              const Maker maker;
              const TrainingSet rows = random_rows(count, size, size, 22);
              const Fit fit = maker.make(name, options)->fit(rows, kExact);
              check_release(fit.model, fit.report, rows);
            });
          }
  }

  TEST_CASE(
      "solvers that take networks train one and follow its batches, certified where they claim it; the others refuse it") {
    const SolverOptions network = all_heads()[3];
    for (const SolverEntry* const entry : all_solvers()) {
      CAPTURE(std::string(entry->name));
      if (!entry->networks.trained) {
        CHECK_THROWS_AS(static_cast<void>(make_solver(entry->name, network)), UsageError);
        continue;
      }
      const Maker maker;
      const auto solver = maker.make(entry->name, network);
      TrainingSet rows = random_rows(20, 3, 3, 23);
      Fit fit = solver->fit(rows, kExact);
      check_release(fit.model, fit.report, rows);
      const BatchChange change = random_change(rows, 0, 10, 2, 3, 0.3, 5);
      rows.apply(change);
      const StepReport report = solver->absorb(fit.model, rows, change, kExact);
      check_release(fit.model, report, rows);
      CHECK(report.certified == (entry->networks.claims && !entry->theorem.empty()));
      check_release(fit.model, solver->catch_up(fit.model, rows, kExact), rows);
    }
  }

  TEST_CASE("every solver at the ends of its options gives a release or one clear line" * doctest::test_suite("slow")) {
    struct Extreme {
      double SolverOptions::*option;
      double value;
    };
    const Extreme extremes[] = {
        {&SolverOptions::epsilon, 1e-300}, {&SolverOptions::epsilon, 1e-12}, {&SolverOptions::epsilon, 50},
        {&SolverOptions::epsilon, 1e300},  {&SolverOptions::delta, 1e-300},  {&SolverOptions::delta, 1 - 0x1p-53},
        {&SolverOptions::lambda, 1e6},     {&SolverOptions::lambda, 1e300},  {&SolverOptions::tau, 1e-300},
        {&SolverOptions::tau, 1e300},      {&SolverOptions::alpha, 0},       {&SolverOptions::alpha, 1e300}};
    const testing::TrainedStore world;
    Request edge = world.edge_of_training_node();
    for (const std::string_view name : solver_names())
      for (const Extreme& extreme : extremes) {
        CAPTURE(std::string(name));
        CAPTURE(extreme.value);
        release_or_refuse([&, name = std::string(name)] {
          SolverOptions options = plain();
          options.*extreme.option = extreme.value;
          for (const bool streamed : {false, true}) {
            if (streamed) {
              world.stream({edge}, {name});
              edge.kind = edge.kind == RequestKind::insert_edge ? RequestKind::remove_edge : RequestKind::insert_edge;
            } else {
              world.train(name, options);
            }
            const ModelRecord record = load_model(world.store, name);
            CHECK(record.model.published.allFinite());
            const auto certificate = whole_certificate(record);
            for (const auto& term : certificate["terms"].items()) CHECK_MESSAGE(term.value().is_number(), term.key());
            if (!certificate["certified"].get<bool>()) continue;
            CHECK(certificate["claim"].get<std::string>().starts_with("T"));
            CHECK(certificate["residual_bound"].get<double>() <= certificate["budget"].get<double>());
            CHECK(certificate["delta"]["reached"].get<double>() <= options.delta);
          }
        });
      }
  }

  TEST_CASE("every solver: noise is fresh in every release, a seed repeats it and marks the report") {
    const TrainingSet rows = random_rows(30, 3, 2, 24);
    const BatchChange nothing(3, 2);
    for (const std::string_view name : solver_names()) {
      if (!solver_entry(name).noisy) continue;
      CAPTURE(std::string(name));
      const auto run = [&](std::optional<std::uint64_t> seed) {
        const Maker maker;
        SolverOptions options = plain();
        options.seed = seed;
        const auto solver = maker.make(name, options);
        Fit fit = solver->fit(rows, kExact);
        std::vector<Matrix> releases{fit.model.published};
        std::vector<StepReport> reports{fit.report};
        reports.push_back(solver->absorb(fit.model, rows, nothing, kExact));
        releases.push_back(fit.model.published);
        reports.push_back(solver->catch_up(fit.model, rows, kExact));
        releases.push_back(fit.model.published);
        for (const StepReport& report : reports) CHECK(report.for_tests == seed.has_value());
        for (std::size_t i = 0; i < releases.size(); ++i) {
          if (!reports[i].certified) continue;
          for (std::size_t j = 0; j < i; ++j) CHECK(releases[i] != releases[j]);
        }
        return std::pair(releases, reports[0].certified);
      };
      const auto [first, certified] = run(std::nullopt);
      const auto second = run(std::nullopt).first;
      for (std::size_t i = 0; i < first.size(); ++i)
        if (certified) CHECK(first[i] != second[i]);
      CHECK(run(5).first == run(5).first);
      if (certified) CHECK(run(5).first != run(6).first);
    }
  }

  TEST_CASE("every solver goes on from given weights where its entry says so, and refuses them elsewhere") {
    const Maker maker;
    const TrainingSet rows = random_rows(60, 4, 3, 7);
    SolverOptions options;
    options.lambda = 0.01;
    int taken = 0;
    for (const std::string_view name : solver_names()) {
      CAPTURE(std::string(name));
      const auto solver = maker.make(name, solver_entry(name).linear.trained ? options : taken_options(name, options));
      const GivenWeights given{random_matrix(4, 3, 5), kInfinity};  // nothing is known of them
      if (!solver_entry(name).any_start) {
        CHECK_THROWS_AS(static_cast<void>(solver->fit_from(given, rows)), UsageError);
        continue;
      }
      const Fit fit = solver->fit_from(given, rows);
      check_release(fit.model, fit.report, rows);
      CHECK(fit.report.certified);
      CHECK_FALSE(fit.report.flush_needed);
      CHECK(fit.model.releases == 1);
      CHECK((fit.model.published - dense_minimiser(rows, options.lambda, options.head)).norm() < 1e-3);
      ++taken;
    }
    CHECK(taken >= 2);
  }

  TEST_CASE("every solver: the certificate of a seeded release is for tests, and no model holds a seed") {
    const testing::TrainedStore world;
    for (const std::string_view name : solver_names())
      for (const bool with_seed : {false, true}) {
        CAPTURE(std::string(name));
        SolverOptions options = testing::seeded();
        if (!with_seed) options.seed.reset();
        world.train(std::string(name), options);
        const ModelRecord record = load_model(world.store, name);
        CHECK(whole_certificate(record)["for_tests"] == (with_seed && solver_entry(name).noisy));
        CHECK_FALSE(record.options.seed.has_value());
        CHECK(is_sealed(record.certificate));
      }
  }

  TEST_CASE("every release names the models of other solvers to withdraw, and of its own the one before") {
    const testing::TrainedStore world;
    const auto id_of = [&](const std::string& solver) { return release_id(load_model(world.store, solver)); };
    world.train("newton-step");
    world.train("newton");
    for (const std::string solver : {"newton", "newton-step"}) {
      CAPTURE(solver);
      const std::string other = id_of(solver == "newton" ? "newton-step" : "newton");
      StoreWriter live(world.store, ample_budget());
      Learner learner = Learner::open(live, ample_budget(), solver, testing::kContext, 9);
      static_cast<void>(learner.catch_up());
      for (NodeId node = 20; node < 23; ++node) {
        const std::string before = id_of(solver);
        const std::vector<Request> requests{{RequestKind::remove_node, node, 0}};
        learner.absorb(live.apply(requests, live.resolve(requests), {}));
        const auto withdraw = whole_certificate(learner.record())["withdraw"].get<std::set<std::string>>();
        CHECK(withdraw == std::set<std::string>{other, before});
      }
    }
  }

  TEST_CASE("output noise at the ends of its range: the promised delta, or an error") {
    int planned = 0;
    for (const double epsilon : {1e-300, 1e-50, 1e-12, 1e-3, 1.0, 50.0, 700.0, 1e6})
      for (const double delta : {1e-300, 1e-12, 1e-4, 0.5, 1 - 0x1p-53})
        for (const std::size_t count : {std::size_t{1}, std::size_t{1} << 20, std::size_t{1} << 40})
          for (const double distance : {5e-324, 1e-200, 1e-6, 1e200})
            release_or_refuse([&] {
              const OutputNoise noise = plan_output_noise(distance, count, epsilon, delta);
              CHECK(std::isfinite(noise.sigma));
              CHECK(noise.grid * std::sqrt(static_cast<double>(count)) <= noise.sensitivity);
              const double smoothed = noise.grid * std::sqrt(static_cast<double>(noise.variance) - 9);
              CHECK(log_delta_of(noise.sensitivity, smoothed, epsilon) <= std::log(delta));
              ++planned;
            });
    CHECK(planned > 100);
  }
}
