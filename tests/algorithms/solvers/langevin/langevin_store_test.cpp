// tests/algorithms/solvers/langevin/langevin_store_test.cpp - models of noisy SGD at rest:
// reopened, certified, verified, forged.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "algorithms/sgd/noisy_sgd_run.h"
#include "algorithms/sgd/slots.h"
#include "algorithms/solvers/langevin/langevin_constants.h"
#include "algorithms/solvers/langevin/langevin_state.h"
#include "algorithms/verification/verify.h"
#include "storage/io/error.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using testing::check_among;
using testing::check_one;
using testing::Json;
using testing::kContext;
using testing::read_all;
using testing::seeded;
using testing::text_of;
using testing::TrainedStore;

constexpr const char* kBoth[] = {"langevin", "langevin-full"};

std::vector<std::vector<Request>> batches(const TrainedStore& world) {
  const TrainingSet rows = world.rows();
  return {{world.edge_of_training_node(), {RequestKind::remove_node, rows.nodes()[3], 0}},
          {{RequestKind::remove_feature, rows.nodes()[9], 0}, {RequestKind::insert_edge, 1, 150}},
          {{RequestKind::remove_node, rows.nodes().back(), 0}}};
}

TEST_SUITE("unit") {
  TEST_CASE("a model that is closed and opened between batches goes on as if it had stayed open") {
    for (const char* solver : kBoth) {
      CAPTURE(solver);
      const TrainedStore steady, reopened;
      const auto requests = batches(steady);
      steady.train(solver, seeded());
      {
        StoreWriter live(steady.store, ample_budget());
        Learner learner = Learner::open(live, ample_budget(), solver, kContext, 9);
        for (const auto& batch : requests) {
          const StepReport report = learner.absorb(live.apply(batch, live.resolve(batch), {}));
          CHECK(report.residual_bound <= report.budget);
          CHECK_FALSE(report.retrained);
          CHECK(report.terms.at("moved_weight") > 0);
        }
        CHECK(langevin_state(learner.model()).slots.size() == learner.rows().size() + 3);
      }
      reopened.train(solver, seeded());
      for (const auto& batch : requests) reopened.stream(batch, {solver}, 0, 9);
      CHECK(read_all(reopened.model(solver)) == read_all(steady.model(solver)));
      CHECK(read_all(reopened.log(solver)) == read_all(steady.log(solver)));
      CHECK(text_of(reopened.verify()) == "");
      CHECK(reopened.verify().models == 1);
    }
  }

  TEST_CASE("a model that missed a batch is trained again in its slots, and is certified") {
    const TrainedStore world;
    world.train("langevin");
    const auto requests = batches(world);
    world.stream(requests[0]);
    world.stream(requests[1]);
    StoreWriter live(world.store, ample_budget());
    Learner learner = Learner::open(live, ample_budget(), "langevin", kContext, {});
    const auto report = learner.catch_up();
    REQUIRE(report.has_value());
    CHECK(report->retrained);
    CHECK(report->certified);
    CHECK(langevin_state(learner.model()).constants.slots == learner.rows().size() + 2);
    CHECK_FALSE(learner.catch_up().has_value());
    CHECK_FALSE(learner.absorb(live.apply(requests[2], live.resolve(requests[2]), {})).retrained);
  }

  TEST_CASE("certificates name T2, the adjacency, the reference and the private terms") {
    const TrainedStore world;
    world.train("langevin");
    world.stream(batches(world)[0], {"langevin"});
    const Json json = whole_certificate(load_model(world.store, "langevin"));
    CHECK(json["theorem"] == "T2");
    CHECK(json["claim"] == "T2");
    CHECK(json["certified"] == true);
    CHECK(json["requests"] == "non-adaptive");
    CHECK(json["releases"] == "this");
    CHECK(json["adjacency"].get<std::string>().starts_with("null-row"));
    CHECK(json["mechanism"].get<std::string>().starts_with("projected noisy SGD"));
    CHECK(json["reference"].get<std::string>().find("from W = 0") != std::string::npos);
    CHECK(json["budget"] == 1.0);
    CHECK(json["residual_bound"].get<double>() > 0);
    CHECK(json["residual_bound"].get<double>() <= 1);
    CHECK(json["delta"]["reached"] == 1e-4);
    CHECK(json["not_covered"].dump().find("floating-point") != std::string::npos);
    for (const Json& name : json["public_terms"]) {
      CHECK(json["terms"].contains(name.get<std::string>()));
      for (const char* hidden : {"distance", "epochs", "moved_weight", "removed_weight", "own_distance"})
        CHECK(name != hidden);
    }
    CHECK(json["withdraw"].size() == 1);
  }

  TEST_CASE(
      "after adaptive requests and after approximate rows an account certifies nothing, the epochs of any start do") {
    const TrainedStore world;
    world.train("langevin");
    const auto requests = batches(world);
    {
      StoreWriter live(world.store, ample_budget());
      Learner learner = Learner::open(live, ample_budget(), "langevin", {true, "test", {}}, {});
      CHECK(learner.absorb(live.apply(requests[0], live.resolve(requests[0]), {})).certified);
    }
    const Json adaptive = whole_certificate(load_model(world.store, "langevin"));
    CHECK(adaptive["theorem"] == "T2");
    CHECK(adaptive["requests"] == "adaptive");
    CHECK(adaptive["releases"] == "all-later");
    CHECK(text_of(world.verify()) == "");
    const auto files = world.files_of("langevin");
    world.forge("langevin", [](ModelRecord& record) { record.model.state.numbers["adaptive_requests"] = 0; });
    check_among(world.verify(), "by an account that needs others");
    check_among(world.verify(), "by an account of its requests");
    TrainedStore::restore(files);
    world.stream(requests[1], {"langevin"});
    CHECK(whole_certificate(load_model(world.store, "langevin"))["releases"] == "all-later");
    CHECK(text_of(world.verify()) == "");

    world.train("langevin");
    world.stream({{RequestKind::remove_edge, 0, 3}, {RequestKind::insert_edge, 1, 120}}, {"langevin"}, 0.5);
    const Json lazy = whole_certificate(load_model(world.store, "langevin"));
    CHECK(lazy["certified"] == false);
    CHECK(lazy["claim"].is_null());
    world.stream(requests[2], {"langevin"});
    CHECK(whole_certificate(load_model(world.store, "langevin"))["certified"] == true);
    CHECK(text_of(world.verify()) == "");
  }

  TEST_CASE("after a batch with a threshold no run is certified, whether rows are stale or not") {
    for (const char* solver : {"langevin", "langevin-full", "rewind", "descend"}) {
      CAPTURE(solver);
      const bool from_anywhere = std::string(solver).starts_with("langevin");
      const TrainedStore world;
      const auto requests = batches(world);
      const auto certified = [&] {
        const Json json = whole_certificate(load_model(world.store, solver));
        CHECK(json["claim"].is_null() != json["certified"].get<bool>());
        return json["certified"].get<bool>();
      };
      world.train(solver);
      CHECK(certified());
      world.stream(requests[0], {solver}, 1e-12);
      CHECK(StoreReader(world.store, ample_budget()).embedding().stale_rows() == 0);
      CHECK_FALSE(certified());
      world.train(solver);
      CHECK_FALSE(certified());
      CHECK(text_of(world.verify()) == "");
      world.stream(requests[1], {solver});
      CHECK(certified() == from_anywhere);
      world.train(solver);
      CHECK(certified());
    }
  }

  TEST_CASE("rows that were made exact behind a model's back are no account's, until it is trained again") {
    for (const char* solver : {"langevin", "langevin-full", "rewind", "descend"}) {
      CAPTURE(solver);
      const bool from_anywhere = std::string(solver).starts_with("langevin");
      const TrainedStore world;
      const auto certified = [&] { return whole_certificate(load_model(world.store, solver))["certified"] == true; };
      world.stream(batches(world)[0], {}, 0.5);
      world.train(solver);
      CHECK_FALSE(certified());
      {
        StoreWriter live(world.store, ample_budget());
        CHECK(live.publish_stale().rows_touched > 0);  // as another solver's training does
        live.checkpoint();
      }
      world.stream({{RequestKind::remove_edge, 0, 0}}, {solver});  // rejected: no row moves
      CHECK(certified() == from_anywhere);
      CHECK(text_of(world.verify()) == "");
      world.train(solver);
      CHECK(certified());
    }
  }

  TEST_CASE("every number of a T2 certificate is held against the model or computed again") {
    const TrainedStore world;
    world.train("langevin");
    world.stream(batches(world)[0], {"langevin"});
    const auto files = world.files_of("langevin");
    const Json good = whole_certificate(load_model(world.store, "langevin"));
    const auto restore = [&] { TrainedStore::restore(files); };
    const auto found = [&](const char* path, const Json& value, const std::string& words) {
      CAPTURE(path);
      world.forge_certificate("langevin", [&](Json& json) { json[Json::json_pointer(path)] = value; });
      const VerifyReport report = world.verify();
      CHECK(text_of(report).find("4 models: langevin: " + words) != std::string::npos);
      CHECK(report.models == 0);
      restore();
    };
    for (const char* name : {"distance", "epochs", "learning_epochs", "sigma", "step_size", "radius", "gradient_bound",
                             "smoothness", "strong_convexity", "slots", "batch_rows", "batches", "order_key"})
      found(("/terms/" + std::string(name)).c_str(), 1.01 * good["terms"][name].get<double>(),
            std::string(name) + " is ");
    found("/residual_bound", 0.5 * good["residual_bound"].get<double>(), "the epsilon reached is");
    found("/budget", 2.0, "budget is 2.0");
    found("/retrained", true, "retrained is true");
    found("/claim", "T1", "claim is \"T1\"");
    found("/delta/reached", 1e-5, "the delta reached is 1e-05");

    const auto forged = [&](const std::function<void(LangevinState&)>& change, const std::string& words) {
      world.forge("langevin", [&](ModelRecord& record) {
        LangevinState state = langevin_state(record.model);
        change(state);
        keep_state(state, record.model);
      });
      CAPTURE(words);
      CHECK(text_of(world.verify()).find("4 models: langevin: " + words) != std::string::npos);
      restore();
    };
    forged([](LangevinState& state) { state.distance *= 0.5; }, "distance is");
    forged([](LangevinState& state) { state.last_epochs += 1; }, "epochs is");
    forged([](LangevinState& state) { state.constants.sigma *= 0.1; }, "the constants of the run are not those");
    forged([](LangevinState& state) { state.constants.epochs += 1; }, "the constants of the run are not those");
    world.forge("langevin", [](ModelRecord& record) { record.model.state = {}; });
    check_among(world.verify(), "holds no slots");
    restore();
    // A forger who also writes the larger epsilon and Z is told by the target.
    world.forge("langevin", [&](ModelRecord& record) {
      LangevinState state = langevin_state(record.model);
      state.last_epochs = 1;
      keep_state(state, record.model);
      const SolverOptions& options = record.options;
      const NoisySgd sgd = noisy_sgd_of(state.constants, options, 4);
      Json json = whole_certificate(record);
      json["terms"]["epochs"] = 1;
      json["residual_bound"] =
          accountant_of(state.constants, sgd, options).epsilon(state.distance, 1, state.constants.sigma);
      seal_certificate(record, json, SigningKey::of_store(world.store));
    });
    check_among(world.verify(), "above the target 1.0");
    restore();
    CHECK(text_of(world.verify()) == "");
  }

  TEST_CASE("too little noise is found: none at all on any rows, a third of it where features outnumber rows") {
    for (const char* solver : kBoth) {
      CAPTURE(solver);
      const std::string words = std::string("releases: ") + solver + ": ";
      for (const std::uint32_t columns : {2U, 120U}) {
        const TrainedStore world(columns);
        world.train(solver);
        const ModelRecord good = load_model(world.store, solver);
        const LangevinState state = langevin_state(good.model);
        const NoisySgd sgd = noisy_sgd_of(state.constants, good.options, 4);
        Matrix still = Matrix::Zero(good.model.published.rows(), 4);
        RandomSource unused = RandomSource::from_seed(0, 0);
        StoreReader live(world.store, ample_budget());
        const TrainingRows rows(live, good.rows, form_of(good), ample_budget());
        run_epochs({sgd, rows.set(), Batches(state.constants, state.slots, rows.set()), good.options.head, 0},
                   state.constants.epochs, unused, still);
        const auto publish = [&](double share) {
          world.forge(solver, [&](ModelRecord& record) {
            record.model.published = still + share * (good.model.published - still);
          });
          return world.verify();
        };
        CHECK(text_of(publish(1)) == "");
        const std::string none = text_of(publish(1e-3));
        CHECK(none.find(words + "the distance of the published weights from a run without noise is ") !=
              std::string::npos);
        const std::string third = text_of(publish(1.0 / 3));
        CHECK((third.find("the part of the published weights that no row sees is ") != std::string::npos) ==
              (columns > 2));
      }
    }
  }

  TEST_CASE("weights farther than noise carries them, a slot of another node and an odd file are found") {
    for (const char* solver : kBoth) {
      const TrainedStore world(2);
      world.train(solver);
      const std::string words = std::string("releases: ") + solver + ": ";
      const ModelRecord good = load_model(world.store, solver);
      const double noise = langevin_state(good.model).constants.sigma / std::sqrt(good.options.lambda);
      const auto publish = [&](double distance) {
        world.forge(solver, [&](ModelRecord& record) {
          record.model.published = good.model.published;
          record.model.published(0, 0) += distance;
        });
        return world.verify();
      };
      CHECK(text_of(publish(0)) == "");
      check_one(publish(25 * noise), false, words + "the published weights stand ");
      check_one(publish(10 * langevin_state(good.model).constants.radius), false, "above the radius");
      static_cast<void>(publish(0));
      world.forge(solver, [](ModelRecord& record) { record.model.state.arrays.at("slots")[4] += 1; });
      check_one(world.verify(), false, words + "the training row at position ");
      world.forge(solver, [](ModelRecord& record) { record.model.state.arrays.at("slots")[4] = kNoNode; });
      check_one(world.verify(), false, " slots are filled, there are ");
      ModelRecord odd = good;
      odd.model.state.arrays.at("slots").pop_back();
      save_model(world.store, odd);
      StoreWriter live(world.store, testing::ample_budget());
      CHECK_THROWS_WITH_AS(
          static_cast<void>(Learner::open(live, testing::ample_budget(), solver, testing::kContext, {})),
          doctest::Contains("slots and batches of the model do not fit"), DataError);
    }
  }
}

}  // namespace
}  // namespace unweave
