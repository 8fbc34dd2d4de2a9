// tests/algorithms/rows/row_maker_test.cpp - blocks against plain loops over a user's data, and
// rows that follow a stream against those of a fresh import.
#include "algorithms/rows/row_maker.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "algorithms/models/row_program_json.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/verification/verify.h"
#include "storage/io/error.h"
#include "support/changed_world.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using testing::ChangedWorld;
using testing::TempDir;

RowProgram program_of(std::vector<std::string> blocks, RowScale scale = RowScale::clip, std::optional<Lift> lift = {}) {
  RowProgram program(scheme_weights("stack", 2, {}));
  program.blocks = std::move(blocks);
  program.scale = scale;
  program.lift = lift;
  return program;
}

const std::vector<RowProgram>& programs() {
  static const std::vector<RowProgram> all{
      program_of({"labels"}), program_of({"open", "labels", "degree"}, RowScale::unit),
      program_of({"degree"}, RowScale::unit, Lift{40, 3, 0.25}), program_of({"labels"}, RowScale::unit, Lift{100})};
  return all;
}

const PropagationSpec& spec() {
  static const PropagationSpec means = testing::tiny_spec(2, true, 1);
  return means;
}

/// All rows of all targets.
std::vector<float> all_rows(const LiveStore& store, const RowProgram& program) {
  std::vector<NodeId> targets;
  for (NodeId node = 0; node < store.contents().num_nodes(); ++node)
    if (store.embedding().is_target(node)) targets.push_back(node);
  const RowMaker maker(row_source(store), program);
  std::vector<float> rows(targets.size() * maker.width());
  maker.rows(targets, rows.data());
  return rows;
}

