// tests/algorithms/evaluation/unit_attacks_test.cpp - canaries of whole graphs and of links, and
// what models of these show of what was removed, against plain loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "algorithms/evaluation/canary.h"
#include "algorithms/evaluation/efficacy.h"
#include "algorithms/evaluation/links.h"
#include "algorithms/evaluation/one_run_audit.h"
#include "algorithms/evaluation/trend_attack.h"
#include "algorithms/models/pair_units.h"
#include "algorithms/models/training_rows.h"
#include "storage/io/error.h"
#include "support/folder_bytes.h"
#include "support/graph_world.h"
#include "support/pair_world.h"
#include "support/sabotage.h"
#include "support/temp_dir.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using testing::pair_spec;
using testing::TempDir;

/// A store with a model of `exact`, of whole graphs or of links.
struct UnitStore {
  TempDir dir;
  std::filesystem::path store = dir / "s", copy = dir / "copy";
  RowProgram program{std::vector<double>{0, 0, 1}};

  explicit UnitStore(RowUnit unit) {
    if (unit == RowUnit::graph) {
      testing::graph_world(120, 24, 5).import(store);
      program.pool = Pool{Pool::By::root, 0};
    } else {
      testing::pair_world(5, "valid=.1,test=.2,negatives=2").import(store);
      program.pair = PairForm{PairForm::How::hadamard, 16};
      program.scale = RowScale::unit;
    }
    testing::propagate_store(store, pair_spec());
    StoreWriter live(store, ample_budget());
    static_cast<void>(
        Learner::train(live, ample_budget(), "exact", taken_options("exact", {}), program, testing::kContext));
  }
  [[nodiscard]] ModelRecord record() const { return load_model(store, "exact"); }
  void keep_copy() const { std::filesystem::copy(store, copy, std::filesystem::copy_options::recursive); }
  static void apply(const std::filesystem::path& to, const std::vector<Request>& requests, bool follow = false) {
    StoreWriter live(to, ample_budget());
    std::vector<Learner> learners;
    if (follow) learners.push_back(Learner::open(live, ample_budget(), "exact", testing::kContext, {}));
    const BatchReport batch = live.apply(requests, live.resolve(requests), {});
    for (Learner& learner : learners) learner.absorb(batch);
  }
  [[nodiscard]] Canary released(const CanaryRequests& requests, std::uint64_t most = 100'000) const {
    StoreReader live(store, ample_budget());
    return release_canary(requests, live, record(), most, ample_budget());
  }
  [[nodiscard]] std::vector<CanaryRequests> found() const {
    const StoreReader live(store, ample_budget());
    return find_canaries(live, record(), ample_budget());
  }
};

using RowBag = std::multiset<std::pair<ClassId, std::vector<float>>>;

RowBag rows_in(const TrainingSet& set) {
  RowBag rows;
  for (std::size_t i = 0; i < set.size(); ++i)
    rows.emplace(set.labels()[i], std::vector<float>(set.row(i).begin(), set.row(i).end()));
  return rows;
}

RowBag rows_of(const std::filesystem::path& store, const ModelRecord& record) {
  const StoreReader live(store, ample_budget());
  return rows_in(TrainingRows(live, record.rows, form_of(record), ample_budget()).set());
}

/// Trains nothing anew, though it says so.
class StaysBefore final : public testing::Wrapped {
 public:
  using Wrapped::Wrapped;
  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    Model other = model;
    return honest().catch_up(other, rows, lazy);
  }
};

double plain_norm(const TrainingSet& rows, std::size_t i, const Matrix& weights, std::size_t label) {
  double sum = 0, norm = 0;
  for (std::size_t c = 0; c < rows.classes(); ++c) {
    double margin = 0;
    for (std::size_t f = 0; f < rows.features(); ++f)
      margin += static_cast<double>(rows.row(i)[f]) * weights(index_of(f), index_of(c));
    const double slope = 1 / (1 + std::exp(label == c ? margin : -margin));
    sum += slope * slope;
  }
  for (const float x : rows.row(i)) norm += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum * norm);
}

