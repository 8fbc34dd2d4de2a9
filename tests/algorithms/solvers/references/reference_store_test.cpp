// tests/algorithms/solvers/references/reference_store_test.cpp - networks and solvers that claim
// nothing on a store: files, streams, verify.
#include <doctest/doctest.h>

#include <algorithm>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/registry/registry.h"
#include "algorithms/solvers/streaming/streaming_solver.h"
#include "algorithms/unlearning/noiseless_learning.h"
#include "storage/io/error.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using testing::check_among;
using testing::check_one;
using testing::Json;
using testing::kContext;
using testing::text_of;
using testing::TrainedStore;
using testing::unseeded;

struct Case {
  const char* solver;
  std::vector<std::size_t> hidden;
};

const Case kCases[] = {{"retrain", {6, 4}}, {"finetune", {}},     {"finetune", {6}},
                       {"neggrad", {}},     {"neggrad", {6}},     {"streaming", {}},
                       {"streaming", {6}},  {"newton-step", {6}}, {"jackknife", {6}}};

SolverOptions reference_options(const Case& one) {
  SolverOptions options = unseeded();
  options.hidden = one.hidden;
  if (!one.hidden.empty()) {
    options.head = Head::kSoftmax;
    options.activation = Activation::kSmelu;
    options.parameters["epochs"] = 4;
  }
  return options;
}

SgdPlan plan_of(const SolverOptions& options) {
  ParametersOf<SgdPlan> table;
  return add_sgd(table).read(options.parameters);
}

