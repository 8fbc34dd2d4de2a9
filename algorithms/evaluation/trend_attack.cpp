// algorithms/evaluation/trend_attack.cpp - pairs of nodes, what a model says of them and of their
// neighbours, and the scores.
#include "algorithms/evaluation/trend_attack.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/evaluation/links.h"
#include "algorithms/evaluation/membership.h"
#include "algorithms/learning/head.h"
#include "algorithms/random/counter_random.h"

namespace unweave {
namespace {

constexpr std::size_t kMostNeighbours = 64;
constexpr std::uint64_t kTriesOfPair = 100;
enum Draw : std::uint64_t { kRemovedEdges = 11, kOtherPairs = 12 };

/// Positions in `present` of nodes of `before` that have a row in both, and features or a label
/// still; else kNoNode.
std::vector<NodeId> positions_of_present(const LiveStore& before, const LiveStore& present) {
  const Contents &old = before.contents(), &now = present.contents();
  std::vector<NodeId> positions(old.num_nodes(), kNoNode);
  for (NodeId node = 0; node < old.num_nodes(); ++node) {
    if (!before.embedding().is_target(node)) continue;
    const NodeId at = now.order().place(old.order().number(node));
    if (present.embedding().is_target(at) && !now.is_blank(at)) positions[node] = at;
  }
  return positions;
}

/// Whether copies of two nodes, by their ids, have an edge.
bool are_joined(const Contents& contents, NodeId one, NodeId other) {
  const NodeOrder& order = contents.order();
  for (std::uint32_t copy = 0; copy < order.copies(); ++copy) {
    const auto [from, to] = order.layers().copies_of(order.layers().layer_of(copy));
    const NodeId u = order.position(one, copy), v = order.position(other, copy == from ? to : from);
    if (contents.graph_of(u, v).has_edge(u, v)) return true;
  }
  return false;
}

/// Keeps each of a sequence of items with the same chance, `most` of them (Vitter's algorithm R).
class Reservoir {
 public:
  Reservoir(std::size_t most, std::uint64_t key) : most_(most), key_(key) {}
  void offer(const NodePair& pair) {
    if (kept_.size() < most_) {
      kept_.push_back(pair);
    } else if (const std::uint64_t at = bits_below(random_bits(key_, seen_), seen_ + 1); at < most_) {
      kept_[static_cast<std::size_t>(at)] = pair;
    }
    ++seen_;
  }
  [[nodiscard]] std::vector<NodePair> take() { return std::move(kept_); }

 private:
  std::size_t most_;
  std::uint64_t key_, seen_ = 0;
  std::vector<NodePair> kept_;
};

/// What a model says of nodes.
struct Opinions {
  std::vector<NodeId> nodes;          ///< ascending ids of the user
  std::vector<double> probabilities;  ///< nodes x classes
  std::size_t classes = 0;

  [[nodiscard]] std::span<const double> of(NodeId user) const {
    const auto at = static_cast<std::size_t>(std::lower_bound(nodes.begin(), nodes.end(), user) - nodes.begin());
    return std::span(probabilities).subspan(at * classes, classes);
  }
};

double confidence_in(std::span<const double> probabilities) {
  return *std::max_element(probabilities.begin(), probabilities.end());
}

double cosine_of(std::span<const double> a, std::span<const double> b) {
  double product = 0, first = 0, second = 0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    product += a[c] * b[c];
    first += a[c] * a[c];
    second += b[c] * b[c];
  }
  return first > 0 && second > 0 ? product / std::sqrt(first * second) : 0;
}

/// Mean and standard deviation of one term over the pairs of both kinds.
struct Spread {
  double mean = 0, deviation = 0;
  [[nodiscard]] double units(double value) const { return deviation > 0 ? (value - mean) / deviation : 0; }
};

Spread spread_of(const std::vector<PairTraces>& a, const std::vector<PairTraces>& b, double PairTraces::*term) {
  const double count = static_cast<double>(a.size() + b.size());
  Spread spread;
  for (const auto* pairs : {&a, &b})
    for (const PairTraces& pair : *pairs) spread.mean += pair.*term / count;
  double square = 0;
  for (const auto* pairs : {&a, &b})
    for (const PairTraces& pair : *pairs) square += std::pow(pair.*term - spread.mean, 2) / count;
  spread.deviation = std::sqrt(square);
  return spread;
}

}  // namespace

TrendAttack::TrendAttack(const LiveStore& before, const LiveStore& present, std::size_t most, std::uint64_t seed)
    : present_(present) {
  if (most == 0) return;
  const std::vector<NodeId> positions = positions_of_present(before, present);
  const Graph &old = before.contents().graph(), &now = present.contents().graph();
  const NodeOrder& order = before.contents().order();
  Reservoir removed(most, random_key(seed, kRemovedEdges));
  std::vector<NodeId> there, neighbours;
  for (NodeId u = 0; u < old.num_nodes(); ++u) {
    if (positions[u] == kNoNode || !order.layers().is_given(order.copy(u)))
      continue;  // edges of sets are those of relations
    there.push_back(u);
    old.neighbours(u, neighbours);
    neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());  // whatever they weigh
    for (const NodeId v : neighbours)
      if (v > u && positions[v] != kNoNode && !now.has_edge(positions[u], positions[v])) {
        const Edge led = order.led({u, v});
        removed.offer({order.user(led.u), order.user(led.v)});
      }
  }
  removed_ = removed.take();

  const std::uint64_t key = random_key(seed, kOtherPairs);
  const std::uint64_t tries = removed_.size() * kTriesOfPair;
  for (std::uint64_t t = 0; t < tries && others_.size() < removed_.size(); ++t) {
    const auto draw = [&](std::uint64_t which) {
      return there[static_cast<std::size_t>(bits_below(random_bits(key, 2 * t + which), there.size()))];
    };
    const NodeId u = order.user(draw(0)), v = order.user(draw(1));
    if (u == v || are_joined(before.contents(), u, v) || are_joined(present.contents(), u, v)) continue;
    others_.push_back({u, v});
  }
}

