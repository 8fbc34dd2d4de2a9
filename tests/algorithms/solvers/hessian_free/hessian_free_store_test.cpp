// tests/algorithms/solvers/hessian_free/hessian_free_store_test.cpp - models of hessian-free,
// newton-step and jackknife at rest: certified, verified, forged, interrupted, damaged.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "algorithms/solvers/hessian_free/hessian_free_state.h"
#include "storage/io/error.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::check_one;
using testing::Json;
using testing::kContext;
using testing::read_all;
using testing::text_of;
using testing::TrainedStore;
using testing::unseeded;

/// A store without edges: no removal moves another row.
struct FlatStore : TrainedStore {
  FlatStore() {
    fs::remove_all(store);
    testing::TinyStore contents = testing::random_store(200, 600, 12, 3);
    contents.edges.clear();
    testing::write_store(store, contents);
    testing::propagate_store(store, testing::tiny_spec(1, false));
  }
  [[nodiscard]] std::vector<Request> removal(std::size_t row) const {
    return {{RequestKind::remove_node, rows().nodes()[row], 0}};
  }
  [[nodiscard]] fs::path statistics() const {
    const fs::path files = store / "models" / "hessian-free";
    REQUIRE(std::distance(fs::directory_iterator(files), {}) == 1);
    return fs::directory_iterator(files)->path();
  }
  [[nodiscard]] Json certificate() const { return whole_certificate(load_model(store, "hessian-free")); }
};

SolverOptions stored_options(double s_max = 10) {
  SolverOptions options = unseeded();
  options.parameters = {{"epochs", 4}, {"batch-rows", 8}, {"s-max", s_max}};
  return options;
}

