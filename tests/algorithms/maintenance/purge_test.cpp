// tests/algorithms/maintenance/purge_test.cpp - a purged store is, file by file, a fresh import and
// propagation of what remains.
#include "algorithms/maintenance/purge.h"

#include <doctest/doctest.h>

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "algorithms/evaluation/regularisation.h"
#include "algorithms/live/propagate.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/maintenance/purge_plan.h"
#include "algorithms/verification/verify_log.h"
#include "engine/generations/store_purge.h"
#include "storage/codec/half.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/imported_sample.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::folder_bytes;
using testing::Importing;
using testing::purge;
using testing::Sample;
using testing::TempDir;

/// What lies in models/ and certificates/ of a store whose learner is of no interest.
void leave_models(const fs::path& store) {
  fs::create_directories(store / "models" / "newton");
  fs::create_directories(store / "certificates");
  testing::write_file(store / "models" / "newton.model", "weights");
  testing::write_file(store / "models" / "newton" / "slots", "rows");
  testing::write_file(store / "certificates" / "newton.jsonl", "{}\n");
}

/// Trains a model of `exact` with each linear head. False where no training row is there.
bool train_exact(const fs::path& store) {
  StoreWriter live(store, ample_budget());
  try {
    for (const Head head : {Head::kLogistic, Head::kSoftmax, Head::kLeastSquares}) {
      SolverOptions options = testing::unseeded();
      options.head = head;
      options.intercept = head != Head::kLeastSquares;
      static_cast<void>(Learner::train(live, ample_budget(), "exact", options, live.embedding().spec().weights,
                                       testing::kContext, name_of(head)));
    }
  } catch (const DataError&) {
    return false;
  }
  live.record();
  return true;
}

struct Life {
  Importing importing;
  PropagationSpec spec;
  double r_max = 0;
  std::size_t batch = 7;
  std::uint64_t seed = 1;
};

/// Import, propagate, stream, purge; beside an import and a propagation of what remains.
void check_life(Sample sample, const Life& life) {
  CAPTURE(sample.name);
  CAPTURE(life.importing.order);
  CAPTURE(feature_type_name(life.importing.type));
  CAPTURE(life.importing.sparse);
  CAPTURE(life.spec.levels);
  CAPTURE(life.spec.all_rows);
  CAPTURE(life.r_max);
  CAPTURE(life.seed);
  const TempDir dir;
  testing::import_sample(dir / "s", sample, life.importing);
  testing::propagate_store(dir / "s", life.spec);
  const bool trained = train_exact(dir / "s");
  testing::stream_sample(dir / "s", sample, testing::requests_for(sample, 40, life.seed), life.batch, life.r_max);
  leave_models(dir / "s");
  const std::uint64_t acknowledged = StoreReader(dir / "s", ample_budget()).sequence();

  const PurgeReport report = purge(dir / "s");
  testing::import_sample(dir / "fresh", sample, life.importing);
  testing::propagate_store(dir / "fresh", life.spec);
  CHECK(report.kept_models.size() == (trained ? 3U : 0U));
  CHECK(report.lost_models.empty());
  CHECK(report.uncertified_models.empty());
  if (train_exact(dir / "fresh") || !trained) testing::check_same_store(dir / "s", dir / "fresh");
  CHECK(digest_text(report.digest) == testing::digest_now(dir / "fresh"));
  CHECK(report.requests == acknowledged);
  CHECK(purge_state(dir / "s") == PurgeState::none);
  const VerifyReport verified = verify_store(dir / "s", {std::nullopt, true, 1}, ample_budget());
  CAPTURE(testing::text_of(verified));
  CHECK(verified.ok());

  CHECK(verified.models == (trained ? 3U : 0U));

  const auto before = folder_bytes(dir / "s");
  const PurgeReport again = purge(dir / "s");
  CHECK(again.bytes_written == 0);
  CHECK(again.bytes_removed == 0);
  CHECK(folder_bytes(dir / "s") == before);
}

