// tests/algorithms/evaluation/trend_attack_test.cpp - removed edges, pairs beside them, and what
// predictions say of both.
#include "algorithms/evaluation/trend_attack.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "algorithms/learning/head.h"
#include "algorithms/live/store_reader.h"
#include "support/trained_store.h"

namespace unweave {
namespace {

using testing::ample_budget;
using testing::TrainedStore;

/// A store that lost edges, and a copy of it from before.
struct LosesEdges {
  TrainedStore world;
  std::filesystem::path copy = world.folder / "copy";
  std::set<NodePair> removed;

  explicit LosesEdges(std::size_t edges) {
    world.train("newton");
    std::filesystem::copy(world.store, copy, std::filesystem::copy_options::recursive);
    std::vector<Request> requests;
    {
      const StoreReader live = open(false);
      std::vector<NodeId> neighbours;
      for (NodeId u = 0; u < live.contents().num_nodes() && requests.size() < edges; ++u) {
        if (!live.embedding().is_target(u)) continue;
        live.contents().graph().neighbours(u, neighbours);
        for (const NodeId v : neighbours)
          if (v > u && live.embedding().is_target(v) && requests.size() < edges) {
            requests.push_back(
                {RequestKind::remove_edge, live.contents().order().user(u), live.contents().order().user(v)});
            removed.insert(std::minmax(live.contents().order().user(u), live.contents().order().user(v)));
            break;
          }
      }
    }
    requests.push_back({RequestKind::remove_node, 1, 0});  // its edges cannot be looked for: it has nothing left
    std::erase_if(removed, [](const NodePair& pair) { return pair.first == 1 || pair.second == 1; });
    world.stream(requests, {"newton"});
  }
  [[nodiscard]] StoreReader open(bool before) const { return {before ? copy : world.store, ample_budget()}; }
};

/// Probabilities of a node by plain loops.
std::vector<double> opinion_of(const LiveStore& store, const ModelRecord& record, NodeId user) {
  const NodeId node = store.contents().order().position(user);
  std::vector<double> margins(size_of(record.model.published.cols()));
  std::vector<float> row(size_of(record.model.published.rows()));
  store.embedding().rows(std::span(&node, 1), record.rows.weights, row.data());
  double square = 0;
  for (const float x : row) square += static_cast<double>(x) * x;
  const double scale = square > 1 ? 1 / std::sqrt(square) : 1;
  for (std::size_t c = 0; c < margins.size(); ++c)
    for (std::size_t f = 0; f < row.size(); ++f)
      margins[c] += scale * row[f] * record.model.published(index_of(f), index_of(c));
  probabilities_in_place(record.model.head, margins.data(), margins.size());
  return margins;
}

PairTraces plain_traces(const LiveStore& store, const ModelRecord& record, const NodePair& pair) {
  const auto most = [](const std::vector<double>& p) { return *std::max_element(p.begin(), p.end()); };
  PairTraces traces;
  const std::vector<double> a = opinion_of(store, record, pair.first), b = opinion_of(store, record, pair.second);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    ab += a[c] * b[c];
    aa += a[c] * a[c];
    bb += b[c] * b[c];
  }
  traces.likeness = ab / std::sqrt(aa * bb);
  for (const NodeId user : {pair.first, pair.second}) {
    std::vector<NodeId> neighbours;
    store.contents().graph().neighbours(store.contents().order().position(user), neighbours);
    std::erase_if(neighbours, [&](NodeId node) { return !store.embedding().is_target(node); });
    if (neighbours.empty()) continue;
    double sum = 0;
    for (const NodeId node : neighbours) sum += most(opinion_of(store, record, store.contents().order().user(node)));
    traces.dip += sum / static_cast<double>(neighbours.size()) - most(opinion_of(store, record, user));
  }
  return traces;
}

/// Share of pairs in order, ties one half.
double area(const std::vector<double>& first, const std::vector<double>& second) {
  double sum = 0;
  for (const double a : first)
    for (const double b : second) sum += a > b ? 1 : a == b ? 0.5 : 0;
  return sum / (static_cast<double>(first.size()) * static_cast<double>(second.size()));
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE(
      "removed edges are those that the copy has and the store has not; the other pairs are connected in neither") {
    const LosesEdges world(40);
    const StoreReader before = world.open(true), present = world.open(false);
    const TrendAttack attack(before, present, 1000, 1);
    std::set<NodePair> found;
    for (const auto& [u, v] : attack.removed()) found.insert(std::minmax(u, v));
    CHECK(found == world.removed);
    CHECK(attack.others().size() == found.size());
    for (const auto& [u, v] : attack.others())
      for (const LiveStore* store : {&before, &present}) {
        const NodeOrder& order = store->contents().order();
        CHECK(u != v);
        CHECK_FALSE(store->contents().graph().has_edge(order.position(u), order.position(v)));
      }
    const TrendAttack some(before, present, 10, 1), same(before, present, 10, 1), none(before, present, 0, 1);
    CHECK(some.removed().size() == 10);
    for (const auto& [u, v] : some.removed()) CHECK(world.removed.contains(std::minmax(u, v)));
    CHECK(some.removed() == same.removed());
    CHECK(some.others() == same.others());
    CHECK(none.removed().empty());
    const ModelRecord record = load_model(present.path(), "newton");
    CHECK_FALSE(none.of(record, present).auc.has_value());
    CHECK(none.of(record, present).edges == 0);
  }

  TEST_CASE("the attack on a store, against plain loops over all pairs") {
    const LosesEdges world(40);
    const StoreReader before = world.open(true), present = world.open(false);
    const TrendAttack attack(before, present, 1000, 1);
    const ModelRecord record = load_model(present.path(), "newton");
    const EdgeRecovery found = attack.of(record, present);
    std::vector<double> likeness[2], dips[2];
    for (const auto& pair : attack.removed()) {
      const PairTraces traces = plain_traces(present, record, pair);
      likeness[0].push_back(traces.likeness);
      dips[0].push_back(traces.dip);
    }
    for (const auto& pair : attack.others()) {
      const PairTraces traces = plain_traces(present, record, pair);
      likeness[1].push_back(traces.likeness);
      dips[1].push_back(traces.dip);
    }
    CHECK(found.edges == attack.removed().size());
    CHECK(*found.likeness_auc == doctest::Approx(area(likeness[0], likeness[1])));
    CHECK(*found.dip_auc == doctest::Approx(area(dips[0], dips[1])));
    CHECK(*found.auc > 0);
    CHECK(*found.auc < 1);
    CHECK(attack.of(load_model(before.path(), "newton"), before).auc.has_value());
  }

  TEST_CASE(
      "edges beside which confidence dips are recovered, by the dip where likeness says nothing; without a dip none are") {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    const auto pairs = [&](double likeness, double dip) {
      std::vector<PairTraces> out;
      for (int i = 0; i < 2000; ++i) out.push_back({likeness + normal(random), 1000 * (dip + normal(random))});
      return out;
    };
    const EdgeRecovery told = recover_edges(pairs(0, 2), pairs(0, 0));
    CHECK(*told.dip_auc > 0.9);
    CHECK(std::abs(*told.likeness_auc - 0.5) < 0.05);
    CHECK(*told.auc > 0.75);  // in units of their spreads both terms count alike, whatever their scales
    CHECK(*told.auc < *told.dip_auc);
    const EdgeRecovery both = recover_edges(pairs(1, 1), pairs(0, 0));
    CHECK(*both.auc > *both.likeness_auc + 0.03);
    CHECK(*both.auc > *both.dip_auc + 0.03);
    CHECK(std::abs(*recover_edges(pairs(0, 0), pairs(0, 0)).auc - 0.5) < 0.05);
    const std::vector<PairTraces> alike(3, {1, 1});
    CHECK(*recover_edges(alike, alike).auc == 0.5);
    CHECK_FALSE(recover_edges({}, {}).auc.has_value());
  }
}

}  // namespace unweave