TEST_SUITE("unit") {
  TEST_CASE("a flat store forgets rows by addition, batch by batch, closed or open in between") {
    const FlatStore world;
    world.train("hessian-free", stored_options());
    CHECK(text_of(world.verify()) == "");
    CHECK(world.certificate()["retrained"] == true);
    for (int i = 0; i < 3; ++i) {
      world.stream(world.removal(4), {"hessian-free"});
      const Json json = world.certificate();
      CHECK(json["retrained"] == false);
      CHECK(json["certified"] == true);
      CHECK(json["terms"]["removed_records"] == i + 1);
      CHECK(text_of(world.verify()) == "");
      CHECK(world.verify().models == 1);
    }
  }

  TEST_CASE("certificates name T3, the run, and what several releases are not") {
    const FlatStore world;
    world.train("hessian-free", stored_options());
    world.stream(world.removal(7), {"hessian-free"});
    const Json json = world.certificate();
    CHECK(json["theorem"] == "T3");
    CHECK(json["claim"] == "T3");
    CHECK(json["mechanism"].get<std::string>().find("run of SGD") != std::string::npos);
    CHECK(json["reference"].get<std::string>().find("|B_t| with empty slots") != std::string::npos);
    CHECK(json["adjacency"].get<std::string>().starts_with("null-row"));
    CHECK(json["releases"] == "this");
    CHECK(json["not_covered"].dump().find("several releases") != std::string::npos);
    CHECK(json["delta"]["reached"].get<double>() <= 1e-4);
    CHECK(json["budget"] == 10);
    CHECK(json["residual_bound"].get<double>() > 0);
    for (const Json& name : json["public_terms"]) {
      CHECK(json["terms"].contains(name.get<std::string>()));
      for (const char* hidden : {"removed_records", "encoding_error", "statistics_bytes"}) CHECK(name != hidden);
    }
  }

  TEST_CASE("every number is held against the model or computed again") {
    const FlatStore world;
    world.train("hessian-free", stored_options());
    world.stream(world.removal(7), {"hessian-free"});
    world.stream(world.removal(1), {"hessian-free"});
    const auto files = world.files_of("hessian-free");
    const Json good = world.certificate();
    const auto restore = [&] { TrainedStore::restore(files); };
    for (const char* name : {"s_max", "sensitivity", "sigma", "grid", "slots", "epochs", "batch_rows", "partition_rows",
                             "step_size", "decay", "order_key", "group_rows", "removed_records", "encoding_error"}) {
      CAPTURE(name);
      world.forge_certificate(
          "hessian-free", [&](Json& json) { json["terms"][name] = 1.25 * good["terms"][name].get<double>() + 1e-9; });
      check_one(world.verify(), false, name);
      restore();
    }
    for (const char* name : {"budget", "residual_bound"}) {
      world.forge_certificate("hessian-free", [&](Json& json) { json[name] = 0.9 * good[name].get<double>(); });
      check_one(world.verify(), false, name);
      restore();
    }
    world.forge("hessian-free", [](ModelRecord& record) { record.model.state.arrays["clean"][3] += 1; });
    CHECK_FALSE(world.verify().ok());
    restore();
    world.forge("hessian-free", [](ModelRecord& record) {
      record.model.published *= 0.5;  // still on the grid or not: too near to nothing
    });
    CHECK_FALSE(world.verify().ok());
    restore();
    world.forge("hessian-free", [](ModelRecord& record) { record.model.state.numbers["step_size"] *= 2; });
    CHECK_FALSE(world.verify().ok());
    restore();
    CHECK(text_of(world.verify()) == "");
  }

  TEST_CASE("what is not within s-max is uncertified, and a forger who says otherwise is caught") {
    const FlatStore world;
    world.train("hessian-free", stored_options(1e-7));
    world.stream(world.removal(7), {"hessian-free"});
    const Json json = world.certificate();
    CHECK(json["certified"] == false);
    CHECK(json["theorem"].is_null());
    CHECK(json["claim"].get<std::string>().starts_with("as published"));
    CHECK(text_of(world.verify()) == "");
    world.forge_certificate("hessian-free", [](Json& forged) {
      forged["certified"] = true;
      forged["claim"] = "T3";
      forged["delta"]["reached"] = 1e-5;
    });
    CHECK_FALSE(world.verify().ok());
  }

  TEST_CASE("a network forgets rows by addition, and no bound of the distance is told") {
    const FlatStore world;
    SolverOptions options = stored_options();
    options.head = Head::kSoftmax;
    options.hidden = {4};
    world.train("hessian-free", options);
    for (int i = 0; i < 2; ++i) {
      world.stream(world.removal(4), {"hessian-free"});
      const Json json = world.certificate();
      CHECK(json["retrained"] == false);
      CHECK(json["certified"] == false);
      CHECK(json["residual_bound"].is_null());
      CHECK(text_of(world.verify()) == "");
    }
  }

  TEST_CASE("bounds beyond all use, of a run that diverged for a while, leave a model that can be read") {
    const FlatStore world;
    world.train("hessian-free", stored_options());
    const HessianFreeState state = hessian_free_state(load_model(world.store, "hessian-free").model);
    const StatisticsShape shape = statistics_shape(state.constants, state.run, size_of(state.clean.size()), 0);
    const fs::path path = world.statistics();
    const StatisticsFile before(path, shape, false);
    fs::remove(path);
    StatisticsWriter writer(path, shape);
    for (std::uint64_t record = 0; record < shape.records; ++record) {
      const Statistic statistic = before.read(record).value();
      writer.append(statistic.values, std::vector<double>(statistic.visits.begin(), statistic.visits.end()), 1e24);
    }
    writer.finish();
    for (int i = 0; i < 2; ++i) {
      world.stream(world.removal(4), {"hessian-free"});
      CHECK(world.certificate()["retrained"] == false);
      CHECK(text_of(world.verify()) == "");
    }
  }

  TEST_CASE("a vector that a crash left in its file is found by verify and erased by the next writer") {
    const FlatStore world;
    world.train("hessian-free", stored_options());
    const fs::path file = world.statistics();
    const std::string whole = read_all(file);
    world.stream(world.removal(5), {"hessian-free"});
    const std::string erased = read_all(file);
    CHECK(erased != whole);
    testing::write_file(file, whole);
    testing::write_file(file.parent_path() / "0000000000001-0000000000.statistics", "of a killed training");
    check_one(world.verify(), false, "is there, and its rows were removed");
    {
      StoreWriter live(world.store, ample_budget());
      static_cast<void>(Learner::open(live, ample_budget(), "hessian-free", kContext, 1));
    }
    CHECK(read_all(file) == erased);
    CHECK(world.statistics() == file);
    CHECK(text_of(world.verify()) == "");
  }

  TEST_CASE("a model that missed a batch trains again, with vectors of its own") {
    const FlatStore world;
    world.train("hessian-free", stored_options());
    const fs::path before = world.statistics();
    world.stream(world.removal(5));
    {
      StoreWriter live(world.store, ample_budget());
      Learner learner = Learner::open(live, ample_budget(), "hessian-free", kContext, {});
      const auto report = learner.catch_up();
      REQUIRE(report.has_value());
      CHECK(report->retrained);
      CHECK(report->certified);
    }
    CHECK(world.statistics() != before);
    CHECK(text_of(world.verify()) == "");
    world.stream(world.removal(6), {"hessian-free"});
    CHECK(world.certificate()["retrained"] == false);
    CHECK(text_of(world.verify()) == "");
  }

  TEST_CASE("damaged statistics are told by verify and by whoever needs them") {
    const FlatStore world;
    world.train("hessian-free", stored_options());
    const fs::path file = world.statistics();
    std::string bytes = read_all(file);
    for (std::size_t at = 64 + 40; at < bytes.size(); at += 64) bytes[at] = static_cast<char>(bytes[at] ^ 1);
    testing::write_file(file, bytes);
    const VerifyReport report = world.verify();
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].text.find(file.filename().string()) != std::string::npos);
    CHECK_THROWS_AS(world.stream(world.removal(5), {"hessian-free"}), FormatError);
    fs::remove(file);
    CHECK_FALSE(world.verify().ok());
  }

  TEST_CASE("in a graph rows move, so that a removal trains again, and is certified") {
    const TrainedStore world;
    world.train("hessian-free", stored_options());
    world.stream({world.edge_of_training_node(), {RequestKind::remove_node, world.rows().nodes()[3], 0}},
                 {"hessian-free"});
    const Json json = whole_certificate(load_model(world.store, "hessian-free"));
    CHECK(json["retrained"] == true);
    CHECK(json["certified"] == true);
    CHECK(json["terms"]["moved_rows"].get<double>() > 0);
    CHECK(json["terms"]["statistics"] == 0);
    CHECK(text_of(world.verify()) == "");
  }

  TEST_CASE("kept iterates make releases single, and their numbers are checked as those of newton") {
    for (const char* solver : {"newton-step", "jackknife"}) {
      CAPTURE(solver);
      const TrainedStore world;
      SolverOptions options = unseeded();
      options.head = Head::kLeastSquares;
      world.train(solver, options);
      CHECK(whole_certificate(load_model(world.store, solver))["releases"] == "this");
      world.stream({world.edge_of_training_node(), {RequestKind::remove_node, world.rows().nodes()[3], 0}}, {solver});
      const Json json = whole_certificate(load_model(world.store, solver));
      CHECK(json["certified"] == (solver == std::string("newton-step")));
      CHECK(json["retrained"] == false);
      CHECK(text_of(world.verify()) == "");
      world.forge_certificate(solver, [](Json& forged) { forged["terms"]["sigma"] = 1e-9; });
      check_one(world.verify(), false, "sigma");
    }
  }
}

}  // namespace
}  // namespace unweave
