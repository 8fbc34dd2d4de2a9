// tests/algorithms/live/long_streams_test.cpp - a hundred thousand requests of every kind on each
// unit of rows, against fresh imports: digests, rows, weights, and the bytes of a purged store.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "algorithms/live/digest.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "algorithms/models/row_units.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/verification/verify.h"
#include "support/changed_world.h"
#include "support/folder_bytes.h"
#include "support/graph_world.h"
#include "support/pair_world.h"
#include "support/relation_world.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::ChangedWorld;
using testing::GraphWorld;
using testing::PairWorld;
using testing::RelationWorld;
using testing::TempDir;

constexpr std::size_t kLongBatches = 250, kLongBatch = 400, kDrawnLines = 150;

const PropagationSpec& two_means() {
  static const PropagationSpec means = testing::tiny_spec(2, true, 1);
  return means;
}

const ChangedWorld& plain_part(const ChangedWorld& world) {
  return world;
}
template <class World>
const ChangedWorld& plain_part(const World& world) {
  return world.base;
}

std::vector<std::string> drawn_lines(const ChangedWorld& world, std::uint64_t seed) {
  return testing::changing_lines(world, kDrawnLines, seed, false);
}
std::vector<std::string> drawn_lines(const PairWorld& world, std::uint64_t seed) {
  return testing::changing_lines(world.base, kDrawnLines, seed, false);
}
std::vector<std::string> drawn_lines(const GraphWorld& world, std::uint64_t seed) {
  return testing::changing_lines(world, kDrawnLines, seed);
}
std::vector<std::string> drawn_lines(const RelationWorld& world, std::uint64_t seed) {
  return testing::changing_lines(world, kDrawnLines, seed);
}

template <class World>
std::vector<Request> parsed(const World& world, const std::vector<std::string>& lines) {
  return testing::requests_of(lines, plain_part(world).unit.has_value());
}
std::vector<Request> parsed(const RelationWorld& world, const std::vector<std::string>& lines) {
  return testing::requests_of(world, lines);
}

/// Both sequences, each in its order.
std::vector<std::string> interleaved(const std::vector<std::string>& a, const std::vector<std::string>& b,
                                     std::mt19937_64& random) {
  std::vector<std::string> lines;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size())
    lines.push_back(random() % (a.size() - i + b.size() - j) < a.size() - i ? a[i++] : b[j++]);
  return lines;
}

/// A batch in which requests of every kind stand among insertions of edges, features and labels, so
/// that a world does not run empty: alone, the former remove more than they set.
template <class World>
std::vector<std::string> batch_lines(const World& world, std::uint64_t seed) {
  constexpr bool kGraphs = std::is_same_v<World, GraphWorld>, kRelations = std::is_same_v<World, RelationWorld>;
  const std::vector<std::string> drawn = drawn_lines(world, seed);
  std::vector<std::string> set;
  std::mt19937_64 random(seed + 1);
  const ChangedWorld& base = plain_part(world);
  const auto node = [&] { return std::to_string(random() % base.nodes); };
  while (set.size() < kLongBatch - drawn.size()) {
    const auto dice = random() % 8;
    if (dice < 4) {
      NodeId u = static_cast<NodeId>(random() % base.nodes), v = static_cast<NodeId>(random() % base.nodes);
      if constexpr (kGraphs)
        while (world.graph_of[u] != world.graph_of[v]) v = (v + 1) % base.nodes;
      std::string line = "insert-edge " + std::to_string(u) + " " + std::to_string(v);
      if constexpr (kRelations) line += " " + world.names[random() % world.names.size()];
      set.push_back(line);
    } else if (dice == 4) {
      set.push_back("set-feature " + node() + " 0:0.25 1:-" + std::to_string(random() % 400) + "e-3");
    } else if constexpr (kGraphs) {
      const std::string graph = std::to_string(random() % world.labels.size()), joins = node();
      set.push_back("node " + joins);
      set.push_back("insert-node " + joins + " 0.25 0 0 0.5 graph=" + graph);
      set.push_back("set-graph-label " + graph + " " + std::to_string(random() % base.classes));
      set.push_back("move-graph-split " + graph + (random() % 4 == 0 ? " test" : " train"));
    } else {
      set.push_back(dice < 7 ? "set-label " + node() + " " + std::to_string(random() % base.classes)
                             : "move-split " + node() + " train");
    }
  }
  set.resize(kLongBatch - drawn.size());  // some stand together
  return interleaved(drawn, set, random);
}

