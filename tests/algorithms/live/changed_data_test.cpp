// tests/algorithms/live/changed_data_test.cpp - rows, labels and splits that requests set: a store
// that was streamed is, bit for bit, an import of the changed data.
#include <doctest/doctest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "algorithms/registry/registry.h"
#include "algorithms/verification/verify.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "support/changed_world.h"
#include "support/folder_bytes.h"
#include "support/store_fixture.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::changed_world;
using testing::ChangedWorld;
using testing::changing_lines;
using testing::TempDir;

constexpr const char* kSplitNames[] = {"none", "train", "valid", "test"};

struct LineWay {
  std::size_t batch = 7;
  double r_max = 0;
  Plan plan = Plan::automatic;
  std::size_t checkpoint_every = 3;  ///< batches; 0: never
  std::string solver{};              ///< that follows; empty: none does
};

/// Sends the lines, each batch to a store that is opened anew, and applies them to the world.
/// Checks what is rejected.
void stream_lines(const fs::path& path, ChangedWorld& world, const std::vector<std::string>& lines,
                  const LineWay& way) {
  std::size_t batches = 0;
  for (std::size_t at = 0; at < lines.size(); at += way.batch) {
    const std::vector<std::string> some(
        lines.begin() + static_cast<std::ptrdiff_t>(at),
        lines.begin() + static_cast<std::ptrdiff_t>(std::min(lines.size(), at + way.batch)));
    const std::vector<Request> requests = testing::requests_of(some);
    StoreWriter store(path, ample_budget());
    store.set_plan(way.plan);
    std::optional<Learner> learner;
    if (!way.solver.empty()) learner.emplace(Learner::open(store, ample_budget(), way.solver, testing::kContext, {}));
    const LastLevel last = learner || batches % 2 == 0 ? LastLevel::at_once : LastLevel::deferred;
    const BatchReport report =
        store.apply(requests, store.resolve(requests), {way.r_max, ThresholdScale::absolute}, last);
    for (std::size_t i = 0; i < some.size(); ++i) {
      CAPTURE(some[i]);
      const bool changes = world.apply(some[i]);
      CHECK((report.changes.statuses[i] == RequestStatus::applied) == changes);
    }
    if (learner) {
      const StepReport step = learner->absorb(report, requests);
      CHECK_FALSE(step.flush_needed);
      learner->settle();
    }
    if (way.checkpoint_every > 0 && ++batches % way.checkpoint_every == 0) store.checkpoint();
    if (learner) store.record();
  }
}

void train_model(const fs::path& path, const std::string& solver, const SolverOptions& options = testing::unseeded()) {
  StoreWriter live(path, ample_budget());
  RowProgram rows(live.embedding().spec().weights);
  rows.copies = live.contents().order().copies();
  static_cast<void>(Learner::train(live, ample_budget(), solver, options, rows, testing::kContext));
  live.record();
}

