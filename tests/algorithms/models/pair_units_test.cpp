// tests/algorithms/models/pair_units_test.cpp - rows of pairs against plain loops, models of links
// over streams of requests against fresh ones, and what they say against brute force.
#include "algorithms/models/pair_units.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/evaluation/link_metrics.h"
#include "algorithms/evaluation/links.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "algorithms/models/training_rows.h"
#include "algorithms/verification/verify.h"
#include "storage/io/error.h"
#include "support/changed_world.h"
#include "support/folder_bytes.h"
#include "support/pair_world.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::ample_budget;
using testing::pair_spec;
using testing::PairWorld;
using testing::SlowPairs;
using testing::TempDir;

RowProgram link_program(const std::string& form, RowScale scale = RowScale::unit) {
  RowProgram program({0, 0, 1});
  program.pair = pair_form_named(form);
  program.scale = scale;
  return program;
}

/// Scaled down to norm 1 where it may be longer, by what rounding allows: FORMAT.md has no such
/// rows, and tools/audit the same loop.
std::vector<float> slow_clip(std::vector<float> row) {
  const double roundings = (static_cast<double>(row.size()) + 4) * 0x1p-53;
  for (double shrink = 1;; shrink *= 1 - 0x1p-22) {
    double sum = 0;
    for (const float x : row) sum += static_cast<double>(x) * static_cast<double>(x);
    const double norm = std::sqrt(sum) * (1 + roundings / (1 - roundings));
    if (norm <= 1) return row;
    for (float& x : row) x = static_cast<float>(shrink / norm * static_cast<double>(x));
  }
}

/// The row of two nodes whose rows, clipped, are these.
std::vector<float> slow_pair(const PairForm& form, const std::vector<float>& a, const std::vector<float>& b) {
  const auto by = static_cast<float>(form.by);
  std::vector<float> products, differences;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const float product = a[j] * b[j];
    CHECK(product == static_cast<float>(static_cast<double>(a[j]) * static_cast<double>(b[j])));
    products.push_back(by * product);
    differences.push_back(by * (std::abs(a[j] - b[j]) / 2));
  }
  products = slow_clip(products);
  differences = slow_clip(differences);
  if (form.how == PairForm::How::hadamard) return products;
  if (form.how == PairForm::How::difference) return differences;
  products.insert(products.end(), differences.begin(), differences.end());
  for (float& x : products) x = static_cast<float>(static_cast<double>(x) / std::sqrt(2.0));
  return slow_clip(products);
}

/// Clipped rows of a copy of each node, by their ids: copy 1 has those of targets, where edges have
/// directions.
std::vector<std::vector<float>> slow_node_rows(const LiveStore& store, const RowProgram& program,
                                               std::uint32_t copy = 0) {
  std::vector<std::vector<float>> rows;
  for (NodeId user = 0; user < store.contents().order().users(); ++user) {
    const NodeId node = store.contents().order().position(user, copy);
    std::vector<float> row(store.embedding().row_width(program.weights));
    store.embedding().rows({&node, 1}, program.weights, row.data());
    double sum = 0;
    for (const float x : row) sum += static_cast<double>(x) * static_cast<double>(x);
    for (float& x : row)
      if (program.scale == RowScale::unit && sum > 0) x = static_cast<float>(static_cast<double>(x) / std::sqrt(sum));
    rows.push_back(slow_clip(row));
  }
  return rows;
}

Learner train_links(StoreWriter& store, const RowProgram& program, const std::string& solver = "exact",
                    SolverOptions options = testing::unseeded()) {
  options.intercept = true;
  return Learner::train(store, ample_budget(), solver, options, program, testing::kContext);
}

std::string link_findings(const fs::path& store) {
  return testing::text_of(verify_store(store, {std::nullopt, false, 1}, ample_budget()));
}

Matrix weights_of_fresh(const PairWorld& world, const RowProgram& program, const std::string& solver) {
  const TempDir dir;
  world.import(dir / "fresh");
  testing::propagate_store(dir / "fresh", pair_spec());
  StoreWriter store(dir / "fresh", ample_budget());
  return train_links(store, program, solver).model().published;
}

