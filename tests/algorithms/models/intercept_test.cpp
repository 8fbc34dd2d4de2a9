// tests/algorithms/models/intercept_test.cpp - linear models whose rows end in a value 1: what they
// learn, and that certificates, verifiers and readers of rows count it.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/evaluation/regularisation.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/slot_constants.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/trained_store.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

SolverOptions with_intercept() {
  SolverOptions options = unseeded();
  options.intercept = true;
  return options;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the last weight is the intercept of the regularised objective, as a dense solver finds it") {
    for (const Head head : kHeads) {
      SolverOptions options = with_intercept();
      options.head = head;
      options.tau = 1e-9;
      const TrainingSet rows = random_rows(80, 4, 3, 7, 0, true);
      REQUIRE(rows.features() == 5);
      const Fit fit = make_solver("newton", options)->fit(rows, kExact);
      CHECK(fit.report.certified);
      REQUIRE(fit.model.published.rows() == 5);
      CHECK((fit.model.published - dense_minimiser(rows, options.lambda, head)).norm() < 1e-5);
      CHECK(fit.model.published.row(4).norm() > 1e-3);
    }
  }

  TEST_CASE("every solver with an intercept follows a stream, and verify finds nothing wrong") {
    const TrainedStore world;
    for (const std::string_view name : solver_names()) {
      CAPTURE(std::string(name));
      if (!solver_entry(name).intercept) {
        CHECK_THROWS_AS(static_cast<void>(make_solver(name, with_intercept())), UsageError);
        continue;
      }
      world.train(std::string(name), with_intercept());
      const ModelRecord record = load_model(world.store, name);
      CHECK(record.options.intercept);
      CHECK(record.model.published.rows() == 33);
      CHECK(whole_certificate(record)["constants"]["intercept"]["value"] == true);
      CHECK(whole_certificate(record)["constants"]["features"]["value"] == 33);
    }
    world.stream({world.edge_of_training_node(), {RequestKind::remove_node, 11, 0}}, {"newton", "langevin", "rewind"});
    const VerifyReport report = world.verify();
    CAPTURE(text_of(report));
    CHECK(report.ok());
  }

  TEST_CASE("rows of the store get the value 1 wherever a model reads them") {
    const TrainedStore world;
    world.train("newton", with_intercept());
    const ModelRecord record = load_model(world.store, "newton");
    const StoreReader live(world.store, ample_budget());
    const TrainingRows held(live, record.rows.weights, form_of(record), ample_budget());
    const TrainingSet& set = held.set();
    std::vector<float> rows(set.size() * set.features(), -3);
    read_rows(*row_units(live, record.rows), record, set.nodes(), rows.data());
    for (std::size_t i = 0; i < set.size(); ++i)
      CHECK(std::equal(set.row(i).begin(), set.row(i).end(), rows.begin() + static_cast<std::ptrdiff_t>(33 * i)));
    CHECK(evaluate_model(live, record).train == evaluate_model(live, record, &set).train);
  }

  TEST_CASE("a certificate that denies the intercept of its model is found out") {
    const TrainedStore world;
    world.train("newton", with_intercept());
    world.forge_certificate("newton", [](Json& json) { json["constants"]["intercept"]["value"] = false; });
    check_among(world.verify(), "intercept is false in the certificate and true in the model");
  }

  TEST_CASE("bounds of runs count the longer rows: sqrt 2 in gradients, 2 in curvatures") {
    for (const Head head : {Head::kLogistic, Head::kSoftmax}) {
      SolverOptions plain = with_intercept(), longer = plain;
      plain.head = longer.head = head;
      plain.intercept = false;
      const LossConstants without = loss_constants(plain, 3, 2), with = loss_constants(longer, 3, 2);
      CHECK(with.data_gradient == doctest::Approx(std::sqrt(2.0) * without.data_gradient));
      CHECK(with.smoothness - longer.lambda == doctest::Approx(2 * (without.smoothness - plain.lambda)));
      // A long row close to the bound of its gradient.
      TrainingSet rows(2, 2, RowForm(1, true));
      rows.append(1, std::vector<float>{1, 1}, 0);
      Matrix weights = Matrix::Zero(2, 2);
      weights.col(0).setConstant(-40);
      weights.col(1).setConstant(40);
      const double norm = gradient_with_error(objective_of(rows, 1e-300, head), weights).value.norm();
      CHECK(norm <= with.data_gradient * (1 + 1e-12));
      CHECK(norm > without.data_gradient * 1.2);
    }
  }

  TEST_CASE("the default lambda depends on declared numbers alone, and falls with the nodes") {
    CHECK(default_lambda({"newton", 1000, 10, 3, Head::kLogistic}) >
          default_lambda({"newton", 100000, 10, 3, Head::kLogistic}));
    CHECK(default_lambda({"langevin", 100000, 10, 3, Head::kLogistic}) == 1e-3);
    CHECK_THROWS_AS(static_cast<void>(default_lambda({"newton", 0, 10, 3, Head::kLogistic})), UsageError);
    CHECK_THROWS_AS(static_cast<void>(default_lambda({"newton", 10, 0, 3, Head::kLogistic})), UsageError);
    CHECK_THROWS_AS(static_cast<void>(default_lambda({"newton", 10, 10, 0, Head::kLogistic})), UsageError);
  }

  TEST_CASE("a seeded release is certified by no solver, in no line, and verify refuses a line that says so") {
    const TrainedStore world;
    for (const std::string_view name : solver_names()) {
      if (!solver_entry(name).noisy) continue;
      CAPTURE(std::string(name));
      world.train(std::string(name), seeded());
      const ModelRecord record = load_model(world.store, name);
      const Json certificate = whole_certificate(record);
      CHECK(certificate["for_tests"] == true);
      CHECK(certificate["certified"] == false);
      CHECK(certificate["claim"].is_null());
      CHECK(certificate["theorem"].is_null());
      CHECK(certificate["releases"] == "this");
    }
    for (const std::string solver : {"newton", "retrain"}) {
      world.train(solver);
      REQUIRE(whole_certificate(load_model(world.store, solver))["certified"] == true);
      world.forge_certificate(solver, [](Json& json) { json["for_tests"] = true; });
      check_among(world.verify(), "its noise was drawn from a seed");
    }
  }

  TEST_CASE("on no row exact learns all zeros, from nothing as in a stream whose last row left") {
    const TrainedStore world;
    world.train("exact", with_intercept());
    std::vector<Request> all;
    const TrainingSet rows = world.rows();
    for (const NodeId node : rows.nodes()) all.push_back({RequestKind::remove_node, node, 0});
    world.stream(all, {"exact"});
    const Matrix streamed = load_model(world.store, "exact").model.published;
    world.train("exact", with_intercept());
    const ModelRecord trained = load_model(world.store, "exact");
    CHECK(trained.model.trained_rows == 0);
    CHECK(trained.model.published == streamed);
    CHECK(streamed == Matrix::Zero(streamed.rows(), streamed.cols()));
    CHECK(world.verify().ok());
  }

  TEST_CASE("training on no row is an error, and a model whose rows all left stays") {
    const TrainedStore world;
    world.train("newton", with_intercept());
    std::vector<Request> all;
    const TrainingSet rows = world.rows();
    for (const NodeId node : rows.nodes()) all.push_back({RequestKind::remove_node, node, 0});
    world.stream(all, {"newton"});
    CHECK(load_model(world.store, "newton").model.trained_rows == 0);
    CHECK_THROWS_WITH_AS(world.train("retrain", with_intercept()),
                         doctest::Contains("there is no training row, so a model would say nothing"), DataError);
  }
}