/// The store streamed, then purged, beside an import of the changed data.
void check_changed_life(ChangedWorld world, std::uint64_t seed, bool long_rows, const PropagationSpec& spec,
                        const LineWay& way) {
  CAPTURE(world.order);
  CAPTURE(world.sparse);
  CAPTURE(feature_type_name(world.type));
  CAPTURE(world.scale.divisor);
  CAPTURE(spec.levels);
  CAPTURE(spec.all_rows);
  CAPTURE(way.batch);
  CAPTURE(way.r_max);
  CAPTURE(seed);
  const TempDir dir;
  world.import(dir / "s");
  testing::propagate_store(dir / "s", spec);
  train_model(dir / "s", "exact");
  LineWay exact = way;
  exact.solver = "exact";
  stream_lines(dir / "s", world, changing_lines(world, 60, seed, long_rows), exact);
  {
    StoreWriter store(dir / "s", ample_budget());
    static_cast<void>(store.publish_stale());
    store.checkpoint();
  }
  world.import(dir / "fresh");
  testing::propagate_store(dir / "fresh", spec);
  CHECK(testing::digest_now(dir / "s") == testing::digest_now(dir / "fresh"));
  train_model(dir / "fresh", "exact");
  const auto model = fs::path("models") / "exact.model";
  if (world.order == "none") CHECK(testing::read_all(dir / "s" / model) == testing::read_all(dir / "fresh" / model));
  const VerifyReport verified = verify_store(dir / "s", {std::nullopt, way.r_max == 0, 1}, ample_budget());
  CHECK(testing::text_of(verified) == "");

  const PurgeReport report = testing::purge(dir / "s");
  CHECK(report.kept_models.size() == 1);
  testing::check_same_store(dir / "s", dir / "fresh");
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("requests of every kind leave the bits of an import of the changed data, and a purge its bytes") {
    check_changed_life(changed_world(60, 5, 1, false), 1, false, testing::tiny_spec(2, false), {});
    ChangedWorld ordered = changed_world(50, 4, 2, true);
    ordered.order = "bfs";
    check_changed_life(ordered, 2, true, testing::tiny_spec(2, false), {.batch = 60});
    ChangedWorld weighted = changed_world(50, 4, 3, true);
    weighted.order = "degree";
    weighted.weigh_all(9, 3);
    check_changed_life(weighted, 3, true, testing::tiny_spec(2, false), {.batch = 11});
  }

  TEST_CASE("a purge makes room for nodes as an import does that was told their number, and insert-node fills it") {
    int number = 0;
    constexpr std::pair<const char*, bool> kKinds[] = {
        {"none", false}, {"bfs", false}, {"degree", false}, {"none", true}, {"bfs", true}};
    for (const auto& [order_name, directed] : kKinds)
      for (const bool all_rows : {false, true}) {
        const std::string order = order_name;
        CAPTURE(order);
        CAPTURE(all_rows);
        const TempDir dir;
        ChangedWorld world = changed_world(40, 4, 31, false);
        if (directed) world.direct_all(31);
        world.order = order;
        world.sparse = ++number % 2 == 0;
        world.type = number % 3 == 0 ? FeatureType::f16 : FeatureType::f32;
        world.named = number % 3 == 1;
        const PropagationSpec spec = testing::tiny_spec(2, all_rows);
        world.import(dir / "s");
        testing::propagate_store(dir / "s", spec);
        train_model(dir / "s", "exact");
        if (!world.named) stream_lines(dir / "s", world, changing_lines(world, 20, 3, false), {.solver = "exact"});
        const auto refused = [&](std::uint64_t nodes) {
          CHECK_THROWS_AS(static_cast<void>(testing::purge(dir / "s", {.nodes = nodes})), UsageError);
        };
        refused(39);
        refused(std::uint64_t{1} << 40);
        const PurgeReport report = testing::purge(dir / "s", {.nodes = 55});
        CHECK(report.nodes_added == 15);
        world.grow(55);
        world.nameless = 15;
        const auto compare = [&](const std::string& fresh) {
          world.import(dir / fresh);
          testing::propagate_store(dir / fresh, spec);
          CHECK(testing::digest_now(dir / "s") == testing::digest_now(dir / fresh));
          train_model(dir / fresh, "exact");
          testing::check_same_store(dir / "s", dir / fresh);
        };
        compare("grown");
        CHECK(digest_text(report.digest) == testing::digest_now(dir / "grown"));
        if (world.named) continue;
        // And the new ones are lived with.
        const std::vector<std::string> lines{"insert-node 50 0.5 0 -0.25 0.125",
                                             "insert-node 54 0:0.5",
                                             "insert-node 50 0.5 0 0 0",
                                             "set-label 50 1",
                                             "move-split 50 train",
                                             "insert-edge 50 3",
                                             "insert-edge 54 50",
                                             "insert-node 3 0:0.5"};
        stream_lines(dir / "s", world, lines, {.batch = 3, .solver = "exact"});
        static_cast<void>(testing::purge(dir / "s"));
        compare("filled");
      }
  }

  TEST_CASE("room for nodes beyond a file's span, and under an order that is kept") {
    const TempDir dir;
    ChangedWorld world;
    world.nodes = (NodeId{1} << 16) - 10;
    world.columns = 1;
    world.features.assign(world.nodes, 0.5);
    world.labels.assign(world.nodes, -1);
    world.splits.assign(world.nodes, "none");
    for (NodeId node = 0; node + 1 < world.nodes; ++node) world.edges.insert({node, node + 1});
    for (const bool ordered : {false, true}) {
      CAPTURE(ordered);
      const std::string store = ordered ? "ordered" : "s", fresh = store + "-fresh";
      world.order = ordered ? "degree" : "none";
      ChangedWorld grown = world;
      world.import(dir / store);
      testing::propagate_store(dir / store, testing::tiny_spec(1));
      static_cast<void>(testing::purge(dir / store, {.keep_order = ordered, .nodes = world.nodes + 30}));
      grown.grow(world.nodes + 30);
      CHECK(read_manifest(dir / store).shards.size() == 2);
      grown.import(dir / fresh);
      testing::propagate_store(dir / fresh, testing::tiny_spec(1));
      CHECK(testing::digest_now(dir / store) == testing::digest_now(dir / fresh));
      if (!ordered) testing::check_same_store(dir / store, dir / fresh);
      CHECK(testing::text_of(verify_store(dir / store, {std::nullopt, true, 1}, ample_budget())) == "");
    }
  }

  TEST_CASE("they do so for orders, layouts, scales, levels, row choices, batches, plans and thresholds" *
            doctest::test_suite("slow")) {
    std::uint64_t seed = 10;
    for (const bool all_rows : {false, true})
      for (const char* order : {"none", "degree", "bfs"})
        for (const std::uint32_t levels : {0U, 1U, 2U, 3U}) {
          ++seed;
          ChangedWorld world = changed_world(40 + static_cast<NodeId>(seed % 30),
                                             static_cast<std::uint32_t>(3 + seed % 4), seed, seed % 2 == 0);
          world.order = order;
          world.sparse = seed % 3 == 0;
          world.type = seed % 5 == 0 ? FeatureType::f16 : FeatureType::f32;
          if (seed % 4 == 1) world.scale.divisor = 2.0;
          if (seed % 3 != 1) world.weigh_all(static_cast<std::uint32_t>(2 + seed % 3 * 50), seed);
          const LineWay way{.batch = std::size_t{1} + seed % 3 * 11,
                            .r_max = seed % 4 == 3 ? 0.01 : 0,
                            .plan = seed % 3 == 1   ? Plan::recompute
                                    : seed % 3 == 2 ? Plan::push
                                                    : Plan::automatic,
                            .checkpoint_every = seed % 4};
          check_changed_life(world, seed, seed % 2 == 0, testing::tiny_spec(levels, all_rows), way);
        }
  }

  TEST_CASE("sums are those of naive loops over the changed data") {
    for (const bool all_rows : {false, true})
      for (const std::uint64_t seed : {3U, 4U, 5U, 6U, 7U}) {
        ChangedWorld world = changed_world(50, 4, seed, false);
        if (seed > 4) world.weigh_all(seed == 5 ? 2 : 1000, seed);
        const TempDir dir;
        world.import(dir / "s");
        testing::propagate_store(dir / "s", testing::tiny_spec(2, all_rows));
        stream_lines(dir / "s", world, changing_lines(world, 80, seed, false), {.batch = 9, .checkpoint_every = 2});
        testing::Sample sample;
        sample.nodes = world.nodes;
        sample.edges = world.edges;
        sample.weights = world.weights;
        sample.columns = world.columns;
        for (const double value : world.features) sample.features.push_back(static_cast<float>(value));
        sample.labels = world.labels;
        sample.classes = world.classes;
        const StoreReader store(dir / "s", ample_budget());
        CHECK(testing::sums_of(store.embedding(), world.nodes) == testing::naive_sums(sample, 2, all_rows));
        for (NodeId node = 0; node < world.nodes; ++node)
          CHECK(world.splits[node] == kSplitNames[static_cast<std::size_t>(store.contents().split(node))]);
      }
  }

  TEST_CASE("a row that is set is pushed at every level, whatever the threshold") {
    ChangedWorld world = changed_world(60, 4, 8, false);
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", testing::tiny_spec(3, true));
    const std::vector<std::string> lines{"set-feature 0 0.1 0.2 0.3 0.4", "set-feature 7 2:0.5", "edge 0 5"};
    stream_lines(dir / "s", world, lines, {.r_max = 1e6, .checkpoint_every = 0});
    const StoreReader store(dir / "s", ample_budget());
    CHECK(store.embedding().stale_rows() > 0);
    for (std::uint32_t level = 0; level < 3; ++level)
      for (const NodeId node : {0U, 7U}) CHECK_FALSE(store.embedding().stale(level).contains(node));
  }

  TEST_CASE("an index of few targets ends where another node gets a label, and stays where an old one has it again") {
    ChangedWorld world = changed_world(80, 4, 12, false);
    for (NodeId node = 0; node < world.nodes; ++node) {
      const bool is_target = node == 40 || node == 41;
      world.labels[node] = is_target ? 1 : -1;
      world.splits[node] = is_target ? "train" : "none";
    }
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", testing::tiny_spec(2, false));
    const auto has_index = [&] { return read_manifest(dir / "s").levels.back().targets.has_value(); };
    const auto check = [&](const std::vector<std::string>& lines, bool wanted) {
      stream_lines(dir / "s", world, lines, {.batch = 2, .checkpoint_every = 0});
      {
        const StoreReader replayed(dir / "s", ample_budget());
        CHECK((replayed.embedding().indexes().target_lists() != nullptr) == wanted);
      }
      StoreWriter(dir / "s", ample_budget()).checkpoint();
      CHECK(has_index() == wanted);
      const TempDir other;
      world.import(other / "fresh");
      testing::propagate_store(other / "fresh", testing::tiny_spec(2, false));
      CHECK(testing::digest_now(dir / "s") == testing::digest_now(other / "fresh"));
      CHECK(testing::text_of(verify_store(dir / "s", {std::nullopt, true, 1}, ample_budget())) == "");
    };
    REQUIRE(has_index());
    check({"set-label 41 none", "edge 40 0", "insert-edge 40 9", "feature 9"}, true);
    check({"insert-edge 41 17", "set-label 41 2", "set-feature 17 0.5 0 0 0.125"}, true);
    check({"insert-edge 3 4", "edge 0 5", "set-label 3 0", "insert-edge 3 70", "set-feature 4 1:0.25"}, false);
    check({"set-label 3 none", "set-label 50 1", "node 41"}, false);
    testing::purge(dir / "s");
    CHECK(has_index());
  }

  TEST_CASE("statuses name what cannot be, and what would change nothing") {
    ChangedWorld world = changed_world(20, 3, 9, false);
    world.labels[0] = 1;
    world.splits[0] = "train";
    world.labels[1] = -1;
    world.splits[1] = "none";
    const TempDir dir;
    world.import(dir / "s");
    StoreReader store(dir / "s", ample_budget());
    const auto statuses = [&](const std::vector<std::string>& lines) {
      std::string text;
      for (const RequestStatus status : store.resolve(testing::requests_of(lines)).statuses)
        text += std::string(name_of(status)) + " ";
      return text;
    };
    CHECK(statuses({"set-feature 20 1 2 3"}) == "id-outside ");
    CHECK(statuses({"set-feature 0 1 2", "set-feature 0 1 2 3 4", "set-feature 0 3:1"}) ==
          "wrong-values wrong-values wrong-values ");
    CHECK(statuses({"set-feature 0 1 2 3", "set-feature 0 1 2 3", "set-feature 0 2:1", "feature 0", "set-feature 0 1:0",
                    "set-feature 0 1:1"}) == "applied repeated applied applied repeated applied ");
    CHECK(statuses({"set-label 0 1", "set-label 0 3", "set-label 0 2", "set-label 0 2", "set-label 1 none"}) ==
          "same-label class-outside applied repeated same-label ");
    CHECK(statuses({"move-split 0 train", "move-split 0 none", "move-split 0 none", "move-split 1 none",
                    "move-split 1 valid"}) == "same-split applied repeated same-split no-label ");
    // A label that goes takes the split along, as an import ignores ids without labels.
    CHECK(statuses({"set-label 0 none", "move-split 0 none", "move-split 0 test", "set-label 0 0",
                    "move-split 0 test"}) == "applied repeated no-label applied applied ");
    CHECK(statuses({"set-label 0 none", "set-feature 0 1:0 0:0", "feature 0", "set-label 0 1", "feature 0"}) ==
          "applied applied no-features applied applied ");
    std::string row = "set-feature 2";
    for (std::uint32_t c = 0; c < 3; ++c) row += " " + testing::number_of(world.value(2, c));
    CHECK(statuses({row}) == "same-features ");
  }

  TEST_CASE("stores without labels, without a split, with rows as given, and standardized ones") {
    const TempDir dir;
    testing::TinyStore tiny = testing::path_of_three();
    tiny.valid.clear();
    tiny.labels.clear();
    tiny.train.clear();
    tiny.test.clear();
    testing::write_store(dir / "bare", tiny);
    const auto status = [&](const char* name, const std::string& line) {
      StoreReader store(dir / name, ample_budget());
      return std::string(name_of(store.resolve(testing::requests_of({line})).statuses.at(0)));
    };
    CHECK(status("bare", "set-label 0 0") == "no-labels");
    CHECK(status("bare", "move-split 0 train") == "no-split");
    ChangedWorld world = changed_world(20, 3, 10, false);
    world.scale.as_given = true;
    world.import(dir / "given");
    CHECK(status("given", "set-feature 0 1 1 0") == "above-bound");
    CHECK(status("given", "set-feature 0 1 0 0") == "applied");
    Manifest manifest = read_manifest(dir / "given");
    manifest.standardized = true;
    manifest.scale = {};
    write_manifest(dir / "given", manifest);
    CHECK(status("given", "set-feature 0 1 0 0") == "standardized");
  }

  TEST_CASE("every solver follows rows that come, go and change, and is certified as after other batches") {
    for (const std::string_view name : solver_names()) {
      CAPTURE(std::string(name));
      const std::string solver(name);
      const testing::TrainedStore world(8);
      world.train(solver);
      const TrainingSet rows = world.rows();
      NodeId outside = 0, unlabelled = 0;
      {
        const StoreReader live(world.store, ample_budget());
        const Contents& contents = live.contents();
        while (contents.label(outside) == kNoLabel || contents.split(outside) == SplitName::train) ++outside;
        while (contents.label(unlabelled) != kNoLabel) ++unlabelled;
      }
      const auto certified = [&](const std::vector<std::string>& lines) {
        world.stream(testing::requests_of(lines), {solver});
        const ModelRecord record = load_model(world.store, solver);
        CHECK(record.model.trained_rows == world.rows().size());
        CHECK(record.model.published.allFinite());
        CHECK(testing::text_of(world.verify()) == "");
        return whole_certificate(record)["certified"].get<bool>();
      };
      const std::string some = std::to_string(rows.nodes()[0]), other = std::to_string(rows.nodes()[5]);
      const bool usual = certified({"insert-edge " + some + " " + std::to_string(unlabelled)});
      // A step of jackknife is certified where its residual stays small, which the data decide.
      const auto as_usual = [&](bool now) { return solver == "jackknife" ? usual || !now : now == usual; };
      CHECK(as_usual(certified({"set-feature " + some + " 0.5 0 0.25 0 0 0 0 0.125"})));
      CHECK(as_usual(certified({"move-split " + other + " none"})));
      CHECK(as_usual(certified({"set-label " + std::to_string(rows.nodes()[1]) + " " +
                                std::to_string((static_cast<std::int32_t>(rows.labels()[1]) + 1) % 4)})));
      CHECK(as_usual(certified({"move-split " + std::to_string(outside) + " train"})));
      CHECK(as_usual(certified(
          {"set-label " + std::to_string(unlabelled) + " 2", "move-split " + std::to_string(unlabelled) + " train"})));
      // It goes on from there.
      CHECK(as_usual(certified({"node " + std::to_string(outside)})));
      world.stream(testing::requests_of({"move-split " + other + " train"}));
      world.catch_up(solver);
      CHECK(load_model(world.store, solver).model.trained_rows == world.rows().size());
    }
  }

  TEST_CASE("rows that outgrow the memory become files of features, and nothing is lost" *
            doctest::test_suite("slow")) {
    ChangedWorld world = changed_world(20, 256, 11, false);
    const NodeId nodes = 8000;
    world.features.resize(std::size_t{nodes} * world.columns);
    world.labels.resize(nodes, 1);
    world.splits.resize(nodes, "train");
    world.nodes = nodes;
    for (NodeId node = 19; node + 1 < nodes; ++node) world.edges.insert({node, node + 1});
    world.named = true;  // files of names stay, though those of cleared nodes that name them are written anew
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", testing::tiny_spec(2, false));
    const auto features = read_manifest(dir / "s").feature_files;
    bool folded = false;
    std::mt19937_64 random(5);
    for (NodeId first = 0; first < nodes; first += 500) {
      std::vector<std::string> lines;
      for (NodeId node = first; node < first + 500; ++node) {
        std::string line = "set-feature " + std::to_string(node);
        for (std::uint32_t c = 0; c < world.columns; ++c)
          line += " " + testing::number_of(static_cast<double>(random() % 1000) / 16000);
        lines.push_back(line);
        if (node % 3 == 0) lines.push_back("set-label " + std::to_string(node) + " none");
        if (node % 3 == 1) lines.push_back("move-split " + std::to_string(node) + " test");
        if (node % 100 == 5) {
          lines.push_back("node " + std::to_string(node));
          world.unnamed.insert(node);
        }
        if (node % 200 == 5) lines.push_back("set-label " + std::to_string(node) + " 2");
      }
      MemoryBudget budget(std::uint64_t{34} << 20);
      StoreWriter store(dir / "s", budget);
      const std::vector<Request> requests = testing::requests_of(lines);
      const Reservation room = store.reserve_batch(requests.size(), text_bytes(requests));
      store.apply(requests, store.resolve(requests), {});
      for (const std::string& line : lines) world.apply(line);
      store.checkpoint();
      folded |= store.manifest().feature_files != features;
    }
    CHECK(folded);
    world.import(dir / "fresh");
    testing::propagate_store(dir / "fresh", testing::tiny_spec(2, false));
    CHECK(testing::digest_now(dir / "s") == testing::digest_now(dir / "fresh"));
    CHECK(testing::text_of(verify_store(dir / "s", {std::nullopt, true, 1}, ample_budget())) == "");
  }
}

}  // namespace unweave