/// Chance that one of the first is larger, by all pairs.
double plain_area(const std::vector<double>& first, const std::vector<double>& second) {
  double sum = 0;
  for (const double a : first)
    for (const double b : second) sum += a > b ? 1 : a == b ? 0.5 : 0;
  return sum / static_cast<double>(first.size() * second.size());
}

std::vector<double> plain_scores(const LiveStore& store, const ModelRecord& record, const std::vector<Edge>& pairs) {
  std::vector<double> scores;
  score_links(store, record, pairs, [&](std::span<const ScoredLink> links) {
    for (const ScoredLink& link : links) scores.push_back(link.score);
  });
  return scores;
}

/// The requests that remove these rows, of a store that is closed again.
CanaryRequests steepest_of(const UnitStore& world, const ModelRecord& record, std::uint64_t count) {
  const StoreReader live(world.store, ample_budget());
  return steepest_rows(live, record, count, ample_budget());
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("canaries of graphs are the largest of their kind") {
    const UnitStore world(RowUnit::graph);
    const std::vector<CanaryRequests> canaries = world.found();
    REQUIRE(canaries.size() == 4);
    const StoreReader live(world.store, ample_budget());
    const ModelRecord record = world.record();
    const TrainingRows held(live, record.rows, form_of(record), ample_budget());
    const TrainingSet& rows = held.set();
    const WholeGraphs& graphs = live.contents().graphs();
    const Matrix& weights = record.model.published;

    CHECK(canaries[0].name == "hub");
    CHECK(canaries[0].requests.at(0).kind == RequestKind::remove_graph);
    CHECK(canaries[1].name == "bridge");
    const Request& edge = canaries[1].requests.at(0);
    CHECK(edge.kind == RequestKind::remove_edge);
    CHECK(live.contents().graph().has_edge(static_cast<NodeId>(edge.u), static_cast<NodeId>(edge.v)));
    const std::uint32_t least = graphs.size(static_cast<std::uint32_t>(graphs.of(static_cast<NodeId>(edge.u))));
    CHECK(canaries[2].name == "gradient");
    const auto steepest = rows.find(static_cast<NodeId>(canaries[2].requests.at(0).u));
    REQUIRE(steepest);
    CHECK(canaries[3].name == "planted");
    REQUIRE(canaries[3].planted.size() == 1);
    CHECK(canaries[3].planted[0].kind == RequestKind::set_graph_label);
    CHECK(canaries[3].planted[0].u == canaries[3].requests.at(0).u);
    const auto wrong = static_cast<std::size_t>(std::stoul(canaries[3].planted[0].value));
    const auto planted = rows.find(static_cast<NodeId>(canaries[3].requests.at(0).u));
    REQUIRE(planted);
    CHECK(wrong != rows.labels()[*planted]);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const NodeId graph = rows.nodes()[i];
      CHECK(graphs.size(graph) <= graphs.size(static_cast<std::uint32_t>(canaries[0].requests[0].u)));
      bool has_edges = false;
      for (const NodeId node : graphs.nodes(graph)) has_edges |= live.contents().edges_of(node) > 0;
      CHECK((!has_edges || graphs.size(graph) >= least));
      for (std::size_t c = 0; c < rows.classes(); ++c)
        CHECK(plain_norm(rows, i, weights, c) <=
              (1 + 1e-9) * (c == rows.labels()[i] ? plain_norm(rows, *steepest, weights, rows.labels()[*steepest])
                                                  : plain_norm(rows, *planted, weights, wrong)));
    }
  }

  TEST_CASE("canaries of links are the largest of their kind") {
    const UnitStore world(RowUnit::pair);
    const std::vector<CanaryRequests> canaries = world.found();
    REQUIRE(canaries.size() == 4);
    const StoreReader live(world.store, ample_budget());
    const ModelRecord record = world.record();
    const TrainingRows held(live, record.rows, form_of(record), ample_budget());
    const TrainingSet& rows = held.set();
    const PairUnits units(live, record.rows);
    const Contents& contents = live.contents();
    const PairList& list = units.list(PairRole::label);
    const auto place_of = [&](const Request& request, bool is_edge) {
      std::size_t found = rows.size();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const Edge ends = list.ends()[rows.nodes()[i]];
        const bool is_it = std::minmax<std::uint64_t>(ends.u, ends.v) == std::minmax(request.u, request.v);
        if (is_it && list.is_edge(rows.nodes()[i]) == is_edge) found = i;
      }
      REQUIRE(found < rows.size());
      return found;
    };
    const auto edges_at = [&](const Request& request) {
      return contents.edges_of(static_cast<NodeId>(request.u)) + contents.edges_of(static_cast<NodeId>(request.v));
    };
    CHECK(canaries[0].name == "hub");
    for (NodeId node = 0; node < contents.num_nodes(); ++node)
      CHECK(contents.edges_of(node) <= contents.edges_of(static_cast<NodeId>(canaries[0].requests.at(0).u)));
    CHECK(canaries[1].name == "bridge");
    CHECK(canaries[2].name == "gradient");
    CHECK(canaries[3].name == "planted");
    REQUIRE(canaries[3].planted.size() == 1);
    CHECK(canaries[3].planted[0].kind == RequestKind::insert_edge);
    CHECK(canaries[3].requests.at(0).kind == RequestKind::remove_edge);
    static_cast<void>(place_of(canaries[1].requests.at(0), true));
    const double steepest = plain_norm(rows, place_of(canaries[2].requests.at(0), true), record.model.published, 0);
    const double planted = plain_norm(rows, place_of(canaries[3].planted[0], false), record.model.published, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Edge ends = list.ends()[rows.nodes()[i]];
      const Request pair{RequestKind::remove_edge, ends.u, ends.v};
      const double norm = plain_norm(rows, i, record.model.published, 0);
      if (list.is_edge(rows.nodes()[i])) {
        CHECK(norm <= steepest * (1 + 1e-9));
        CHECK(edges_at(pair) >= edges_at(canaries[1].requests[0]));
      } else if (contents.role(ends.u, ends.v) == PairRole::label) {
        CHECK(norm <= planted * (1 + 1e-9));
      }
    }
  }

  TEST_CASE("rows before and after are those of stores that were streamed, and no file changes") {
    for (const RowUnit unit : {RowUnit::graph, RowUnit::pair}) {
      const UnitStore world(unit);
      const ModelRecord record = world.record();
      const auto files = testing::folder_bytes(world.store);
      for (const CanaryRequests& requests : world.found()) {
        CAPTURE(requests.name);
        const Canary canary = world.released(requests);
        world.keep_copy();
        if (!requests.planted.empty()) UnitStore::apply(world.copy, requests.planted);
        CHECK(rows_in(canary.before) == rows_of(world.copy, record));
        UnitStore::apply(world.copy, requests.requests);
        CHECK(rows_in(canary.after) == rows_of(world.copy, record));
        CHECK(canary.change.begins_anew);
        CHECK(rows_in(canary.before) != rows_in(canary.after));
        std::filesystem::remove_all(world.copy);

        const Canary part = world.released(requests, 20);
        CHECK(part.before.size() <= 20);
        CHECK(part.after.size() <= 20);
        CHECK(rows_in(part.before) != rows_in(part.after));
        const RowBag all = rows_in(canary.after), some = rows_in(part.after);
        CHECK(std::includes(all.begin(), all.end(), some.begin(), some.end()));
      }
      CHECK(testing::folder_bytes(world.store) == files);
      CHECK_THROWS_AS(static_cast<void>(world.released({"nothing", {{RequestKind::remove_edge, 0, 0}}})), UsageError);
    }
  }

  TEST_CASE("an audit lets exact pass, and sees a solver that stays where it was") {
    for (const RowUnit unit : {RowUnit::graph, RowUnit::pair}) {
      const UnitStore world(unit);
      const ModelRecord record = world.record();
      const TempDir folder;
      AuditOptions how;
      how.trials = 16;
      how.folder = folder.path();
      for (const CanaryRequests& requests : world.found()) {
        CAPTURE(requests.name);
        const Canary canary = world.released(requests);
        const AuditResult kept = audit(testing::honest_solver("exact"), record.options, canary, how);
        CHECK(kept.certified);
        CHECK_FALSE(kept.refuted());
        CHECK(audit(testing::made_by<StaysBefore>("exact"), record.options, canary, how).refuted());
      }
      const StoreReader live(world.store, ample_budget());
      const CanaryRequests many = steepest_rows(live, record, 8, ample_budget());
      CHECK(many.requests.size() == 8);
      const Canary canary = world.released(many);
      CHECK(canary.change.removed.size() >= 8);
      const AuditResult guessed = audit_in_one_run(testing::honest_solver("exact"), record.options, canary, how);
      CHECK_FALSE(guessed.refuted());
    }
  }

  TEST_CASE("what a model shows of removed graphs") {
    const UnitStore world(RowUnit::graph);
    world.keep_copy();
    const ModelRecord original = world.record();
    const CanaryRequests removals = steepest_of(world, original, 5);
    UnitStore::apply(world.store, removals.requests, true);
    const StoreReader before(world.copy, ample_budget()), present(world.store, ample_budget());
    const ModelRecord record = world.record();
    EfficacyTests tests(before, present, record.rows, 1000, 1);
    std::vector<NodeId> gone;
    for (const Request& request : removals.requests) gone.push_back(static_cast<NodeId>(request.u));
    std::sort(gone.begin(), gone.end());
    CHECK(tests.forgotten() == gone);
    tests.set_original(&original);
    const Efficacy found = tests.of(record);
    const auto units = row_units(before, record.rows), now = row_units(present, record.rows);
    std::vector<double> forgotten, others;
    double right = 0;
    for (const Prediction& one : predict(*units, record, gone)) forgotten.push_back(one.confidence);
    for (const Prediction& one : predict(*now, record, now->labelled(SplitName::test)))
      others.push_back(one.confidence);
    const std::vector<Prediction> said = predict(*units, record, gone);
    for (std::size_t i = 0; i < gone.size(); ++i)
      right += static_cast<std::int32_t>(said[i].predicted) == before.contents().graphs().label(gone[i]) ? 1 : 0;
    CHECK(*found.accuracy_forgotten == doctest::Approx(right / 5));
    CHECK(*found.attack_auc == doctest::Approx(plain_area(forgotten, others)));
    CHECK(found.presence_ratio.has_value());
    CHECK(TrendAttack(before, present, 100, 1).of(record, present).edges == 0);
  }

  TEST_CASE("what a model of links shows of removed edges") {
    const UnitStore world(RowUnit::pair);
    world.keep_copy();
    const ModelRecord original = world.record();
    const CanaryRequests removals = steepest_of(world, original, 9);
    UnitStore::apply(world.store, removals.requests, true);
    const StoreReader before(world.copy, ample_budget()), present(world.store, ample_budget());
    const ModelRecord record = world.record();
    const EfficacyTests tests(before, present, record.rows, 1000, 1);
    CHECK(tests.forgotten().size() == 9);
    CHECK(tests.vanished_classes() == 0);
    const Efficacy found = tests.of(record);
    std::vector<Edge> gone, test;
    for (const Request& one : removals.requests)
      gone.push_back({static_cast<NodeId>(one.u), static_cast<NodeId>(one.v)});
    const PairUnits units(present, record.rows);
    for (std::size_t i = 0; i < units.list(PairRole::test).size(); ++i)
      if (units.list(PairRole::test).is_edge(i)) test.push_back(units.list(PairRole::test).ends()[i]);
    // One against the rest in two classes: confidence grows with the score alone where margins are
    // opposite, which exact ones of two classes are.
    CHECK(*found.attack_auc ==
          doctest::Approx(plain_area(plain_scores(before, record, gone), plain_scores(present, record, test))));

    const TrendAttack attack(before, present, 1000, 1);
    CHECK(attack.removed().size() == 9);
    std::vector<Edge> removed, others;
    for (const auto& [u, v] : attack.removed()) removed.push_back({u, v});
    for (const auto& [u, v] : attack.others()) {
      others.push_back({u, v});
      CHECK_FALSE(before.contents().graph_of(u, v).has_edge(u, v));
    }
    const EdgeRecovery edges = attack.of(record, present);
    CHECK(edges.edges == 9);
    CHECK(*edges.auc ==
          doctest::Approx(plain_area(plain_scores(present, record, removed), plain_scores(present, record, others))));
    CHECK_FALSE(edges.likeness_auc.has_value());
  }
}

}  // namespace unweave