std::vector<NodeId> TrendAttack::neighbours_of(NodeId user) const {
  const Contents& contents = present_.contents();
  std::vector<NodeId> all, kept;
  for (std::uint32_t copy = 0; copy < contents.order().copies(); ++copy) {
    std::vector<NodeId> some;
    contents.graph().neighbours(contents.order().position(user, copy), some);
    for (const NodeId one : some) all.push_back(contents.order().position(contents.order().user(one)));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase_if(all, [&](NodeId node) { return !present_.embedding().is_target(node); });
  const std::size_t stride = (all.size() + kMostNeighbours - 1) / kMostNeighbours;
  for (std::size_t i = 0; i < all.size(); i += stride) kept.push_back(contents.order().user(all[i]));
  return kept;
}

EdgeRecovery TrendAttack::by_score(const ModelRecord& model, const LiveStore& rows) const {
  const auto scores = [&](const std::vector<NodePair>& pairs) {
    std::vector<Edge> ends;
    ends.reserve(pairs.size());
    for (const auto& [u, v] : pairs) ends.push_back({u, v});
    std::vector<double> all;
    score_links(rows, model, ends, [&](std::span<const ScoredLink> links) {
      for (const ScoredLink& link : links) all.push_back(link.score);
    });
    return all;
  };
  EdgeRecovery recovery;
  recovery.edges = removed_.size();
  recovery.auc = area_under_curve(scores(removed_), scores(others_));
  return recovery;
}

EdgeRecovery TrendAttack::of(const ModelRecord& model, const LiveStore& rows) const {
  if (model.rows.unit() == RowUnit::graph) return {};
  if (model.rows.unit() == RowUnit::pair) return by_score(model, rows);
  std::vector<NodeId> ends;
  for (const auto* pairs : {&removed_, &others_})
    for (const auto& [u, v] : *pairs) ends.insert(ends.end(), {u, v});
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  const std::size_t classes = shape_of(model.model).classes;
  // One node after the other asks for its neighbours, so that hubs cost no memory.
  const Reservation memory = rows.budget().reserve(
      ends.size() * (classes * sizeof(double) + 64) + kMostNeighbours * classes * sizeof(double), "an attack on edges");
  const std::unique_ptr<const RowUnits> units = row_units(rows, model.rows);
  const auto ask = [&](const std::vector<NodeId>& users, double* out) {
    std::vector<NodeId> positions;
    positions.reserve(users.size());
    for (const NodeId user : users) positions.push_back(rows.contents().order().position(user));
    score_keys(*units, model, positions, out);
    for (std::size_t i = 0; i < users.size(); ++i) probabilities_in_place(model.model.head, out + i * classes, classes);
  };
  Opinions opinions{ends, std::vector<double>(ends.size() * classes), classes};
  ask(ends, opinions.probabilities.data());
  std::unordered_map<NodeId, double> dips;
  std::vector<double> nearby(kMostNeighbours * classes);
  for (const NodeId user : ends) {
    std::vector<NodeId> neighbours = neighbours_of(user);
    std::erase_if(neighbours,
                  [&](NodeId other) { return !rows.embedding().is_target(rows.contents().order().position(other)); });
    if (neighbours.empty()) continue;  // nobody to compare it with
    ask(neighbours, nearby.data());
    double sum = 0;
    for (std::size_t i = 0; i < neighbours.size(); ++i)
      sum += confidence_in(std::span(nearby).subspan(i * classes, classes));
    dips[user] = sum / static_cast<double>(neighbours.size()) - confidence_in(opinions.of(user));
  }
  const auto traces = [&](const std::vector<NodePair>& pairs) {
    std::vector<PairTraces> out;
    out.reserve(pairs.size());
    for (const auto& [u, v] : pairs) out.push_back({cosine_of(opinions.of(u), opinions.of(v)), dips[u] + dips[v]});
    return out;
  };
  return recover_edges(traces(removed_), traces(others_));
}

EdgeRecovery recover_edges(const std::vector<PairTraces>& removed, const std::vector<PairTraces>& others) {
  const Spread likeness = spread_of(removed, others, &PairTraces::likeness);
  const Spread dip = spread_of(removed, others, &PairTraces::dip);
  const auto area = [&](const auto& score) {
    std::vector<double> in, out;
    for (const PairTraces& pair : removed) in.push_back(score(pair));
    for (const PairTraces& pair : others) out.push_back(score(pair));
    return area_under_curve(in, out);
  };
  EdgeRecovery recovery;
  recovery.edges = removed.size();
  recovery.auc = area([&](const PairTraces& pair) { return likeness.units(pair.likeness) + dip.units(pair.dip); });
  recovery.likeness_auc = area([](const PairTraces& pair) { return pair.likeness; });
  recovery.dip_auc = area([](const PairTraces& pair) { return pair.dip; });
  return recovery;
}

}  // namespace unweave
