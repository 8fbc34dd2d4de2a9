// algorithms/rows/pair_list.cpp - counts and lists the edges of a role, and draws negatives by
// keyed numbers.
#include "algorithms/rows/pair_list.h"

#include <algorithm>
#include <optional>

#include "engine/graph/contents.h"
#include "engine/graph/edge_pieces.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"
#include "storage/types/keyed_bits.h"

namespace unweave {
namespace {

/// What keyed numbers of a store's pairs are drawn for; 0 is the role of a pair.
enum Stream : std::uint64_t { kSource = 1, kNegatives = 2, kUniform = 5 };

constexpr std::uint64_t kCandidates = 16;  // that are tried before there is no such negative
constexpr std::size_t kPairsATask = 1024, kWordsATask = 64, kNodesAWord = 64;

std::uint64_t stream_of(Stream first, PairRole role) {
  return first + (role == PairRole::label ? 0 : role == PairRole::valid ? 1 : 2);
}

/// Which nodes are there: those with an edge of the graph or a feature that is not 0.
class LiveNodes {
 public:
  explicit LiveNodes(const Contents& contents) : words_((contents.num_nodes() + kNodesAWord - 1) / kNodesAWord) {
    const WatchedStep watched("nodes that are there", words_.size(), "words");
    parallel_ranges(0, words_.size(), kWordsATask, [&](std::size_t first, std::size_t last) {
      std::vector<float> scratch;
      for (std::size_t word = first; word < last; ++word)
        for (std::size_t bit = 0; bit < kNodesAWord; ++bit) {
          const auto node = static_cast<NodeId>(word * kNodesAWord + bit);
          if (node >= contents.num_nodes()) break;
          if (contents.graph().degree(node) > 1 || !contents.features().is_zero(node, scratch))
            words_[word] |= std::uint64_t{1} << bit;
        }
      watched.advance(last - first);
    });
  }
  [[nodiscard]] static std::uint64_t bytes(NodeId nodes) noexcept { return std::uint64_t{nodes} / 8 + 8; }
  [[nodiscard]] bool contains(NodeId node) const noexcept {
    return ((words_[node / kNodesAWord] >> (node % kNodesAWord)) & 1U) != 0;
  }

 private:
  std::vector<std::uint64_t> words_;
};

constexpr Edge kNone{kNoNode, kNoNode};

/// Draws negatives. Any number of threads.
class Negatives {
 public:
  Negatives(const Contents& contents, PairRole role, const LiveNodes& live)
      : contents_(contents),
        order_(contents.order()),
        rules_(*contents.rules().pairs),
        role_(role),
        live_(live),
        shift_(64 - id_bits(order_.users())),
        source_key_(random_key(rules_.key, kSource)),
        key_(random_key(rules_.key, stream_of(kNegatives, role))),
        uniform_key_(random_key(rules_.key, stream_of(kUniform, role))) {}

  /// The negatives of an edge, which keep one of its ends: the end that stands first, where edges
  /// have no directions, and else its own place. kNone where no candidate will do.
  void negatives_of(Edge edge, std::uint32_t count, Edge* out) const {
    NodeId first = order_.user(edge.u), second = order_.user(edge.v);
    if (!rules_.directed && first > second) std::swap(first, second);
    const std::uint64_t number = rules_.number(first, second), key = random_key(key_, number);
    const bool keeps_first = (random_key(source_key_, number) & 1U) == 0;
    const NodeId kept = keeps_first ? first : second;
    for (std::uint64_t j = 0; j < count; ++j) {
      out[j] = kNone;
      for (std::uint64_t t = 0; t < kCandidates && out[j] == kNone; ++t) {
        const std::optional<NodeId> other = live_node(random_key(key, kCandidates * j + t));
        if (other) out[j] = unless_joined(keeps_first || !rules_.directed ? Edge{kept, *other} : Edge{*other, kept});
      }
    }
  }

  /// Uniform negative i; kNone where no candidate will do.
  [[nodiscard]] Edge uniform(std::uint64_t i) const {
    const std::uint64_t key = random_key(uniform_key_, i);
    for (std::uint64_t t = 0; t < kCandidates; ++t) {
      const std::optional<NodeId> u = live_node(random_key(key, 2 * t)), v = live_node(random_key(key, 2 * t + 1));
      const Edge pair = u && v ? unless_joined({*u, *v}) : kNone;
      if (pair != kNone) return pair;
    }
    return kNone;
  }