std::vector<float> pinned_features(std::size_t count, std::uint64_t seed) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    seed += 0x9E3779B97F4A7C15U;
    values.push_back(static_cast<float>(
        static_cast<double>(static_cast<std::int64_t>(SlowPairs::mix(seed) >> 44) - (std::int64_t{1} << 19)) * 0x1p-20 /
        2));
  }
  return values;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("rows of pairs are those of plain loops, in any order of the store and by any share of memory") {
    for (const std::string order : {"none", "degree"})
      for (const std::string form : {"hadamard", "hadamard,by=16", "difference,by=4", "both,by=1048576"})
        for (const RowScale scale : {RowScale::clip, RowScale::unit}) {
          CAPTURE(form);
          const bool directed = form.starts_with("both") || form == "hadamard";
          const PairWorld world = testing::pair_world_of(directed, 3, "valid=.2,test=.1,negatives=2", order);
          const TempDir dir;
          world.import(dir / "s");
          testing::propagate_store(dir / "s", pair_spec());
          MemoryBudget small(std::uint64_t{3} << 20);
          const StoreReader store(dir / "s", order == "none" ? ample_budget() : small);
          const RowProgram program = link_program(form, scale);
          const PairUnits units(store, program);
          CHECK(units.classes() == 2);
          const std::vector<std::vector<float>> nodes = slow_node_rows(store, program),
                                                targets = slow_node_rows(store, program, directed ? 1 : 0);
          if (directed) CHECK(nodes != targets);
          for (const auto& [split, role] : {std::pair(SplitName::train, PairRole::label),
                                            {SplitName::valid, PairRole::valid},
                                            {SplitName::test, PairRole::test}}) {
            const std::vector<NodeId> keys = units.labelled(split);
            const PairList& list = units.list(role);
            REQUIRE(keys.size() == list.size());
            CHECK(std::is_sorted(keys.begin(), keys.end()));
            std::vector<float> rows(keys.size() * units.width());
            units.rows(keys, rows.data());
            for (std::size_t i = 0; i < keys.size(); ++i) {
              CHECK(units.label(keys[i]) == (list.is_edge(i) ? 0 : 1));
              const Edge ends = list.ends()[i];
              const NodeOrder& ids = store.contents().order();
              const std::vector<float> slow =
                  slow_pair(*program.pair, nodes[ids.user(ends.u)], targets[ids.user(ends.v)]);
              CHECK(std::equal(slow.begin(), slow.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * units.width()),
                               rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * units.width())));
            }
          }
        }
  }

  TEST_CASE("rows of pairs are made of lifted rows of nodes where the lift is at nodes") {
    const PairWorld world = testing::pair_world(3, "valid=.2");
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", pair_spec());
    const StoreReader store(dir / "s", ample_budget());
    for (const std::string form : {"hadamard,by=16", "both"}) {
      RowProgram program = link_program(form);
      const std::vector<std::vector<float>> nodes = slow_node_rows(store, program);
      program.lift = Lift{24, 5, 0.5, true};
      const PairUnits units(store, program);
      const LiftTransform transform(nodes[0].size(), *program.lift);
      CHECK(units.node_width() == nodes[0].size() + transform.width());
      CHECK(units.width() == width_of(program, 2, world.base.columns, 3));
      const auto lifted = [&](const std::vector<float>& row) {
        std::vector<float> both = row, beside(transform.width());
        LiftTransform::Room room;
        transform.lift(row.data(), 1, row.size(), beside.data(), room);
        both.insert(both.end(), beside.begin(), beside.end());
        for (float& x : both) x = static_cast<float>(static_cast<double>(x) / std::sqrt(2.0));
        return slow_clip(both);
      };
      const std::vector<NodeId> keys = units.labelled(SplitName::train);
      std::vector<float> rows(keys.size() * units.width());
      units.rows(keys, rows.data());
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const Edge ends = units.ends(keys[i]);
        const std::vector<float> slow = slow_pair(*program.pair, lifted(nodes[ends.u]), lifted(nodes[ends.v]));
        CHECK(std::equal(slow.begin(), slow.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * units.width())));
      }
    }
    CHECK(text_of(lift_named("24,bias=0.5,key=5,at=node")) == "24,key=5,bias=0.5,at=node");
    for (const char* const wrong : {"24,at=row", "24,at=node,at=node", "24,at=", "24,at=nodes"})
      CHECK_THROWS_AS(static_cast<void>(lift_named(wrong)), UsageError);
  }

  TEST_CASE("a lift stands beside the row of a pair") {
    const PairWorld world = testing::pair_world(3, "valid=.2");
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", pair_spec());
    const StoreReader store(dir / "s", ample_budget());
    RowProgram program = link_program("hadamard,by=16");
    const PairUnits plain(store, program);
    program.lift = Lift{24, 5, 0.5};
    const PairUnits lifted(store, program);
    const LiftTransform transform(plain.width(), *program.lift);
    REQUIRE(lifted.width() == plain.width() + transform.width());
    CHECK(lifted.width() == width_of(program, 2, world.base.columns, 3));
    const std::vector<NodeId> keys = plain.labelled(SplitName::train);
    std::vector<float> rows(keys.size() * plain.width()), more(keys.size() * lifted.width()), beside(transform.width());
    plain.rows(keys, rows.data());
    lifted.rows(keys, more.data());
    LiftTransform::Room room;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      transform.lift(&rows[i * plain.width()], 1, transform.width(), beside.data(), room);
      for (std::size_t j = 0; j < lifted.width(); ++j) {
        const float x = j < plain.width() ? rows[i * plain.width() + j] : beside[j - plain.width()];
        CHECK(more[i * lifted.width() + j] == static_cast<float>(static_cast<double>(x) / std::sqrt(2.0)));
      }
    }
  }

  TEST_CASE("the pinned minimiser on pairs, after two nodes left") {
    PairWorld world = testing::pinned_pair_world();
    const std::vector<float> features = pinned_features(60 * 4, 9);
    world.base.columns = 4;
    world.base.features.assign(features.begin(), features.end());
    world.base.edges.erase(std::next(world.base.edges.begin(), 170), world.base.edges.end());
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", pair_spec());
    const RowProgram program = link_program("hadamard,by=16", RowScale::clip);
    SolverOptions options = testing::unseeded();
    options.lambda = 1e-3;
    StoreWriter store(dir / "s", ample_budget());
    Learner learner = train_links(store, program, "exact", options);
    const std::vector<Request> requests = testing::requests_of({"node 7", "node 8"});
    static_cast<void>(learner.absorb(store.apply(requests, store.resolve(requests), {0, ThresholdScale::absolute})));
    constexpr std::array<double, 5> kPinned{31487609, 1709977, 33034826, 15889012, -11224055};
    const Matrix& weights = learner.model().published;
    REQUIRE(weights.rows() == 5);
    REQUIRE(weights.cols() == 2);
    for (Eigen::Index i = 0; i < 5; ++i) {
      CHECK(weights(i, 0) * 0x1p24 == kPinned[static_cast<std::size_t>(i)]);
      CHECK(weights(i, 1) == -weights(i, 0));
    }
  }

  TEST_CASE("exact models that follow a stream have the weights of a fresh training, to the bit") {
    for (const std::string rules :
         {"valid=.2,test=.1", "valid=.1,test=.1,share=.6,apart,negatives=2,key=3", "valid=.1,uniform=60"})
      for (const auto& kind :
           {std::pair<std::string, bool>{"none", false}, {"bfs", false}, {"none", true}, {"bfs", true}}) {
        const std::string order = kind.first;
        const bool directed = kind.second;
        CAPTURE(rules);
        CAPTURE(order);
        CAPTURE(directed);
        PairWorld world = testing::pair_world_of(directed, 5, rules, order);
        const TempDir dir;
        world.import(dir / "s");
        testing::propagate_store(dir / "s", pair_spec());
        const RowProgram program = link_program(order == "none" ? "hadamard,by=16" : "both,by=8");
        const std::vector<std::string> lines = testing::changing_lines(world.base, 80, 6, false);
        {
          StoreWriter store(dir / "s", ample_budget());
          Learner learner = train_links(store, program);
          for (std::size_t at = 0; at < lines.size(); at += 10) {
            const std::vector<std::string> some(lines.begin() + static_cast<std::ptrdiff_t>(at),
                                                lines.begin() + static_cast<std::ptrdiff_t>(at + 10));
            const std::vector<Request> requests = testing::requests_of(some);
            const double r_max = at % 30 == 10 ? 0.01 : 0;  // which pairs do not stand: rows are published first
            BatchReport batch = store.apply(requests, store.resolve(requests), {r_max, ThresholdScale::absolute});
            for (const std::string& line : some) world.base.apply(line);
            const StepReport report = learner.absorb(batch, requests);
            CHECK(report.certified);
            if (at % 40 == 0) CHECK(learner.model().published == weights_of_fresh(world, program, "exact"));
          }
          CHECK(learner.model().published == weights_of_fresh(world, program, "exact"));
          store.checkpoint();
        }
        CHECK(link_findings(dir / "s") == "");
        testing::purge(dir / "s");
        CHECK(verify_store(dir / "s", {std::nullopt, true, 1}, ample_budget()).ok());
        CHECK(load_model(dir / "s", "exact").model.published == weights_of_fresh(world, program, "exact"));
      }
  }

  TEST_CASE("solvers that may begin anew learn links, certified where a theorem speaks of any rows; others refuse") {
    const PairWorld world = testing::pair_world(6, "valid=.2,test=.1");
    const TempDir dir;
    world.import(dir / "s");
    testing::propagate_store(dir / "s", pair_spec());
    const RowProgram program = link_program("hadamard,by=16");
    StoreWriter store(dir / "s", ample_budget());
    const std::vector<Request> requests = testing::requests_of({"edge 0 1", "node 9", "insert-edge 3 40"});
    std::vector<Learner> learners;
    for (const std::string solver : {"exact", "newton", "retrain"})
      learners.push_back(train_links(store, program, solver));
    const BatchReport batch = store.apply(requests, store.resolve(requests), {0, ThresholdScale::absolute});
    for (Learner& learner : learners) {
      const StepReport report = learner.absorb(batch, requests);
      CHECK(report.certified);
      CHECK(learner.record().certificate.find("\"unit\":\"pair\"") != std::string::npos);
      CHECK(learner.model().trained_rows == PairList(store.contents(), PairRole::label, ample_budget()).size());
    }
    CHECK(link_findings(dir / "s").empty());
    for (const std::string solver : {"scalegun", "rewind", "langevin"})
      CHECK_THROWS_AS(static_cast<void>(train_links(store, program, solver)), UsageError);
  }

  TEST_CASE("links are scored as the rows say, and the best of a node are those of a sort") {
    for (const auto& kind :
         {std::pair<std::string, bool>{"none", false}, {"degree", false}, {"none", true}, {"bfs", true}}) {
      const std::string order = kind.first;
      const bool directed = kind.second;
      CAPTURE(order);
      CAPTURE(directed);
      const PairWorld world = testing::pair_world_of(directed, 7, "valid=.2,test=.2,negatives=3", order);
      const TempDir dir;
      world.import(dir / "s");
      testing::propagate_store(dir / "s", pair_spec());
      const RowProgram program = link_program("hadamard,by=16");
      StoreWriter store(dir / "s", ample_budget());
      const Learner learner = train_links(store, program);
      const ModelRecord& record = learner.record();
      const std::vector<std::vector<float>> nodes = slow_node_rows(store, program),
                                            targets = slow_node_rows(store, program, directed ? 1 : 0);
      const Matrix& weights = record.model.published;
      const auto slow_score = [&](NodeId u, NodeId v) {
        const std::vector<float> row = slow_pair(*program.pair, nodes[u], targets[v]);
        double score = weights(weights.rows() - 1, 0);
        for (std::size_t j = 0; j < row.size(); ++j)
          score += static_cast<double>(row[j]) * weights(static_cast<Eigen::Index>(j), 0);
        return score;
      };
      std::vector<Edge> all;
      for (NodeId u = 0; u < 50; ++u)
        for (NodeId v = 0; v < 50; ++v)
          if (u != v || directed) all.push_back({u, v});
      std::size_t at = 0;
      score_links(store, record, all, [&](std::span<const ScoredLink> links) {
        for (const ScoredLink& link : links) {
          CHECK(link.u == all[at].u);
          CHECK(link.v == all[at++].v);
          const double slow = slow_score(static_cast<NodeId>(link.u), static_cast<NodeId>(link.v));
          CHECK(std::abs(link.score - slow) < 1e-12);
          CHECK(std::abs(link.probability - 1 / (1 + std::exp(-slow))) < 1e-12);
        }
      });
      CHECK(at == all.size());
      const std::vector<NodeId> queries{0, 17, 0, 49};
      std::vector<ScoredLink> best;
      best_links(store, record, queries, 7,
                 [&](std::span<const ScoredLink> links) { best.insert(best.end(), links.begin(), links.end()); });
      at = 0;
      for (const NodeId u : queries) {
        std::vector<ScoredLink> slow;
        score_links(store, record, all, [&](std::span<const ScoredLink> links) {
          for (const ScoredLink& link : links) {
            const auto v = static_cast<NodeId>(link.v);
            if (link.u == u && u != v && !world.base.edges.contains(world.slow().edge_of(u, v))) slow.push_back(link);
          }
        });
        std::stable_sort(slow.begin(), slow.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
        for (std::size_t i = 0; i < 7; ++i, ++at) {
          REQUIRE(at < best.size());
          CHECK(best[at].u == u);
          CHECK(best[at].v == slow[i].v);
          CHECK(best[at].score == slow[i].score);
        }
      }
      CHECK(at == best.size());
      // Figures of a split against loops over all its pairs.
      const PairUnits units(store, program);
      const std::vector<SlowPairs::Pair> pairs = world.pairs(0);
      std::vector<double> edges, others;
      double reciprocal = 0;
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const double score = slow_score(static_cast<NodeId>(pairs[i][0]), static_cast<NodeId>(pairs[i][1]));
        (pairs[i][2] == 1 ? edges : others).push_back(score);
        if (pairs[i][2] != 1) continue;
        double above = 0;
        for (std::size_t j = i + 1; j < pairs.size() && pairs[j][2] == 0; ++j)
          above += slow_score(static_cast<NodeId>(pairs[j][0]), static_cast<NodeId>(pairs[j][1])) > score ? 1 : 0;
        reciprocal += 1 / (above + 1);
      }
      double better = 0;
      for (const double edge : edges)
        for (const double other : others) better += edge > other ? 1 : edge == other ? 0.5 : 0;
      const LinkFigures figures = link_figures(units, record, PairRole::valid, nullptr);
      CHECK(figures.edges == edges.size());
      CHECK(figures.others == others.size());
      CHECK(figures.auc.value() == doctest::Approx(better / static_cast<double>(edges.size() * others.size())));
      CHECK(figures.reciprocal_rank.value() == doctest::Approx(reciprocal / static_cast<double>(edges.size())));
      const std::vector<Edge> given{{0, 1}, {5, 9}, {30, 2}};
      const LinkFigures against = link_figures(units, record, PairRole::valid, &given);
      CHECK(against.others == 3);
      CHECK_FALSE(against.reciprocal_rank.has_value());
      CHECK(against.hits[0] == 1);
    }
  }

  TEST_CASE("what has no pairs, no rows of some nodes, or rows of nodes is refused with a remedy") {
    const TempDir dir;
    const PairWorld world = testing::pair_world(8, "valid=.2");
    world.import(dir / "s");
    testing::propagate_store(dir / "s", testing::tiny_spec(2, false, 1));
    const RowProgram program = link_program("hadamard");
    StoreWriter store(dir / "s", ample_budget());
    CHECK_THROWS_WITH_AS(PairUnits(store, program), doctest::Contains("rows"), UsageError);
    world.base.import(dir / "plain");
    testing::propagate_store(dir / "plain", pair_spec());
    StoreWriter plain(dir / "plain", ample_budget());
    CHECK_THROWS_WITH_AS(PairUnits(plain, program), doctest::Contains("pairs"), UsageError);
    const Learner of_nodes =
        Learner::train(plain, ample_budget(), "exact", testing::unseeded(), RowProgram({0, 0, 1}), testing::kContext);
    const std::vector<Edge> pairs{{0, 1}};
    CHECK_THROWS_WITH_AS(score_links(plain, of_nodes.record(), pairs, [](std::span<const ScoredLink>) {}),
                         doctest::Contains("pair"), UsageError);
  }
}

}  // namespace unweave