constexpr const char* kOrders[] = {"none", "degree", "bfs", "community", "auto"};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a purged store is file by file that of a fresh import and propagation of what remains" *
            doctest::test_suite("slow")) {
    std::uint32_t turn = 0;
    for (const bool all_rows : {false, true}) {
      for (const char* order : kOrders) {
        for (const Sample& sample : testing::sample_families(5)) {
          Life life;
          life.importing = {order, turn % 3 == 1 ? FeatureType::f16 : FeatureType::f32, turn % 4 == 2};
          life.spec = testing::tiny_spec(turn % 5 == 4 ? 0 : 1 + turn % 3, all_rows, turn % 2 == 0 ? 0.5 : 1);
          life.spec.scale_bits = turn % 7 == 3 ? 29 : 24;  // sums beyond 32 bits
          life.r_max = turn % 2 == 0 ? 0 : 0.02;
          life.seed = ++turn;
          check_life(sample, life);
        }
      }
    }
  }

  TEST_CASE("a store that was not propagated, and one without features or labels") {
    const TempDir dir;
    Sample sample = testing::random_sample(80, 0.05, 4, 3);
    testing::import_sample(dir / "s", sample, {"bfs", FeatureType::f32, true});
    testing::stream_sample(dir / "s", sample, testing::random_requests(sample, 30, 5), 4, 0);
    purge(dir / "s");
    testing::import_sample(dir / "fresh", sample, {"bfs", FeatureType::f32, true});
    testing::check_same_store(dir / "s", dir / "fresh");

    testing::TinyStore bare;
    bare.nodes = 5;
    bare.edges = {{0, 1}, {1, 2}, {3, 4}};
    testing::write_store(dir / "bare", bare);
    testing::apply_batch(dir / "bare", std::vector<Request>{{RequestKind::remove_node, 1, 0}}, 0, true);
    purge(dir / "bare");
    bare.edges = {{3, 4}};
    testing::write_store(dir / "rest", bare);
    CHECK(fs::remove(dir / "bare" / "lock"));  // write_store() takes none
    testing::check_same_store(dir / "bare", dir / "rest");
  }

  TEST_CASE("a store without any trace of requests stays as it is but for its models") {
    const TempDir dir;
    testing::import_sample(dir / "s", testing::random_sample(60, 0.1, 3, 9), {"degree", FeatureType::f32, false});
    testing::propagate_store(dir / "s", testing::tiny_spec(2));
    const auto before = folder_bytes(dir / "s");
    leave_models(dir / "s");
    const auto with_models = folder_bytes(dir / "s");
    CHECK(purge(dir / "s").nothing);
    CHECK(folder_bytes(dir / "s") == with_models);
    const PurgeReport report = purge(dir / "s", {.always = true});
    CHECK_FALSE(report.nothing);
    CHECK(folder_bytes(dir / "s") == before);
    CHECK(report.bytes_written == 0);
    CHECK(report.bytes_removed == 7 + 4 + 3);
    CHECK_FALSE(report.order_changed);
  }

  TEST_CASE("a canonical model that a purge cannot keep goes, and one that it cannot certify waits for its key") {
    const testing::TrainedStore world(5);
    world.train("exact");
    const auto remove_node = [&](std::size_t i) {
      return Request{RequestKind::remove_node, world.rows().nodes()[i], 0};
    };
    const fs::path own = world.store / "certificates" / "signing-key", given = world.folder / "key";

    // It is outdated and its key is not in the store: it goes with the rest.
    world.stream({remove_node(3)});
    fs::rename(own, given);
    const PurgeReport lost = purge(world.store);
    CHECK(lost.kept_models.empty());
    REQUIRE(lost.lost_models.size() == 1);
    CHECK(plain(lost.lost_models[0].text).find("key") != std::string::npos);
    CHECK(list_models(world.store).empty());
    CHECK_FALSE(fs::exists(release_file(world.store, "exact")));

    // With the key it stays.
    fs::copy(given, own);
    world.train("exact");
    fs::remove(own);
    world.stream({remove_node(4)});
    const PurgeReport kept = purge(world.store, {.key = given});
    CHECK(kept.kept_models == std::vector<std::string>{"exact"});
    CHECK(kept.uncertified_models.empty());
    CHECK(world.verify().ok());
    CHECK(load_model(world.store, "exact").model.sequence == 0);

    // One that is up to date needs no key to stay, and one to be certified.
    fs::copy(given, own);
    world.stream({remove_node(5)}, {"exact"});
    fs::remove(own);
    const std::string bytes = testing::read_all(world.model("exact"));
    const PurgeReport bare = purge(world.store);
    CHECK(bare.kept_models == std::vector<std::string>{"exact"});
    REQUIRE(bare.uncertified_models.size() == 1);
    CHECK(plain(bare.uncertified_models[0].text).find("key") != std::string::npos);
    CHECK(load_model(world.store, "exact").certificate.empty());
    CHECK(testing::read_all(world.model("exact")) == bytes);
    fs::copy(given, own);
    world.catch_up("exact");
    CHECK_FALSE(load_model(world.store, "exact").certificate.empty());
    CHECK(testing::read_all(world.model("exact")) == bytes);
    CHECK(world.verify().ok());
  }

  TEST_CASE("a plan counts the models that stay, their trainings, and what these take") {
    const testing::TrainedStore world(5);
    const auto plan = [&](const PurgeOptions& options = {}) {
      const StoreReader live(world.store, ample_budget());
      return plan_purge(live, options, ample_budget());
    };
    CHECK(plan().models.empty());
    CHECK(plan().written_bytes == 0);  // nothing is to be forgotten
    world.train("newton");
    world.train("exact");
    CHECK(plan().trainings == 0);
    world.stream({world.edge_of_training_node()}, {"exact"});
    const PurgePlan up_to_date = plan();
    CHECK(up_to_date.models == std::vector<std::string>{"exact"});
    CHECK(up_to_date.trainings == 1);
    CHECK(up_to_date.training_memory_bytes > world.rows().size() * world.rows().features() * sizeof(float));
    world.stream({{RequestKind::remove_node, 7, 0}});
    CHECK(plan().trainings == 2);
    CHECK(plan().written_bytes > up_to_date.written_bytes);

    SolverOptions by_default = testing::unseeded();
    by_default.lambda = default_lambda({"exact", 200, 5, 4, by_default.head});
    by_default.lambda_chosen = kDefaultLambda;
    world.train("exact", by_default);
    CHECK(plan({.always = true}).trainings == 1);
    CHECK(plan({.nodes = 300}).trainings == 2);
    world.train("exact");
    CHECK(plan({.nodes = 300}).trainings == 1);
    world.stream({{RequestKind::remove_node, 8, 0}});

    fs::rename(world.store / "certificates" / "signing-key", world.folder / "key");
    const PurgePlan planned = plan();
    CHECK(purge(world.store, {.key = world.folder / "key"}).kept_models == planned.models);
    fs::remove(release_file(world.store, "exact"));  // as a purge leaves it that was cut before it certified
    CHECK(plan().models == planned.models);
    CHECK(plan().trainings == 1);
  }

  TEST_CASE("a kept model without its certificate, as a crash leaves it, is certified by the next writer") {
    const testing::TrainedStore world(5);
    SolverOptions tuned = testing::unseeded();
    tuned.lambda_chosen = "validation at version 0";
    world.train("exact", tuned);
    world.stream({world.edge_of_training_node()}, {"exact"});
    purge(world.store);
    const auto bytes = testing::read_all(world.model("exact"));
    fs::remove(release_file(world.store, "exact"));
    const ModelRecord bare = load_model(world.store, "exact");
    CHECK(bare.certificate.empty());
    CHECK(list_models(world.store).at(0).id.empty());
    CHECK(testing::text_of(world.verify()).find("no certificate speaks of this model file yet") != std::string::npos);
    world.catch_up("exact");
    CHECK(testing::read_all(world.model("exact")) == bytes);
    const ModelRecord again = load_model(world.store, "exact");
    CHECK(again.options.lambda_chosen == "validation at version 0");
    CHECK(again.model.releases == 1);
    CHECK(testing::text_of(world.verify()).find("4 ") == std::string::npos);

    // Without a log nobody could say what has become of it.
    fs::remove(release_file(world.store, "exact"));
    fs::remove(world.log("exact"));
    const VerifyReport report = world.verify();
    CHECK(testing::text_of(report).find("there is a model and no certificate") != std::string::npos);
    CHECK_THROWS_AS(world.catch_up("exact"), DataError);
  }

  TEST_CASE("--keep-order keeps the order file and proves the content alone") {
    const TempDir dir;
    Sample sample = testing::random_sample(90, 0.06, 4, 11);
    testing::import_sample(dir / "s", sample, {"degree", FeatureType::f32, false});
    testing::propagate_store(dir / "s", testing::tiny_spec(2, false));
    const FileEntry order = read_manifest(dir / "s").order_file.value();
    testing::stream_sample(dir / "s", sample, testing::random_requests(sample, 50, 2), 9, 0.01);
    const PurgeReport kept = purge(dir / "s", {true});
    CHECK(read_manifest(dir / "s").order_file == order);
    CHECK_FALSE(read_manifest(dir / "s").changes);
    CHECK_FALSE(kept.order_changed);
    testing::import_sample(dir / "fresh", sample, {"degree", FeatureType::f32, false});
    testing::propagate_store(dir / "fresh", testing::tiny_spec(2, false));
    REQUIRE(read_manifest(dir / "fresh").order_file != order);
    CHECK(digest_text(kept.digest) == testing::digest_now(dir / "fresh"));
    CHECK(testing::digest_now(dir / "s") == testing::digest_now(dir / "fresh"));
    // What was kept as public can be given up later.
    CHECK(purge(dir / "s").order_changed);
    testing::check_same_store(dir / "s", dir / "fresh");
  }

  TEST_CASE("a purged store is streamed, trained and purged again like any other") {
    const TempDir dir;
    Sample sample = testing::random_sample(90, 0.08, 6, 21);
    testing::import_sample(dir / "s", sample, {});
    testing::propagate_store(dir / "s", testing::tiny_spec(2, false));
    for (std::uint64_t round = 0; round < 3; ++round) {
      testing::stream_sample(dir / "s", sample, testing::random_requests(sample, 20, round), 6, 0);
      purge(dir / "s");
      StoreWriter live(dir / "s", ample_budget());
      CHECK(live.sequence() == 0);
      CHECK(live.pending_requests() == 0);
      CHECK(list_models(dir / "s").empty());
      static_cast<void>(Learner::train(live, ample_budget(), "newton", testing::seeded(),
                                       live.embedding().spec().weights, testing::kContext));
    }
    CHECK(purge(dir / "s").nothing);
    purge(dir / "s", {.always = true});
    CHECK(verify_log(public_log(dir / "s", "newton"), {}, {}).certificates == 3);
    for (const char* name : {"signing-key", "newton.jsonl", "requests"})  // the last one says when purges were
      CHECK(fs::remove(dir / "s" / "certificates" / name));
    CHECK(fs::remove(dir / "s" / "certificates"));  // the public trail was all
    testing::import_sample(dir / "fresh", sample, {});
    testing::propagate_store(dir / "fresh", testing::tiny_spec(2, false));
    testing::check_same_store(dir / "s", dir / "fresh");
  }

  TEST_CASE("a standardised store keeps its constants, and says so") {
    const TempDir dir;
    testing::TinyStore contents = testing::random_store(50, 120, 3, 2);
    Manifest manifest = testing::write_store(dir / "s", contents);
    manifest.standardized = true;
    write_manifest(dir / "s", manifest);
    testing::apply_batch(dir / "s", std::vector<Request>{{RequestKind::remove_node, 3, 0}}, 0, false);
    CHECK(purge(dir / "s").standardized);
    CHECK(read_manifest(dir / "s").standardized);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("random graphs, streams and options: a purged store is that of a fresh import") {
    for (std::uint64_t seed = 100; seed < 220; ++seed) {
      std::mt19937_64 random(seed);
      const auto nodes = static_cast<NodeId>(20 + random() % 300);
      Life life;
      life.importing = {kOrders[random() % std::size(kOrders)], random() % 2 == 0 ? FeatureType::f16 : FeatureType::f32,
                        random() % 2 == 0};
      life.spec = testing::tiny_spec(static_cast<std::uint32_t>(random() % 4), random() % 2 == 0);
      life.r_max = random() % 2 == 0 ? 0 : 0.003 * static_cast<double>(random() % 10);
      life.batch = 1 + random() % 20;
      life.seed = seed;
      check_life(testing::random_sample(nodes, 4.0 / nodes, static_cast<std::uint32_t>(1 + random() % 40), seed), life);
    }
  }
}

}  // namespace unweave