 private:
  /// The user's id of a node that has something in any of its copies.
  [[nodiscard]] std::optional<NodeId> live_node(std::uint64_t bits) const {
    const std::uint64_t drawn = bits >> shift_;
    if (drawn >= order_.users()) return std::nullopt;
    const auto user = static_cast<NodeId>(drawn);
    for (std::uint32_t copy = 0; copy < order_.copies(); ++copy)
      if (live_.contains(order_.position(user, copy))) return user;
    return std::nullopt;
  }

  /// The positions of a pair of users' ids, or kNone where both are one node or an edge joins them
  /// that counts. Edges that are held for validation or test must not reach what models learn from.
  [[nodiscard]] Edge unless_joined(Edge users) const {
    if (users.u == users.v) return kNone;
    const Edge pair = order_.ends(users.u, users.v);
    if (role_ == PairRole::label) {
      const PairRole role = contents_.role(pair.u, pair.v);
      if (role == PairRole::valid || role == PairRole::test) return pair;
    }
    return contents_.graph_of(pair.u, pair.v).has_edge(pair.u, pair.v) ? kNone : pair;
  }

  const Contents& contents_;
  const NodeOrder& order_;
  const PairRules& rules_;
  PairRole role_;
  const LiveNodes& live_;
  unsigned shift_;
  std::uint64_t source_key_, key_, uniform_key_;
};

/// Calls use(edge) for all edges of a role, in the order of the store, with the end first at which
/// they begin.
template <class Use>
void for_edges_of(const Contents& contents, PairRole role, const Use& use) {
  const Graph& graph = contents.rules().pairs->holds(role) ? *contents.held() : contents.graph();
  for_edge_pieces(
      graph,
      [&](EdgePiece& piece) {
        std::erase_if(piece.edges, [&](const Edge& edge) { return contents.role(edge.u, edge.v) != role; });
      },
      [&](const EdgePiece& piece) {
        for (const Edge& edge : piece.edges) use(contents.order().led(edge));
      });
}

}  // namespace

PairList::PairList(const Contents& contents, PairRole role, MemoryBudget& budget) {
  if (!contents.rules().pairs)
    throw UsageError("the store predicts no links: run " + operation("import") + " with " + option("pairs") +
                     " to build it again");
  const PairRules& rules = *contents.rules().pairs;
  for_edges_of(contents, role, [&](const Edge&) { ++edges_; });
  const std::uint64_t others = std::uint64_t{edges_} * rules.negatives + rules.uniform;
  memory_ = budget.reserve((edges_ + others) * sizeof(Edge) + (edges_ + others) / 8 + 16, "pairs of nodes");
  const Reservation work =
      budget.reserve(LiveNodes::bytes(contents.num_nodes()) + (edges_ + others) * sizeof(Edge), "drawing of negatives");
  const LiveNodes live(contents);
  const Negatives negatives(contents, role, live);
  std::vector<Edge> edges;
  edges.reserve(edges_);
  for_edges_of(contents, role, [&](const Edge& edge) { edges.push_back(edge); });
  std::vector<Edge> drawn(edges_ * rules.negatives);
  const WatchedStep watched("negatives", edges_, "pairs");
  parallel_ranges(0, edges_, kPairsATask, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      negatives.negatives_of(edges[i], rules.negatives, drawn.data() + i * rules.negatives);
    watched.advance(last - first);
  });
  ends_.reserve(edges_ + others);
  is_edge_.reserve(edges_ + others);
  const auto add = [&](Edge ends, bool is_edge) {
    ends_.push_back(ends);
    is_edge_.push_back(is_edge);
  };
  for (std::size_t i = 0; i < edges_; ++i) {
    add(edges[i], true);
    for (std::size_t j = i * rules.negatives; j < (i + 1) * rules.negatives; ++j)
      if (drawn[j] != kNone) add(drawn[j], false);
  }
  edges = std::vector<Edge>(rules.uniform);
  parallel_ranges(0, edges.size(), kPairsATask, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) edges[i] = negatives.uniform(i);
  });
  for (const Edge& pair : edges)
    if (pair != kNone) add(pair, false);
}

}  // namespace unweave
