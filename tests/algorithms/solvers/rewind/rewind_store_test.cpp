// tests/algorithms/solvers/rewind/rewind_store_test.cpp - models of rewind, descend and
// descent-to-delete at rest: reopened, certified, verified, forged.
#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "algorithms/solvers/rewind/rewind_state.h"
#include "algorithms/verification/verify.h"
#include "storage/io/error.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using testing::check_one;
using testing::Json;
using testing::kContext;
using testing::text_of;
using testing::TrainedStore;

constexpr const char* kBoth[] = {"rewind", "descend"};

SolverOptions roomy(double sampling = 0) {
  SolverOptions options = testing::unseeded();
  options.parameters = {{"capacity", 1}, {"sampling", sampling}, {"retention", 1}};
  return options;
}

std::vector<std::vector<Request>> batches(const TrainedStore& world) {
  const TrainingSet rows = world.rows();
  return {{world.edge_of_training_node(), {RequestKind::remove_node, rows.nodes()[3], 0}},
          {{RequestKind::remove_feature, rows.nodes()[9], 0}, {RequestKind::insert_edge, 1, 150}},
          {{RequestKind::remove_node, rows.nodes().back(), 0}}};
}

TEST_SUITE("unit") {
  TEST_CASE("a model that is closed and opened between batches goes on as if it had stayed open, and verifies") {
    for (const std::string solver : {"rewind", "descend", "descent-to-delete"}) {
      CAPTURE(solver);
      SolverOptions options = roomy();
      if (solver == "descent-to-delete") options.parameters.clear();
      options.seed = 1;
      const TrainedStore steady, reopened;
      const auto requests = batches(steady);
      steady.train(solver, options);
      std::vector<StepReport> reports;
      {
        StoreWriter live(steady.store, ample_budget());
        Learner learner = Learner::open(live, ample_budget(), solver, kContext, 9);
        for (const auto& batch : requests)
          reports.push_back(learner.absorb(live.apply(batch, live.resolve(batch), {})));
      }
      reopened.train(solver, options);
      for (const auto& batch : requests) reopened.stream(batch, {solver}, 0, 9);
      for (const StepReport& report : reports) {
        CHECK(report.residual_bound <= report.budget);
        CHECK_FALSE(report.retrained);
        if (solver != "descent-to-delete") CHECK(report.terms.at("moved_weight") > 0);
      }
      const ModelRecord one = load_model(steady.store, solver), other = load_model(reopened.store, solver);
      CHECK(one.model.published == other.model.published);
      CHECK(whole_certificate(one)["terms"] == whole_certificate(other)["terms"]);
      CHECK(text_of(reopened.verify()) == "");
      CHECK(reopened.verify().models == 1);
    }
  }

  TEST_CASE("a model that missed a batch is trained again in its slots; iterates of the old run are removed") {
    const TrainedStore world;
    world.train("rewind", roomy());
    const RewindState before = rewind_state(load_model(world.store, "rewind").model);
    const auto requests = batches(world);
    world.stream(requests[0]);
    StoreWriter live(world.store, ample_budget());
    Learner learner = Learner::open(live, ample_budget(), "rewind", kContext, {});
    const auto report = learner.catch_up();
    REQUIRE(report.has_value());
    CHECK(report->retrained);
    CHECK(report->certified);
    const RewindState after = rewind_state(learner.model());
    CHECK(after.run != before.run);
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(world.store / "models" / "rewind")) {
      ++files;
      CHECK(entry.path().filename().string().starts_with(iterate_name(after.run, 1).substr(0, 13)));
    }
    CHECK(files == after.kept.size());
    CHECK_FALSE(learner.absorb(live.apply(requests[1], live.resolve(requests[1]), {})).retrained);
  }

  TEST_CASE("certificates name T4, adjacency, reference and private terms; a secret iterate stands for one release" *
            doctest::test_suite("slow")) {
    for (const double sampling : {0.0, 1.0}) {
      const TrainedStore world;
      world.train("rewind", roomy(sampling));
      world.stream({batches(world)[0]}, {"rewind"});
      const Json json = whole_certificate(load_model(world.store, "rewind"));
      CHECK(json["theorem"] == "T4");
      CHECK(json["certified"] == true);
      CHECK(json["releases"] == "this");
      CHECK(json["adjacency"].get<std::string>().starts_with("null-row"));
      CHECK(json["mechanism"].get<std::string>().find("last iterate") != std::string::npos);
      CHECK(json["reference"].get<std::string>().find("from W = 0") != std::string::npos);
      CHECK(json["residual_bound"].get<double>() > 0);
      CHECK(json["residual_bound"].get<double>() <= json["budget"].get<double>());
      CHECK(json["delta"]["reached"].get<double>() <= 1e-4);
      for (const Json& name : json["public_terms"]) {
        CHECK(json["terms"].contains(name.get<std::string>()));
        for (const char* hidden : {"epochs", "distance_bound", "moved_weight", "removed_weight", "iterates"})
          CHECK(name != hidden);
      }
      CHECK(text_of(world.verify()) == "");
    }
    const TrainedStore world;
    for (const double state : {0.0, 1.0}) {
      SolverOptions options = testing::unseeded();
      options.parameters["public-state"] = state;
      world.train("descent-to-delete", options);
      const Json json = whole_certificate(load_model(world.store, "descent-to-delete"));
      CHECK(json["theorem"] == "T1");
      CHECK(json["releases"] == (state == 1 ? "all-later" : "this"));
    }
    SolverOptions printed = testing::unseeded();
    printed.bound = BoundRule::kPaper;
    world.train("descent-to-delete", printed);
    const Json json = whole_certificate(load_model(world.store, "descent-to-delete"));
    CHECK(json["theorem"].is_null());
    CHECK(json["reference"].get<std::string>().find("learning_steps of") != std::string::npos);
    CHECK(world.verify().ok());
  }

  TEST_CASE("after a batch with a threshold a release stands for itself, whether rows are stale or not") {
    const TrainedStore world;
    const auto requests = batches(world);
    const auto releases_of = [&](const std::string& solver) {
      const Json json = whole_certificate(load_model(world.store, solver));
      CHECK(json["certified"] == true);
      const bool all = json["releases"] == "all-later";
      CHECK((json["not_covered"].dump().find("choices that depend on free memory") != std::string::npos) == all);
      CHECK((json["not_covered"].dump().find("several releases") != std::string::npos) != all);
      return json["releases"].get<std::string>();
    };
    const auto checkpoint = [&] { StoreWriter(world.store, ample_budget()).checkpoint(); };
    constexpr double kNoResidue = 1e-12, kResidues = 0.1;
    SolverOptions open = testing::unseeded();
    open.parameters["public-state"] = 1;
    world.train("newton");
    world.train("descent-to-delete", open);
    for (const char* solver : {"newton", "descent-to-delete"}) CHECK(releases_of(solver) == "all-later");
    world.stream(requests[0], {"newton", "descent-to-delete"}, kNoResidue);
    for (const char* solver : {"newton", "descent-to-delete"}) {
      CHECK(whole_certificate(load_model(world.store, solver))["terms"]["approximation"] == 0);
      CHECK(releases_of(solver) == "this");
    }
    checkpoint();  // the journal, which has the threshold, is empty then
    world.train("retrain");
    CHECK(releases_of("retrain") == "this");
    world.stream(requests[1], {"newton"});
    CHECK(releases_of("newton") == "all-later");
    world.stream(requests[2], {}, kResidues);
    checkpoint();
    CHECK(StoreReader(world.store, ample_budget()).embedding().stale_rows() > 0);
    world.train("newton");  // publishes the stale rows, since they do not fit its tau
    CHECK(StoreReader(world.store, ample_budget()).embedding().stale_rows() == 0);
    CHECK(releases_of("newton") == "this");
    testing::propagate_store(world.store, testing::tiny_spec(2, false));
    world.train("newton");
    CHECK(releases_of("newton") == "all-later");
    world.stream({{RequestKind::insert_edge, 2, 151}}, {}, kNoResidue);
    checkpoint();
    CHECK(read_manifest(world.store).lazy);
    static_cast<void>(testing::purge(world.store));
    CHECK_FALSE(read_manifest(world.store).lazy);
  }

  TEST_CASE("every number of a T4 certificate is held against the model or computed again") {
    const TrainedStore world;
    world.train("descend", roomy());
    world.stream(batches(world)[0], {"descend"});
    const auto files = world.files_of("descend");
    const Json good = whole_certificate(load_model(world.store, "descend"));
    const auto restore = [&] { TrainedStore::restore(files); };
    const auto found = [&](const std::string& path, const Json& value, const std::string& words) {
      CAPTURE(path);
      world.forge_certificate("descend", [&](Json& json) { json[Json::json_pointer(path)] = value; });
      CHECK(text_of(world.verify()).find("4 models: descend: " + words) != std::string::npos);
      restore();
    };
    for (const char* name : {"epochs", "learning_epochs", "distance", "sensitivity", "sigma", "grid", "rounding",
                             "step_size", "radius", "gradient_bound", "smoothness", "strong_convexity", "slots",
                             "batch_rows", "batches", "order_key", "capacity", "retention", "iterates"})
      found("/terms/" + std::string(name), 1.01 * good["terms"][name].get<double>(), std::string(name) + " is ");
    found("/terms/sampling", 1.0, "sampling is ");
    found("/residual_bound", 0.5 * good["residual_bound"].get<double>(), "residual_bound is");
    found("/budget", 2.0, "budget is 2.0");
    found("/retrained", true, "retrained is true");
    found("/claim", "T1", "claim is \"T1\"");
    found("/delta/reached", 1e-5, "the delta reached is 1e-05");

    const auto forged = [&](const std::function<void(RewindState&)>& change, const std::string& words) {
      world.forge("descend", [&](ModelRecord& record) {
        RewindState state = rewind_state(record.model);
        change(state);
        keep_state(state, record.model);
      });
      CAPTURE(words);
      CHECK(text_of(world.verify()).find(words) != std::string::npos);
      restore();
    };
    forged([](RewindState& state) { state.weights.assign(state.weights.size(), 0); }, "residual_bound is");
    forged([](RewindState& state) { state.last_epochs += 1; }, "epochs is");
    forged([](RewindState& state) { state.constants.sigma *= 0.1; }, "the constants of the run are not those");
    forged([](RewindState& state) { state.constants.epochs += 1; }, "the constants of the run are not those");
    forged([](RewindState& state) { state.slots[4] = kNoNode; }, " slots are filled, there are ");
    forged([](RewindState& state) { state.run += 1; }, "train the model again");
    world.forge("descend", [](ModelRecord& record) { record.model.state = {}; });
    check_one(world.verify(), false, "the model holds no slots");
    restore();
    CHECK(text_of(world.verify()) == "");
  }

  TEST_CASE("weights that noise does not carry there are found: too far, too near, and off the grid") {
    for (const char* solver : kBoth) {
      const TrainedStore world;
      world.train(solver, roomy());
      const ModelRecord good = load_model(world.store, solver);
      const double sigma = testing::term(good, "sigma"), grid = testing::term(good, "grid");
      const auto publish = [&](const Matrix& weights) {
        world.forge(solver, [&](ModelRecord& record) { record.model.published = weights; });
        return world.verify();
      };
      Matrix far = good.model.published;
      far(0, 0) += std::round(40 * sigma / grid) * grid;
      check_one(publish(far), false, "from a training without noise");
      far(0, 0) += grid / 2;
      check_one(publish(far), false, "off the grid");
      // The iterate itself, published with a tenth of the noise.
      const RewindState state = rewind_state(good.model);
      Matrix near = read_iterate(world.store / "models" / solver, state, state.kept.front(), good.model.published);
      near = near + 0.1 * (good.model.published - near);
      for (Eigen::Index i = 0; i < near.size(); ++i) near.data()[i] = std::round(near.data()[i] / grid) * grid;
      if (std::string(solver) == "descend") check_one(publish(near), false, "from a training without noise");
      CHECK(text_of(publish(good.model.published)) == "");
    }
  }

  TEST_CASE("published updates of a batch are one release, however many rows it removes, and verify") {
    const TrainedStore world(5);
    SolverOptions options = testing::unseeded();
    options.bound = BoundRule::kPaper;
    world.train("descent-to-delete", options);
    const TrainingSet rows = world.rows();
    world.stream({{RequestKind::remove_node, rows.nodes()[0], 0}, {RequestKind::remove_node, rows.nodes()[1], 0}},
                 {"descent-to-delete"});
    CHECK(load_model(world.store, "descent-to-delete").model.releases == 2);
    CHECK(world.verify().ok());
    world.stream({{RequestKind::remove_node, rows.nodes()[2], 0}}, {"descent-to-delete"});
    CHECK(world.verify().ok());
  }

  TEST_CASE("slots of a model are charged to the memory budget") {
    const TrainedStore world;
    const std::size_t rows = world.rows().size();
    for (const std::string solver : {"langevin", "rewind"}) {
      world.train(solver);
      const std::uint64_t without = [&] {
        MemoryBudget budget(std::uint64_t{1} << 30);
        StoreWriter live(world.store, budget);
        const TrainingRows held(live, live.embedding().spec().weights, 1, budget);
        return budget.used();
      }();
      MemoryBudget budget(std::uint64_t{1} << 30);
      StoreWriter live(world.store, budget);
      const Learner learner = Learner::open(live, budget, solver, kContext, 1);
      CHECK(budget.used() >= without + 20 * rows);
      CHECK(budget.used() <= without + 100 * rows);
    }
  }
}

}  // namespace
}  // namespace unweave
