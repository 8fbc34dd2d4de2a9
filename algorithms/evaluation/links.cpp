// algorithms/evaluation/links.cpp - scores of pairs by chunks, the best of each node, and ranks.
#include "algorithms/evaluation/links.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/evaluation/link_metrics.h"
#include "algorithms/learning/head.h"
#include "algorithms/learning/network_pass.h"
#include "algorithms/live/live_store.h"
#include "algorithms/updates/requests.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kQueries = 64;  // that one pass over the nodes answers
constexpr std::size_t kMostTop = 1'000'000;

/// What is ranked: the margin of an edge, of classes that share a loss less that of none.
double score_of(const Model& model, const double* margins) {
  const double score = couples_classes(model.head) ? margins[kEdgeClass] - margins[kNoEdgeClass] : margins[kEdgeClass];
  return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
}

/// Scores pairs of positions, a chunk at a time.
class LinkScores {
 public:
  LinkScores(const PairUnits& units, const ModelRecord& record)
      : units_(units), record_(record), chunk_(record.model, units.store().budget()) {
    static_cast<void>(units.node_rows());
  }

  /// Calls use(first, margins) for consecutive pairs, kPairClasses margins each.
  template <class Use>
  void margins_of(std::span<const Edge> ends, const Use& use) {
    for (std::size_t first = 0; first < ends.size(); first += chunk_.rows) {
      const std::span<const Edge> some = ends.subspan(first, std::min(chunk_.rows, ends.size() - first));
      margins_.resize(some.size() * kPairClasses);
      score_by(
          record_, some.size(), units_.store().budget(),
          [&](std::size_t from, std::size_t count, float* out) { units_.rows_of(some.subspan(from, count), out); },
          margins_.data());
      use(first, std::span<double>(margins_));
    }
  }
  /// One score a pair.
  void scores_of(std::span<const Edge> ends, double* out) {
    margins_of(ends, [&](std::size_t first, std::span<const double> margins) {
      for (std::size_t i = 0; i < margins.size() / kPairClasses; ++i)
        out[first + i] = score_of(record_.model, &margins[i * kPairClasses]);
    });
  }

 private:
  const PairUnits& units_;
  const ModelRecord& record_;
  ScoredChunk chunk_;
  std::vector<double> margins_;
};

/// What is said of a pair; its margins become probabilities.
ScoredLink link_of(const Model& model, std::uint64_t u, std::uint64_t v, double* margins) {
  ScoredLink link{u, v, score_of(model, margins), 0};
  probabilities_in_place(model.head, margins, kPairClasses);
  link.probability = margins[kEdgeClass];
  return link;
}

/// A node that may be linked to, by its id.
struct Candidate {
  double score = 0;
  NodeId user = 0;
  /// Whether it comes before another one.
  bool operator<(const Candidate& other) const noexcept {
    return score != other.score ? score > other.score : user < other.user;
  }
};

/// The best candidates of one node.
class BestLinks {
 public:
  BestLinks(const Contents& contents, NodeId node, std::size_t top) : contents_(contents), node_(node), top_(top) {}

  void take(NodeId other, double score) {
    const Candidate candidate{score, contents_.order().user(other)};
    if (heap_.size() == top_ && !(candidate < heap_.front())) return;
    if (candidate.user == contents_.order().user(node_)) return;
    if (contents_.graph_of(node_, other).has_edge(node_, other)) return;
    if (edges_of(contents_, candidate.user) == 0 && contents_.features().is_zero(other, scratch_)) return;
    if (heap_.size() == top_) {
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    }
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end());
  }
  [[nodiscard]] NodeId node() const noexcept { return node_; }
  /// The best first.
  [[nodiscard]] std::vector<Candidate> sorted() {
    std::sort_heap(heap_.begin(), heap_.end());
    return heap_;
  }

 private:
  const Contents& contents_;
  NodeId node_;
  std::size_t top_;
  std::vector<Candidate> heap_;  ///< the worst in front
  std::vector<float> scratch_;
};

/// One pass over all nodes.
void find_best(const PairUnits& units, LinkScores& scores, std::vector<BestLinks>& queries) {
  constexpr NodeId kNodesAtOnce = 1024;
  const Contents& contents = units.store().contents();
  const NodeOrder& order = contents.order();
  std::vector<NodeId> targets;
  std::vector<Edge> ends;
  std::vector<double> values;
  const WatchedStep watched("links", contents.num_nodes(), "nodes");
  for (NodeId first = 0; first < contents.num_nodes();) {
    const NodeId last = first + std::min(kNodesAtOnce, contents.num_nodes() - first);
    targets.clear();
    for (NodeId node = first; node < last; ++node)
      if (order.has_ends(node) == order.layers().directed) targets.push_back(node);
    ends.clear();
    for (const BestLinks& query : queries)
      for (const NodeId node : targets) ends.push_back({query.node(), node});
    values.resize(ends.size());
    scores.scores_of(ends, values.data());
    auto value = values.begin();
    for (BestLinks& query : queries)
      for (const NodeId node : targets) query.take(node, *value++);
    watched.advance(last - first);
    first = last;
  }
}

}  // namespace

