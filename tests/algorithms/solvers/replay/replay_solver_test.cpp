// tests/algorithms/solvers/replay/replay_solver_test.cpp - releases of T0': equality with training
// from nothing, what is refused, and what a store makes of them.
#include "algorithms/solvers/replay/replay_solver.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "algorithms/evaluation/equality_audit.h"
#include "algorithms/evaluation/evaluation.h"
#include "algorithms/evaluation/validation_trial.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/checks/checked_model.h"
#include "storage/io/error.h"
#include "support/learner_data.h"
#include "support/sabotage.h"
#include "support/shared_rows.h"
#include "support/thread_ranks.h"
#include "support/trained_store.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

SolverOptions replay_options(double batches = 1) {
  SolverOptions options = taken_options("replay", {});
  options.hidden = {6, 5};
  options.parameters = {{"steps", 25}, {"batches", batches}, {"rate", 0.05}};
  return options;
}

bool have_equal_bits(const Matrix& a, const Matrix& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), size_of(a.size()) * sizeof(double)) == 0;
}

std::string refusal_of(const SolverOptions& options) {
  try {
    require_options("replay", options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("T0': unlearning publishes the bits of training from nothing, whatever was before") {
    for (const double batches : {1.0, 3.0}) {
      const auto solver = make_solver("replay", replay_options(batches));
      TrainingSet rows = random_rows(200, 8, 3, 41);
      Fit fit = solver->fit(rows, kExact);
      const Matrix first = fit.model.published;
      for (unsigned round = 0; round < 4; ++round) {
        const BatchChange change = random_change(rows, round % 7, 50, 2, 30, 0.05, round);
        rows.apply(change);
        if (round == 2) fit.model.published.setConstant(7);
        const StepReport report = solver->absorb(fit.model, rows, change, kExact);
        CHECK(report.certified);
        CHECK(report.claim == "T0'");
        CHECK(report.epsilon == 0);
        CHECK(report.delta_reached == 0.0);
        CHECK(report.retrained);
        CHECK(report.terms.published() == std::vector<std::string>{"steps", "batches", "rate", "key"});
        CHECK(have_equal_bits(fit.model.published, solver->fit(rows, kExact).model.published));
        CHECK_FALSE(have_equal_bits(fit.model.published, first));
        CHECK(fit.model.state.numbers.empty());
        CHECK(fit.model.state.arrays.empty());
      }
    }
  }

  TEST_CASE("T0': putting back what was removed gives the first model, and rows in another order do, too") {
    const auto solver = make_solver("replay", replay_options());
    const TrainingSet all = random_rows(150, 6, 3, 8);
    TrainingSet fewer = all, turned(6, 3, all.form());
    const BatchChange change = random_change(all, 0, 20, 8, 0, 0, 1);
    fewer.apply(change);
    Fit fit = solver->fit(all, kExact);
    const Matrix first = fit.model.published;
    solver->absorb(fit.model, fewer, change, kExact);
    CHECK_FALSE(have_equal_bits(fit.model.published, first));
    solver->catch_up(fit.model, all, kExact);
    CHECK(have_equal_bits(fit.model.published, first));
    for (std::size_t i = all.size(); i-- > 0;)
      turned.append(static_cast<NodeId>(all.size() - i), all.row(i), all.labels()[i]);
    CHECK(have_equal_bits(solver->fit(turned, kExact).model.published, first));
  }

  TEST_CASE("T0': ranks publish what one process does") {
    const TrainingSet whole = random_rows(700, 5, 3, 12);
    const auto solver = make_solver("replay", replay_options(2));
    CHECK_NOTHROW(require_over_ranks("replay", replay_options()));
    const Fit alone = solver->fit(whole, kExact);
    std::vector<Fit> fits(3);
    run_ranks(3, [&](Ranks& ranks) { fits[ranks.rank()] = solver->fit(shared_among(ranks, whole), kExact); });
    for (const Fit& fit : fits) {
      CHECK(have_equal_bits(fit.model.published, alone.model.published));
      CHECK(fit.report.certified);
    }
  }

  TEST_CASE("T0': rows that a lazy stream left stale are asked for anew, and nothing is published") {
    const auto solver = make_solver("replay", replay_options());
    ApproximationError lazy;
    lazy.lazy = true;
    lazy.euclidean = lazy.absolute = Vector::Constant(20, 1e-9);
    const Fit fit = solver->fit(random_rows(20, 4, 2, 3), lazy);
    CHECK(fit.report.flush_needed);
    CHECK(fit.model.published.size() == 0);
  }

  TEST_CASE("T0': the audit of equality passes the solver, with batches by node too") {
    const TrainingSet rows = random_rows(40, 4, 2, 12);
    Canary canary{"one row", rows, random_change(rows, 1, 40, 1, 5, 0.3, 5), rows};
    canary.after.apply(canary.change);
    AuditOptions how;
    how.trials = 16;
    how.working_memory = std::size_t{1} << 24;
    for (const double batches : {1.0, 4.0})
      CHECK_FALSE(audit_equality(honest_solver("replay"), replay_options(batches), canary, how).refuted());
  }

  TEST_CASE("T0': what makes no exact network is refused in one line that says what to change") {
    CHECK(refusal_of(replay_options()).empty());
    SolverOptions options = replay_options();
    options.hidden.clear();
    CHECK(refusal_of(options).find("trains networks alone") != std::string::npos);
    options = replay_options();
    options.activation = Activation::kTanh;
    CHECK(refusal_of(options).find("no network of tanh") != std::string::npos);
    options = replay_options();
    options.hidden = {4000};
    CHECK(refusal_of(options).find("4000 are more than the 2048") != std::string::npos);
    for (const double lambda : {1e-31, 1.5}) {
      options = replay_options();
      options.lambda = lambda;
      CHECK(refusal_of(options).find("from 1e-30 to 1") != std::string::npos);
    }
    options = replay_options(2);
    options.data_order = true;
    CHECK(refusal_of(options).find("ids of nodes") != std::string::npos);
    options = {};
    options.head = Head::kSoftmax;
    options.hidden = {3};
    options.activation = Activation::kRelu;
    CHECK_THROWS_WITH_AS(require_options("retrain", options), doctest::Contains("no network of relu"), UsageError);
    options.activation = Activation::kTanh;
    const std::string_view given[] = {"activation"};
    CHECK_THROWS_WITH_AS(require_read("replay", options, given), doctest::Contains("relu alone"), UsageError);
    const std::string_view head[] = {"head"};
    CHECK_THROWS_WITH_AS(require_read("replay", {}, head), doctest::Contains("networks alone"), UsageError);
  }

  TEST_CASE("T0': a store's model is certified, verified by training again, and a weight that was altered is seen") {
    const TrainedStore world;
    world.train("replay", replay_options());
    world.stream({world.edge_of_training_node(), {RequestKind::remove_node, world.rows().nodes()[5], 0}}, {"replay"});
    const ModelRecord record = load_model(world.store, "replay");
    const Json certificate = whole_certificate(record);
    CHECK(certificate["certified"] == true);
    CHECK(certificate["theorem"] == "T0'");
    CHECK(certificate["releases"] == "all-later");
    CHECK(certificate["epsilon"] == 0.0);
    CHECK(certificate["constants"]["activation"]["value"] == "relu");
    const VerifyReport report = world.verify();
    CHECK(text_of(report) == "");
    CHECK(report.models == 1);
    const auto solver = make_solver("replay", record.options);
    CHECK(have_equal_bits(record.model.published, solver->fit(world.rows(), kExact).model.published));
    world.forge("replay", [](ModelRecord& forged) { forged.model.published(3, 0) += 0x1p-18; });
    check_among(world.verify(), "1 of ");
    world.forge("replay", [](ModelRecord& forged) { forged.model.published(3, 0) += 0x1p-20; });
    check_among(world.verify(), "is not a multiple of 2^-18");
  }

  TEST_CASE("T0': trials of lambda train the exact network itself, whose blocks stand side by side") {
    const TrainedStore world;
    SolverOptions options = replay_options();
    options.lambda = 0.01;
    world.train("replay", options);
    const ModelRecord record = load_model(world.store, "replay");
    const StoreReader live(world.store, ample_budget());
    const std::vector<NodeId> nodes = validation_keys(live, record.rows, "this test");
    ValidationTrial trial(live, ample_budget(), options, record.rows, nullptr);
    CHECK(trial.accuracy_at(0.01, nodes) == accuracy_on(*row_units(live, record.rows), record, nodes, nullptr));
    CHECK_FALSE(trial.accuracy_at(2, nodes).has_value());  // the solver takes no such lambda
    ModelRecord stacked = record;
    stacked.rows.weights = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    CHECK(blocks_of(stacked) == 1);
    stacked.model.solver = "retrain";
    CHECK(blocks_of(stacked) == 3);
  }

  TEST_CASE("T0': a purge keeps the model, whose file a store without the removed data has, byte for byte") {
    const TrainedStore world, other;
    const std::vector<Request> requests{{RequestKind::remove_node, 7, 0}, world.edge_of_training_node()};
    world.train("replay", replay_options());
    world.stream({requests[0]}, {"replay"});
    world.stream({requests[1]}, {"replay"});
    other.stream(requests);
    other.train("replay", replay_options());
    const Matrix before = load_model(world.store, "replay").model.published;
    CHECK(have_equal_bits(before, load_model(other.store, "replay").model.published));
    const PurgeReport kept = purge(world.store);
    CHECK(kept.kept_models == std::vector<std::string>{"replay"});
    CHECK(have_equal_bits(before, load_model(world.store, "replay").model.published));
    CHECK(world.verify().ok());
  }
}