Learner exact_model(StoreWriter& store, const RowProgram& program) {
  return Learner::train(store, ample_budget(), "exact", testing::unseeded(), program, testing::kContext);
}

/// Rows of all labelled units of the training and test splits.
std::vector<float> labelled_rows(const LiveStore& store, const RowProgram& program) {
  const auto units = row_units(store, program);
  std::vector<NodeId> keys = units->labelled(SplitName::train);
  const std::vector<NodeId> test = units->labelled(SplitName::test);
  keys.insert(keys.end(), test.begin(), test.end());
  std::vector<float> rows(keys.size() * units->width());
  units->rows(keys, rows.data());
  return rows;
}

/// Holds a store and its model against an import of what remains, which stays in `dir`.
template <class World>
void check_against_fresh(const StoreWriter& store, const Learner& learner, const World& world,
                         const RowProgram& program, const fs::path& fresh_store) {
  world.import(fresh_store);
  testing::propagate_store(fresh_store, two_means());
  StoreWriter fresh(fresh_store, ample_budget());
  const Learner anew = exact_model(fresh, program);
  CHECK(content_digest(store) == content_digest(fresh));
  const std::vector<float> rows = labelled_rows(store, program);
  CHECK(anew.rows().size() > 20);
  CHECK(rows == labelled_rows(fresh, program));
  CHECK(learner.rows().size() == anew.rows().size());
  for (std::size_t i = 0; i < std::min(learner.rows().size(), anew.rows().size()); ++i)
    CHECK(std::equal(learner.rows().row(i).begin(), learner.rows().row(i).end(), anew.rows().row(i).begin()));
  CHECK(learner.model().published == anew.model().published);
  fresh.checkpoint();
}

/// Streams all batches, with some checkpoints and a fold, and counts what was applied.
template <class World>
std::size_t run_batches(const fs::path& path, World& world, const RowProgram& program, std::uint64_t seed) {
  std::size_t applied = 0;
  StoreWriter store(path, ample_budget());
  Learner learner = exact_model(store, program);
  for (std::size_t batch = 0; batch < kLongBatches; ++batch) {
    CAPTURE(batch);
    const std::vector<std::string> lines = batch_lines(world, seed + 2 * batch);
    store.set_plan(batch % 2 == 0 ? Plan::push : Plan::recompute);
    const std::vector<Request> requests = parsed(world, lines);
    BatchChanges changes = store.resolve(requests);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool is_applied = changes.statuses[i] == RequestStatus::applied;
      applied += is_applied ? 1 : 0;
      const std::string& line = lines[i];
      CAPTURE(line);
      CAPTURE(is_applied);
      REQUIRE(is_applied == world.apply(line));
    }
    static_cast<void>(
        learner.absorb(store.apply(requests, std::move(changes), {0, ThresholdScale::absolute}), requests));
    if (batch % 40 == 30) store.checkpoint();
    if (batch == 120) store.fold();
    if (batch % 90 == 60) {
      const TempDir other;
      check_against_fresh(store, learner, world, program, other / "fresh");
    }
  }
  const TempDir other;
  check_against_fresh(store, learner, world, program, other / "fresh");
  return applied;
}

template <class World>
void long_stream(World world, const RowProgram& program, std::uint64_t seed) {
  const TempDir dir;
  world.import(dir / "s");
  testing::propagate_store(dir / "s", two_means());
  const std::size_t applied = run_batches(dir / "s", world, program, seed);
  MESSAGE(std::to_string(kLongBatches * kLongBatch) << " requests, " << applied << " applied");
  CHECK(applied > kLongBatches * kLongBatch / 3);
  const TempDir other;
  world.import(other / "fresh");
  testing::propagate_store(other / "fresh", two_means());
  // Opened anew, the store reads its journal again.
  CHECK(content_digest(StoreReader(dir / "s", ample_budget())) ==
        content_digest(StoreReader(other / "fresh", ample_budget())));
  CHECK(testing::text_of(verify_store(dir / "s", {std::nullopt, false, 1}, ample_budget())).empty());
  fs::remove_all(dir / "s" / "models");
  testing::purge(dir / "s", {.step_bytes = 1});  // a step for each file
  testing::check_same_store(dir / "s", other / "fresh");
}