bool equal_rows(const TrainingSet& a, const TrainingSet& b) {
  return a.size() == b.size() && std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin()) &&
         std::equal(a.labels().begin(), a.labels().end(), b.labels().begin()) &&
         std::memcmp(a.rows().values, b.rows().values, a.size() * a.features() * sizeof(float)) == 0;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("blocks are what plain loops over the data give") {
    for (const std::uint32_t heaviest : {1U, 9U}) {
      ChangedWorld world = testing::changed_world(60, 5, 4, false);
      if (heaviest > 1) world.weigh_all(heaviest, 5);
      const TempDir dir;
      world.import(dir / "s");
      testing::propagate_store(dir / "s", spec());
      const StoreWriter store(dir / "s", ample_budget());
      const RowMaker maker(row_source(store), program_of({"open", "labels", "degree"}));
      const std::size_t levels = 15;
      REQUIRE(maker.width() == levels + 5 + 3 + 32);
      CHECK(maker.width() == width_of(maker.program(), 2, 5, 3));
      std::vector<float> row(maker.width());
      for (NodeId node = 0; node < world.nodes; ++node) {
        CAPTURE(node);
        if (!store.embedding().is_target(node)) continue;
        maker.rows(std::span(&node, 1), row.data());
        double weight = 0;
        std::vector<double> means(5), labels(3);
        for (const auto& edge : world.edges) {
          if (edge.first != node && edge.second != node) continue;
          const NodeId other = edge.first == node ? edge.second : edge.first;
          const double own = world.weight_of(edge);
          weight += own;
          for (std::uint32_t c = 0; c < 5; ++c) means[c] += own * world.features[other * 5 + c];
          if (world.splits[other] == "train") labels[static_cast<std::size_t>(world.labels[other])] += own;
        }
        const double all = std::max(weight, 1.0);
        for (std::size_t c = 0; c < 5; ++c)
          CHECK(row[levels + c] == doctest::Approx(means[c] / all).epsilon(1e-5).scale(1));
        for (std::size_t c = 0; c < 3; ++c) CHECK(row[levels + 5 + c] == static_cast<float>(labels[c] / all));
        for (std::size_t c = 0; c < 32; ++c)
          CHECK(row[levels + 8 + c] == (std::floor(std::log2(weight + 1)) == static_cast<double>(c) ? 1 : 0));
      }
    }
  }

  TEST_CASE("unit divides each row by its norm, and a lift stands beside the row") {
    const ChangedWorld world = testing::changed_world(40, 5, 6, false);
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", spec());
    const StoreWriter store(dir / "s", ample_budget());
    const std::vector<float> plain = all_rows(store, program_of({"degree"}));
    const std::vector<float> unit = all_rows(store, program_of({"degree"}, RowScale::unit));
    const std::size_t width = 15 + 32, lifted_width = 128;
    const std::vector<float> both = all_rows(store, program_of({"degree"}, RowScale::unit, Lift{100, 3, 0.25}));
    REQUIRE(both.size() / (width + lifted_width) == unit.size() / width);
    const LiftTransform transform(width, {100, 3, 0.25});
    LiftTransform::Room room;
    std::vector<float> lifted(lifted_width);
    for (std::size_t i = 0; i < unit.size() / width; ++i) {
      double squares = 0;
      for (std::size_t c = 0; c < width; ++c) squares += std::pow(plain[i * width + c], 2);
      for (std::size_t c = 0; c < width; ++c)
        CHECK(unit[i * width + c] == doctest::Approx(plain[i * width + c] / std::sqrt(squares)).epsilon(1e-6));
      std::vector<float> row(unit.begin() + static_cast<std::ptrdiff_t>(i * width),
                             unit.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
      clip_row(row, 1);
      transform.lift(row.data(), 1, width, lifted.data(), room);
      const float* const at = both.data() + i * (width + lifted_width);
      for (std::size_t c = 0; c < width; ++c) CHECK(at[c] == static_cast<float>(row[c] / std::sqrt(2.0)));
      for (std::size_t c = 0; c < lifted_width; ++c)
        CHECK(at[width + c] == static_cast<float>(lifted[c] / std::sqrt(2.0)));
    }
  }

  TEST_CASE("rows of copies hold level 0 once where a program says so, and nothing else differs") {
    ChangedWorld world = testing::changed_world(40, 5, 12, false);
    world.direct_all(12);
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", spec());
    const StoreWriter store(dir / "s", ample_budget());
    RowProgram program = program_of({"degree"});
    program.copies = 2;
    const std::vector<float> twice = all_rows(store, program);
    hold_level_0_once(program, spec().levels);
    REQUIRE(program.level_0_once);
    CHECK(text_of(program) == "stack,degree of 2 copies, level 0 once");
    const std::vector<float> once = all_rows(store, program);
    const std::size_t copy = 15 + 32, wide = 2 * copy, width = wide - 5;
    CHECK(width_of(program, 2, 5, 3) == width);
    REQUIRE(once.size() / width == twice.size() / wide);
    for (std::size_t i = 0; i < once.size() / width; ++i)
      for (std::size_t c = 0; c < width; ++c) CHECK(once[i * width + c] == twice[i * wide + (c < copy ? c : c + 5)]);
    const nlohmann::ordered_json json = program_json(program);
    CHECK(json.at("level_0") == "once");
    RowProgram again(program.weights);
    read_program(again, json);
    CHECK(again == program);
    RowProgram last(std::vector<double>{0, 0, 1});
    last.copies = 2;
    hold_level_0_once(last, spec().levels);
    CHECK_FALSE(last.level_0_once);
    CHECK_FALSE(program_json(last).contains("level_0"));
    program.copies = 1;
    hold_level_0_once(program, spec().levels);
    CHECK_FALSE(program.level_0_once);
  }

  TEST_CASE("rows that follow requests of every kind are those of a fresh import, bit for bit, and so is the model") {
    for (std::size_t i = 0; i < 2 * programs().size(); ++i) {
      RowProgram program = programs()[i / 2];
      ChangedWorld world = testing::changed_world(60, 5, 7, false);
      if (i % 2 == 1) {
        world.direct_all(11);
        program.copies = 2;
        if (i % 4 == 3) hold_level_0_once(program, spec().levels);
      }
      CAPTURE(text_of(program));
      const TempDir dir;
      world.import(dir / "s");
      testing::propagate_store(dir / "s", spec());
      std::vector<std::string> lines = testing::changing_lines(world, 80, 8, false);
      StoreWriter store(dir / "s", ample_budget());
      Learner learner = Learner::train(store, ample_budget(), "exact", testing::unseeded(), program, testing::kContext);
      std::size_t followed = 0;
      for (std::size_t at = 0, round = 0; at < lines.size(); ++round) {
        // A single request, or some; every third batch lazily.
        const std::size_t count = std::min<std::size_t>(round % 2 == 0 ? 1 : 5, lines.size() - at);
        const std::vector<std::string> some(lines.begin() + static_cast<std::ptrdiff_t>(at),
                                            lines.begin() + static_cast<std::ptrdiff_t>(at + count));
        at += count;
        store.set_plan(round % 4 == 3 ? Plan::recompute : Plan::push);
        const std::vector<Request> requests = testing::requests_of(some);
        const BatchReport report =
            store.apply(requests, store.resolve(requests), {round % 3 == 2 ? 0.01 : 0, ThresholdScale::absolute});
        for (const std::string& line : some) world.apply(line);
        static_cast<void>(learner.absorb(report, requests));
        const TrainingRows fresh(store, program, learner.rows().form(), ample_budget());
        REQUIRE(equal_rows(learner.rows(), fresh.set()));
        ++followed;
      }
      CHECK(followed > 20);
      static_cast<void>(store.publish_stale());
      store.checkpoint();
      const TempDir other;
      world.import(other / "fresh");
      testing::propagate_store(other / "fresh", spec());
      StoreWriter imported(other / "fresh", ample_budget());
      Learner anew = Learner::train(imported, ample_budget(), "exact", testing::unseeded(), program, testing::kContext);
      CHECK(equal_rows(learner.rows(), anew.rows()));
      CHECK(learner.model().published == anew.model().published);
      const ModelRecord read = load_model(dir / "s", "exact");
      CHECK(read.rows == program);
      CHECK(evaluate_model(store, read, nullptr).test == evaluate_model(imported, anew.record(), nullptr).test);
    }
  }

  TEST_CASE("a follower that forgets the readers of a label is caught") {
    ChangedWorld world = testing::changed_world(60, 5, 7, false);
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", spec());
    StoreWriter store(dir / "s", ample_budget());
    store.set_plan(Plan::push);  // small graphs are swept, after which all rows may have changed
    const RowProgram program = program_of({"labels"});
    TrainingRows told(store, program, 1, ample_budget()), untold(store, program, 1, ample_budget());
    // A node that leaves the training split: rows come by no such request, so that nothing is read
    // anew.
    const auto trains = [&](NodeId node) { return world.splits[node] == "train"; };
    const auto tie = std::find_if(world.edges.begin(), world.edges.end(),
                                  [&](const auto& edge) { return trains(edge.first) && trains(edge.second); });
    REQUIRE(tie != world.edges.end());
    const NodeId leaving = tie->first;
    const std::vector<Request> requests = testing::requests_of({"move-split " + std::to_string(leaving) + " test"});
    const BatchReport report = store.apply(requests, store.resolve(requests), {0, ThresholdScale::absolute});
    CHECK_FALSE(report.update.all_rows);
    const std::vector<NodeId>& changed = report.update.changed;
    // a label moves no row of the embedding
    CHECK_FALSE(std::binary_search(changed.begin(), changed.end(), tie->second));
    static_cast<void>(untold.follow(report.update, false));
    static_cast<void>(told.follow(report.update, false, std::span(&leaving, 1)));
    const TrainingRows fresh(store, program, 1, ample_budget());
    CHECK(equal_rows(told.set(), fresh.set()));
    CHECK_FALSE(equal_rows(untold.set(), fresh.set()));
  }

  TEST_CASE("programs that a store does not serve are refused") {
    const ChangedWorld world = testing::changed_world(30, 5, 9, false);
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", testing::tiny_spec(2, true, 0.5));
    const StoreWriter store(dir / "s", ample_budget());
    CHECK_THROWS_AS(RowMaker(row_source(store), program_of({"open"})), UsageError);
    CHECK_THROWS_AS(RowMaker(row_source(store), program_of({"words"})), UsageError);
    CHECK_THROWS_AS(RowMaker(row_source(store), program_of({}, RowScale::unit, Lift{0})), UsageError);
    CHECK_THROWS_AS(require_blocks(std::vector<std::string>{"degree", "labels"}), UsageError);
    CHECK_THROWS_AS(require_blocks(std::vector<std::string>{"labels", "labels"}), UsageError);
    CHECK_NOTHROW(require_blocks(std::vector<std::string>{"open", "labels", "degree"}));
  }
}

}  // namespace unweave
