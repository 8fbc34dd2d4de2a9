// tests/algorithms/solvers/streaming/streaming_solver_test.cpp - what a stream of batches does to a
// model of `streaming`.
#include "algorithms/solvers/streaming/streaming_solver.h"

#include <doctest/doctest.h>

#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "support/learner_data.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

SolverOptions softmax(std::map<std::string, double, std::less<>> parameters = {}) {
  SolverOptions options;
  options.head = Head::kSoftmax;
  options.lambda = 0.01;
  options.parameters = std::move(parameters);
  return options;
}

/// Removes every row for which leaves(i).
template <class Leaves>
BatchChange removal(const TrainingSet& set, const Leaves& leaves) {
  BatchChange change(set.features(), set.classes(), set.form());
  for (std::size_t i = 0; i < set.size(); ++i)
    if (leaves(i)) change.removed.append(set.nodes()[i], set.row(i), set.labels()[i]);
  return change;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows that move without a row that leaves turn the step; a batch that changes nothing leaves the weights") {
    const auto solver = make_solver("streaming", softmax());
    CHECK(solver->reads_moved_rows());
    const TrainingSet rows = random_rows(200, 6, 3, 1);
    const Fit fit = solver->fit(rows, kExact);
    const auto after = [&](const BatchChange& change) {
      TrainingSet now = rows;
      now.apply(change);
      Model model = fit.model;
      static_cast<void>(solver->absorb(model, now, change, kExact));
      return model;
    };
    const Model still = after(BatchChange(6, 3));
    CHECK(still.published == fit.model.published);
    CHECK(still.releases == 2);
    CHECK(still.state.numbers.at("round") == 0);
    const Model moved = after(random_change(rows, 0, 10, 0, 60, 0.5, 2));
    CHECK(moved.published != fit.model.published);
    const Model left = after(random_change(rows, 0, 10, 5, 0, 0, 2));
    const Model both = after(random_change(rows, 0, 10, 5, 60, 0.5, 2));
    CHECK(both.published != left.published);
    CHECK(both.published != moved.published);
  }

  TEST_CASE("the horizon, missed batches and the last row: it learns again and drops what it kept") {
    const auto solver = make_solver("streaming", softmax({{"rounds", 2}, {"mode", 0}}));
    TrainingSet rows = random_rows(120, 6, 3, 3);
    Fit fit = solver->fit(rows, kExact);
    for (unsigned round = 0; round < 3; ++round) {
      const BatchChange change = random_change(rows, round, 10, 4, 4, 0.2, round);
      rows.apply(change);
      const StepReport report = solver->absorb(fit.model, rows, change, kExact);
      CHECK(report.retrained == (round == 2));
      CHECK(fit.model.state.arrays.contains("forgotten") == (round < 2));
      CHECK(fit.model.state.numbers.at("round") == (round < 2 ? round + 1 : 0));
    }
    const Model fresh = solver->fit(rows, kExact).model;
    CHECK(fit.model.published == fresh.published);
    CHECK(fit.model.state.arrays == fresh.state.arrays);
    CHECK(solver->catch_up(fit.model, rows, kExact).retrained);
    const BatchChange all = removal(rows, [](std::size_t) { return true; });
    TrainingSet none = rows;
    none.apply(all);
    CHECK(solver->absorb(fit.model, none, all, kExact).retrained);
    CHECK(fit.model.published == Matrix::Zero(6, 3));
    CHECK(solver->absorb(fit.model, none, BatchChange(6, 3), kExact).terms.at("start_norm") == 0);
  }

  TEST_CASE("a class that leaves whole, a class that never was and rows on a line give finite steps") {
    for (const Head head : {Head::kLogistic, Head::kSoftmax, Head::kLeastSquares}) {
      SolverOptions options = softmax();
      options.head = head;
      const auto solver = make_solver("streaming", options);
      TrainingSet rows = random_rows(120, 6, 4, 4, 3);  // 3 of 4 classes are used
      Fit fit = solver->fit(rows, kExact);
      const BatchChange change = removal(rows, [&](std::size_t i) { return rows.labels()[i] == 1; });
      rows.apply(change);
      static_cast<void>(solver->absorb(fit.model, rows, change, kExact));
      CHECK(fit.model.published.allFinite());
      TrainingSet line(6, 2);
      for (std::size_t i = 0; i < 60; ++i) {
        const std::vector<float> row(6, 0.005F * static_cast<float>(i + 1));
        line.append(static_cast<NodeId>(i), row, i % 2);
      }
      Fit flat = solver->fit(line, kExact);
      const BatchChange some = removal(line, [](std::size_t i) { return i % 9 == 0; });
      line.apply(some);
      static_cast<void>(solver->absorb(flat.model, line, some, kExact));
      CHECK(flat.model.published.allFinite());
    }
  }

  TEST_CASE("kappa and amplification weigh forgetting, retention has three forms, and the paper's noise is its own") {
    const TrainingSet rows = random_rows(300, 6, 3, 5);
    const BatchChange change = random_change(rows, 0, 10, 20, 0, 0, 5);
    TrainingSet after = rows;
    after.apply(change);
    const auto run = [&](std::map<std::string, double, std::less<>> parameters,
                         std::optional<std::uint64_t> seed = {}) {
      SolverOptions options = softmax(std::move(parameters));
      options.seed = seed;
      const auto solver = make_solver("streaming", options);
      Fit fit = solver->fit(rows, kExact);
      const Matrix start = fit.model.published;
      const StepReport report = solver->absorb(fit.model, after, change, kExact);
      return std::tuple(Matrix(fit.model.published - start), report, start);
    };
    const auto [balanced, report, start] = run({{"kappa", 2}});
    const double ratio = 2 * report.terms.at("retention_norm") / report.terms.at("forgetting_norm");
    CHECK(report.terms.at("amplification") == doctest::Approx(ratio));
    CHECK((std::get<0>(run({{"amplification", ratio}})) - balanced).norm() < 1e-9 * balanced.norm());
    const Matrix retention = std::get<0>(run({{"kappa", 0}}));
    const Matrix forgetting = std::get<0>(run({{"retention", 0}, {"amplification", 1}}));
    const Matrix ascent = std::get<0>(run({{"retention", 2}, {"kappa", 0}}));
    const double step = std::get<1>(run({})).terms.at("step");
    for (const Matrix* part : {&retention, &forgetting, &ascent}) CHECK(part->norm() == doctest::Approx(step));
    // Directions add up: retention plus twice forgetting of the same length is the balanced one.
    const Matrix sum = retention + 2 * forgetting;
    CHECK((sum / sum.norm() - balanced / step).norm() < 1e-9);
    // Without G_0 what is left of the retention gradient is ascent on what left, and the pull of
    // lambda.
    const Network network(NetworkShape{Head::kSoftmax, 6, 3, {}, Activation::kTanh});
    const Vector gone = network.gradient({start.data(), 18}, ChosenRows(change.removed));
    const Vector direction = 0.01 * as_vector(start) - gone / static_cast<double>(after.size());
    CHECK((as_vector(ascent) / step + direction / direction.norm()).norm() < 1e-9);

    const auto [noisy, told, same] = run({{"noise", 1}}, 7);
    CHECK(told.for_tests);
    const double scale = same.norm() * std::sqrt(2 * std::log(1.25 / 1e-4));
    const double found = (noisy - std::get<0>(run({}))).norm() / std::sqrt(18.0);
    CHECK(found > 0.4 * scale);
    CHECK(found < 1.8 * scale);
    CHECK(std::get<0>(run({{"noise", 1}}, 7)) == noisy);
    CHECK(std::get<0>(run({{"noise", 1}})) != noisy);
  }

  TEST_CASE("beside it: no-op is w_0, and one Newton step lands next to the retrained minimiser") {
    for (const Head head : {Head::kLogistic, Head::kSoftmax, Head::kLeastSquares}) {
      SolverOptions options = softmax();
      options.head = head;
      const auto solver = make_solver("streaming", options);
      TrainingSet rows = random_rows(400, 6, 3, 6);
      Fit fit = solver->fit(rows, kExact);
      const Matrix start = fit.model.published;
      const BatchChange change = random_change(rows, 0, 10, 40, 40, 0.3, 6);
      rows.apply(change);
      const StepReport report = solver->absorb(fit.model, rows, change, kExact);
      const auto references = streaming_references(fit.model, options, rows, 0);
      REQUIRE(references.size() == 3);
      CHECK(references[0].name == "no-op");
      CHECK(references[0].weights == start);
      CHECK(references[1].name == "newton-step");
      const Matrix best = dense_minimiser(rows, options.lambda, head);
      const double before = (start - best).norm();
      CHECK((references[1].weights - best).norm() < 0.2 * before);
      CHECK(references[2].name == "retrained");
      CHECK((references[2].weights - best).norm() < 1e-6);
      CHECK(before <= report.terms.at("start_distance_bound"));
    }
    SolverOptions network = softmax();
    network.hidden = {4};
    network.parameters["epochs"] = 200;
    const TrainingSet rows = random_rows(100, 6, 3, 7);
    const Model deep = make_solver("streaming", network)->fit(rows, kExact).model;
    const auto beside = streaming_references(deep, network, rows, 0);
    REQUIRE(beside.size() == 3);
    CHECK(beside[0].weights == deep.published);
    CHECK(beside[2].weights == deep.published);
    const auto slope = [&](const Matrix& at) {
      const Vector sum = Network(shape_of(deep)).gradient({at.data(), size_of(at.size())}, ChosenRows(rows));
      return (sum / 100 + network.lambda * as_vector(at)).norm();
    };
    CHECK(slope(beside[1].weights) < 0.5 * slope(beside[0].weights));
    CHECK_THROWS_AS(static_cast<void>(streaming_references(make_solver("finetune", softmax())->fit(rows, kExact).model,
                                                           softmax(), rows, 0)),
                    UsageError);
  }

  TEST_CASE("what cannot be is refused") {
    for (const auto& [name, value] : {std::pair<const char*, double>{"rounds", 0},
                                      {"rounds", 2.5},
                                      {"step-constant", 0},
                                      {"projection", 0},
                                      {"projection", 257},
                                      {"kappa", -1},
                                      {"amplification", -1},
                                      {"mode", 3},
                                      {"mode", 0.5},
                                      {"retention", -1},
                                      {"noise", 2}})
      CHECK_THROWS_AS(make_solver("streaming", softmax({{name, value}})), UsageError);
    const auto solver = make_solver("streaming", softmax());
    const TrainingSet rows = random_rows(100, 6, 3, 8);
    Fit fit = solver->fit(rows, kExact);
    CHECK_THROWS_AS(solver->absorb(fit.model, random_rows(99, 6, 3, 8), BatchChange(6, 3), kExact), UsageError);
    for (const char* array : {"start", "gradient", "left", "shift", "center", "whitening", "moments"}) {
      Model damaged = fit.model;
      damaged.state.arrays.at(array).pop_back();
      CHECK_THROWS_WITH_AS(solver->absorb(damaged, rows, BatchChange(6, 3), kExact),
                           "the model holds no statistics of its training rows; train it again", UsageError);
    }
    Model damaged = fit.model;
    damaged.state.numbers.erase("rows");
    CHECK_THROWS_AS(solver->absorb(damaged, rows, BatchChange(6, 3), kExact), UsageError);
  }
}