std::vector<Request> first_batch() {
  return {{RequestKind::remove_node, 7, 0}, {RequestKind::remove_edge, 0, 3}};
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a network of one class has no constants of the loss, and is trained all the same") {
    for (const std::uint32_t classes : {1U, 2U}) {
      CAPTURE(classes);
      testing::TinyStore contents = testing::random_store(60, 150, 5, 3);
      contents.classes = classes;
      for (std::int32_t& label : contents.labels) label = std::min(label, static_cast<std::int32_t>(classes) - 1);
      const testing::TempDir folder;
      testing::write_store(folder / "s", contents);
      testing::propagate_store(folder / "s", testing::tiny_spec(1, false));
      StoreWriter live(folder / "s", ample_budget());
      const Learner learner = Learner::train(live, ample_budget(), "retrain", reference_options(kCases[0]),
                                             live.embedding().spec().weights, kContext);
      CHECK(learner.model().network.has_value());
      CHECK(learner.last_step().terms.contains("smoothness") == (classes > 1));
    }
  }

  TEST_CASE("a model read from its file goes on as the one that was never written") {
    for (const Case& one : kCases) {
      CAPTURE(one.solver);
      const TrainedStore world(5);
      world.train(one.solver, reference_options(one));
      const ModelRecord before = load_model(world.store, one.solver);
      CHECK(before.model.network.has_value() == !one.hidden.empty());
      if (before.model.network) {
        CHECK(before.model.network->hidden == one.hidden);
        CHECK(before.model.network->activation == Activation::kSmelu);
        CHECK(before.model.published.cols() == 1);
      }
      StoreWriter live(world.store, ample_budget());
      TrainingRows rows(live, before.rows, before.clip, ample_budget());
      const SolverOptions options = reference_options(one);
      const Reservation memory = solver_entry(one.solver).reserve(options, {}, rows.set(), ample_budget());
      const auto solver = make_solver(one.solver, options, {static_cast<std::size_t>(memory.bytes())});
      Model kept = solver->fit(rows.set(), {}).model;
      CHECK(kept.published == before.model.published);
      Learner learner = Learner::open(live, ample_budget(), one.solver, kContext, 1);
      const std::vector<Request> last = {world.edge_of_training_node()};
      for (const std::vector<Request>& requests : {first_batch(), last}) {
        const BatchReport batch = live.apply(requests, live.resolve(requests), {});
        const BatchChange change = rows.follow(batch.update, true);
        CHECK(change.moved_from.size() > 0);
        static_cast<void>(solver->absorb(kept, rows.set(), change, {}));
        static_cast<void>(learner.absorb(batch));
        const ModelRecord written = load_model(world.store, one.solver);
        CHECK(written.model.published == kept.published);
        CHECK(written.model.state.arrays == kept.state.arrays);
        CHECK(written.model.state.numbers == kept.state.numbers);
      }
    }
  }

  TEST_CASE("accuracy of a network is that of its margins on clipped rows") {
    const TrainedStore world(5);
    world.train("retrain", reference_options(kCases[0]));
    const StoreReader live(world.store, ample_budget());
    const ModelRecord record = load_model(world.store, "retrain");
    const TrainingSet rows = world.rows();
    std::vector<double> margins(rows.size() * rows.classes());
    const Network network(shape_of(record.model));
    network.margins({record.model.published.data(), network.size()}, rows.row(0).data(), rows.size(), margins.data());
    double right = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto first = margins.begin() + static_cast<std::ptrdiff_t>(i * rows.classes());
      right += std::max_element(first, first + static_cast<std::ptrdiff_t>(rows.classes())) - first == rows.labels()[i];
    }
    CHECK(evaluate_model(live, record).train == right / static_cast<double>(rows.size()));
    CHECK(evaluate_model(live, record, &rows).train == right / static_cast<double>(rows.size()));
  }

  TEST_CASE("verify passes them after batches and refuses a claim, a certificate and another length of a step") {
    for (const Case& one : kCases) {
      CAPTURE(one.solver);
      const TrainedStore world(5);
      world.train(one.solver, reference_options(one));
      world.stream(first_batch(), {one.solver});
      CHECK(text_of(world.verify()) == "");
      const std::string words = "models: " + std::string(one.solver) + ": ";
      const ModelRecord good = load_model(world.store, one.solver);
      const Json certificate = whole_certificate(good);
      CHECK(certificate["mechanism"] == "none");
      CHECK(certificate["claim"].is_null());
      CHECK(certificate["certified"] == false);
      CHECK(certificate["constants"].contains("hidden") == !one.hidden.empty());
      if (!one.hidden.empty()) CHECK(certificate["constants"]["head"]["value"] == "mlp");

      world.forge_certificate(one.solver, [](Json& json) { json["claim"] = "T1"; });
      check_one(world.verify(), false, words + "it makes a claim");
      world.forge_certificate(one.solver, [](Json& json) {
        json["claim"] = nullptr;
        json["certified"] = true;
      });
      check_among(world.verify(), words + "it is certified");
      world.forge_certificate(one.solver, [](Json& json) { json["certified"] = false; });
      CHECK(text_of(world.verify()) == "");
      if (!one.hidden.empty()) {
        world.forge_certificate(one.solver, [](Json& json) { json["constants"]["hidden"]["value"] = {5}; });
        check_one(world.verify(), false, words + "hidden is");
      }
      if (std::string(one.solver) != "streaming") continue;
      world.train(one.solver, reference_options(one));
      world.forge(one.solver, [](ModelRecord& record) { record.model.published *= 1.01; });
      check_one(world.verify(), false, words + "the distance to the starting weights");
    }
  }

  TEST_CASE("a model whose text names another network than its weights is refused") {
    const TrainedStore world(5);
    world.train("retrain", reference_options(kCases[0]));
    const ModelRecord good = load_model(world.store, "retrain");
    for (const std::vector<std::size_t>& hidden :
         {std::vector<std::size_t>{}, {6}, {6, 5}, {std::size_t{1} << 60, 4}, std::vector<std::size_t>(99, 1)}) {
      ModelRecord record = good;
      record.options.hidden = hidden;
      save_model(world.store, record);
      CHECK_THROWS_AS(static_cast<void>(load_model(world.store, "retrain")), FormatError);
    }
  }

  TEST_CASE("beside a model of streaming stand its start, a Newton step and retrained weights") {
    const TrainedStore world(5);
    SolverOptions options = reference_options({"streaming", {}});
    world.train("streaming", options);
    const Matrix start = load_model(world.store, "streaming").model.published;
    world.stream(first_batch(), {"streaming"});
    const ModelRecord record = load_model(world.store, "streaming");
    const auto references = streaming_references(record.model, record.options, world.rows(), 0);
    REQUIRE(references.size() == 3);
    CHECK(references[0].weights == start);
    CHECK(references[2].weights ==
          as_published(shape_of(record.model),
                       learn_weights(record.options, plan_of(record.options), world.rows(), 0).weights));
    CHECK((references[1].weights - references[2].weights).norm() < 0.2 * (start - references[2].weights).norm());
  }
}

}  // namespace unweave