RowProgram stack_with_blocks(std::uint32_t copies = 1) {
  RowProgram program(scheme_weights("stack", 2, {}));
  program.blocks = {"labels", "degree"};
  program.scale = RowScale::unit;
  program.copies = copies;
  return program;
}

}  // namespace

TEST_SUITE("slow") {
  TEST_CASE("a hundred thousand requests about nodes of a weighted graph lead to the bits of a fresh import") {
    ChangedWorld world = testing::changed_world(300, 4, 31, false);
    world.weigh_all(5, 31);
    RowProgram program = stack_with_blocks();
    program.lift = Lift{64, 3, 0.25};
    long_stream(world, program, 1000);
  }

  TEST_CASE("a hundred thousand requests about real weights lead to the bits of a fresh import") {
    ChangedWorld world = testing::changed_world(300, 4, 36, false);
    world.weigh_all(kMostWeight, 36);
    world.unit = WeightUnit{-15, 1 << 15};
    RowProgram program = stack_with_blocks();
    program.lift = Lift{64, 3, 0.25};
    long_stream(world, program, 6000);
  }

  TEST_CASE("a hundred thousand requests about pairs lead to the bits of a fresh import") {
    RowProgram program(scheme_weights("stack", 2, {}));
    program.pair = pair_form_named("both,by=16");
    program.scale = RowScale::unit;
    PairWorld world{testing::changed_world(200, 4, 32, false),
                    pair_rules_named("valid=.1,test=.1,share=.5,apart,negatives=2,key=3")};
    long_stream(world, program, 2000);
  }

  TEST_CASE("a hundred thousand requests about pairs and real weights lead to the bits of a fresh import") {
    RowProgram program(scheme_weights("stack", 2, {}));
    program.blocks = {"degree"};
    program.pair = pair_form_named("both,by=16");
    program.scale = RowScale::unit;
    PairWorld world{testing::changed_world(200, 4, 37, false),
                    pair_rules_named("valid=.1,test=.1,share=.5,apart,negatives=2,key=3")};
    world.base.weigh_all(kMostWeight, 37);
    world.base.unit = WeightUnit{-15, 1 << 15};
    long_stream(world, program, 7000);
  }

  TEST_CASE("a hundred thousand requests about pairs with directions lead to the bits of a fresh import") {
    RowProgram program(scheme_weights("stack", 2, {}));
    program.blocks = {"degree"};
    program.pair = pair_form_named("both,by=16");
    program.scale = RowScale::unit;
    PairWorld world = testing::directed_pair_world(36, "valid=.1,test=.1,share=.5,apart,negatives=2,key=3");
    world.base = testing::changed_world(200, 4, 36, false);
    world.base.direct_all(36);
    long_stream(world, program, 6000);
  }

  TEST_CASE("a hundred thousand requests about whole graphs lead to the bits of a fresh import") {
    RowProgram program(scheme_weights("stack", 2, {}));
    program.blocks = {"degree"};
    program.pool = Pool{Pool::By::root, 0};
    long_stream(testing::graph_world(400, 120, 33), program, 3000);
  }

  TEST_CASE("a hundred thousand requests about directed edges lead to the bits of a fresh import") {
    ChangedWorld world = testing::changed_world(250, 4, 34, false);
    world.direct_all(34);
    long_stream(world, stack_with_blocks(2), 4000);
  }

  TEST_CASE("a hundred thousand requests about edges of several kinds lead to the bits of a fresh import") {
    RelationWorld world = testing::relation_world(35);
    world.base = testing::changed_world(200, 3, 35, false);
    for (const auto& edge : std::exchange(world.base.edges, {}))
      world.edges[(edge.first + edge.second) % 3].insert(edge);
    long_stream(world, stack_with_blocks(5), 5000);
  }

  TEST_CASE("a hundred thousand requests about real weights of several kinds lead to the bits of a fresh import") {
    RelationWorld world = testing::relation_world(38);
    world.base = testing::changed_world(200, 3, 38, false);
    for (const auto& edge : std::exchange(world.base.edges, {}))
      world.edges[(edge.first + edge.second) % 3].insert(edge);
    world.weigh_all({-10, 1 << 10}, kMostWeight / 3, 38);
    long_stream(world, stack_with_blocks(5), 8000);
  }
}

}  // namespace unweave