void require_links(const ModelRecord& record) {
  if (record.rows.pair) return;
  throw UsageError("the model " + name_of(record) + " has rows of " + std::string(name_of(record.rows.unit())) +
                   "s and says nothing of pairs of nodes; train one with " + option("pair") +
                   ", or name another one with " + option("name"));
}

void score_links(const LiveStore& store, const ModelRecord& record, std::span<const Edge> pairs, const LinkSink& sink) {
  require_links(record);
  const PairUnits units(store, record.rows);
  LinkScores scores(units, record);
  const NodeOrder& order = store.contents().order();
  std::vector<Edge> ends(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) ends[i] = order.ends(pairs[i].u, pairs[i].v);
  std::vector<ScoredLink> links;
  scores.margins_of(ends, [&](std::size_t first, std::span<double> margins) {
    links.clear();
    for (std::size_t i = 0; i < margins.size() / kPairClasses; ++i)
      links.push_back(link_of(record.model, pairs[first + i].u, pairs[first + i].v, &margins[i * kPairClasses]));
    sink(links);
  });
}

void best_links(const LiveStore& store, const ModelRecord& record, std::span<const NodeId> nodes, std::size_t top,
                const LinkSink& sink) {
  require_links(record);
  if (top == 0 || top > kMostTop)
    throw UsageError(option("top", std::to_string(top)) + ": from 1 to " + std::to_string(kMostTop));
  const PairUnits units(store, record.rows);
  LinkScores scores(units, record);
  const NodeOrder& order = store.contents().order();
  const std::uint64_t bytes = std::min<std::uint64_t>(top, order.users()) * sizeof(Candidate) + 1024 * sizeof(Edge) * 2;
  const std::uint64_t room = memory_shares::kChunk.of(store.budget());
  const auto at_once = static_cast<std::size_t>(std::clamp<std::uint64_t>(room / bytes, 1, kQueries));
  const Reservation memory = store.budget().reserve(at_once * bytes, "the best links of some nodes");
  for (std::size_t first = 0; first < nodes.size(); first += at_once) {
    const auto some = nodes.subspan(first, std::min(at_once, nodes.size() - first));
    std::vector<BestLinks> queries;
    for (const NodeId node : some) queries.emplace_back(store.contents(), order.position(node), top);
    find_best(units, scores, queries);
    for (BestLinks& query : queries) {
      const std::vector<Candidate> best = query.sorted();
      std::vector<Edge> ends;
      ends.reserve(best.size());
      for (const Candidate& one : best) ends.push_back(order.ends(order.user(query.node()), one.user));
      std::vector<ScoredLink> links;
      scores.margins_of(ends, [&](std::size_t at, std::span<double> margins) {
        for (std::size_t i = 0; i < margins.size() / kPairClasses; ++i)
          links.push_back(
              link_of(record.model, order.user(query.node()), best[at + i].user, &margins[i * kPairClasses]));
      });
      sink(links);
    }
  }
}

LinkFigures link_figures(const PairUnits& units, const ModelRecord& record, PairRole role,
                         const std::vector<Edge>* given) {
  require_links(record);
  const PairList& list = units.list(role);
  const NodeOrder& order = units.store().contents().order();
  const bool draws = given == nullptr;
  const std::size_t count = list.size() + (draws ? 0 : given->size());
  const Reservation memory = units.store().budget().reserve(3 * count * sizeof(double), "scores of pairs");
  LinkScores scores(units, record);
  std::vector<double> all(list.size());
  scores.scores_of(list.ends(), all.data());
  std::vector<double> edges, others;
  ReciprocalRanks ranks;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    while (end < all.size() && !list.is_edge(end)) ++end;
    if (list.is_edge(i)) {
      edges.push_back(all[i]);
      if (end > i + 1) ranks.add(all[i], std::span(all).subspan(i + 1, end - i - 1));
    }
    if (draws)
      others.insert(others.end(), all.begin() + static_cast<std::ptrdiff_t>(list.is_edge(i) ? i + 1 : i),
                    all.begin() + static_cast<std::ptrdiff_t>(end));
    i = end;
  }
  if (!draws) {
    std::vector<Edge> ends;
    for (const Edge& pair : *given) ends.push_back(order.ends(pair.u, pair.v));
    others.resize(ends.size());
    scores.scores_of(ends, others.data());
  }
  return figures_of(edges, others,
                    draws && units.store().contents().rules().pairs->uniform == 0 ? ranks.mean() : std::nullopt);
}

}  // namespace unweave
