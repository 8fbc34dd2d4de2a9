// algorithms/live/request_draw.cpp - places drawn from a random order, and the nodes and edges that
// lie there.
#include "algorithms/live/request_draw.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "algorithms/live/live_store.h"
#include "algorithms/random/counter_random.h"
#include "algorithms/random/permutation.h"
#include "algorithms/updates/requests.h"
#include "engine/graph/row_mask.h"
#include "engine/resources/look_ahead.h"
#include "storage/io/error.h"
#include "storage/io/nearest_name.h"

namespace unweave {
namespace {

constexpr std::pair<std::string_view, DrawKind> kKinds[] = {{"graph", DrawKind::kGraph},
                                                            {"node", DrawKind::kNode},
                                                            {"feature", DrawKind::kFeature},
                                                            {"edge", DrawKind::kEdge},
                                                            {"vulnerable-edge", DrawKind::kVulnerableEdge},
                                                            {"adversarial-edge", DrawKind::kAdversarialEdge}};
constexpr std::uint64_t kTriesAnEdge = 1000;  ///< tries for an adversarial edge, before there are called too few

class Draw {
 public:
  Draw(const LiveStore& store, const DrawOptions& options)
      : contents_(store.contents()),
        graph_(contents_.graph()),
        options_(options),
        key_(random_key(options.seed, static_cast<std::uint64_t>(options.kind))) {}

  std::vector<Request> run() {
    switch (options_.kind) {
      case DrawKind::kNode:
        draw_nodes(RequestKind::remove_node);
        break;
      case DrawKind::kFeature:
        draw_nodes(RequestKind::remove_feature);
        break;
      case DrawKind::kEdge:
        draw_edges();
        break;
      case DrawKind::kVulnerableEdge:
        draw_vulnerable_edges();
        break;
      case DrawKind::kAdversarialEdge:
        draw_adversarial_edges();
        break;
      case DrawKind::kGraph:
        draw_graphs();
        break;
    }
    return std::move(requests_);
  }

 private:
  /// `remedy`: what to do beside drawing fewer.
  void require(std::uint64_t available, const std::string& what, const std::string& remedy = {}) const {
    if (available < options_.count)
      throw UsageError(std::to_string(options_.count) + " " + what + " are wanted, but there are " +
                       std::to_string(available) + remedy);
  }

  void add(RequestKind kind, NodeId node) { requests_.push_back({kind, contents_.order().user(node), 0}); }
  void add_edge(RequestKind kind, NodeId u, NodeId v) { requests_.push_back(edge_request(kind, u, v)); }

  /// Copies of two nodes, the second one by its id, that an edge of the drawn relation would join.
  [[nodiscard]] std::pair<NodeId, NodeId> ends(NodeId node, NodeId drawn, std::uint32_t relation) const {
    const NodeOrder& order = contents_.order();
    if (order.copies() == 1) return {node, drawn};
    const auto [from, to] = order.layers().copies_of(relation);
    return {order.position(order.user(node), from), order.position(drawn, to)};
  }

  /// Positions of the pool's nodes, sorted, none twice; those of `standard` with a label where no
  /// pool is given.
  [[nodiscard]] std::vector<NodeId> pool(const std::vector<NodeId>& standard) const {
    std::vector<NodeId> nodes;
    if (options_.pool) {
      for (const NodeId node : *options_.pool) nodes.push_back(contents_.order().position(node));
      std::sort(nodes.begin(), nodes.end());
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    } else {
      nodes = standard;
      std::erase_if(nodes, [&](NodeId node) { return contents_.label(node) == kNoLabel; });
    }
    return nodes;
  }

  [[nodiscard]] std::vector<NodeId> all_nodes() const {
    std::vector<NodeId> nodes(contents_.num_nodes());
    std::iota(nodes.begin(), nodes.end(), NodeId{0});
    if (contents_.order().copies() > 1)
      std::erase_if(nodes, [&](NodeId node) { return !contents_.order().is_first_copy(node); });
    return nodes;
  }

  /// An edge by the user's ids: an arc does not begin where arcs end, and copies name their
  /// relation.
  [[nodiscard]] Request edge_request(RequestKind kind, NodeId u, NodeId v) const {
    const NodeOrder& order = contents_.order();
    const Edge led = order.led({u, v});
    Request request{kind, order.user(led.u), order.user(led.v)};
    if (!order.layers().relations.empty()) request.relation = order.layers().layer_of(order.copy(u)) + 1;
    return request;
  }
  /// Whether edges at a node are those of users, and not those of a set of relations.
  [[nodiscard]] bool has_own_edges(NodeId node) const {
    return contents_.order().layers().is_given(contents_.order().copy(node));
  }

  void draw_nodes(RequestKind kind) {
    const std::vector<NodeId> nodes = pool(contents_.train());
    require(nodes.size(), options_.pool ? "nodes" : "training nodes",
            options_.pool ? "" : "; name others to draw from by " + option("nodes"));
    if (options_.count == 0) return;
    const Permutation order(nodes.size(), key_);
    for (std::uint64_t i = 0; i < options_.count; ++i) add(kind, nodes[static_cast<std::size_t>(order.at(i))]);
  }

  void draw_graphs() {
    if (options_.pool) throw UsageError(option("draw", "graph") + ": graphs are drawn, and the nodes given are none");
    const WholeGraphs& all = contents_.graphs();
    std::vector<NodeId> graphs = all.members(SplitName::train);
    std::erase_if(graphs, [&](NodeId graph) { return all.label(graph) == kNoLabel || all.size(graph) == 0; });
    require(graphs.size(), "graphs");
    if (options_.count == 0) return;
    const Permutation order(graphs.size(), key_);
    for (std::uint64_t i = 0; i < options_.count; ++i)
      requests_.push_back({RequestKind::remove_graph, graphs[static_cast<std::size_t>(order.at(i))], 0});
  }

  /// Calls use(u, v) for every edge of the pool, u < v, in their order; those that are held out of
  /// the graph come last.
  template <class Use>
  void for_edges(const RowMask* pool, const Use& use) const {
    for_edges(graph_, pool, use);
    if (contents_.held() != nullptr) for_edges(*contents_.held(), pool, use);
  }
  template <class Use>
  void for_edges(const Graph& graph, const RowMask* pool, const Use& use) const {
    Graph::BlockBuffer buffer;
    DecodedBlock block;
    for (std::size_t b = 0; b < graph.num_blocks(); ++b) {
      read_ahead_of(graph, b);
      graph.decode(b, buffer, block);
      unweave::for_edges(block, [&](NodeId u, NodeId v, std::uint32_t /*weight*/) {
        if ((pool == nullptr || pool->contains(u) || pool->contains(v)) && has_own_edges(u)) use(u, v);
      });
    }
  }

  void draw_edges() {
    std::optional<RowMask> mask;
    if (options_.pool) {
      mask.emplace(contents_.num_nodes());
      for (const NodeId node : contents_.order().with_copies(pool({}))) mask->insert(node);
    }
    const RowMask* const wanted = mask ? &*mask : nullptr;
    std::uint64_t edges = graph_.num_edges() + (contents_.held() != nullptr ? contents_.held()->num_edges() : 0);
    if (wanted != nullptr || !contents_.order().layers().subsets.empty()) {
      edges = 0;
      for_edges(wanted, [&](NodeId, NodeId) { ++edges; });
    }
    require(edges, "edges");
    if (options_.count == 0) return;
    // Where each drawn edge lies among all, and its place among the requests.
    const Permutation order(edges, key_);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (std::uint64_t i = 0; i < options_.count; ++i) places.emplace_back(order.at(i), i);
    std::sort(places.begin(), places.end());
    requests_.resize(places.size());
    std::uint64_t edge = 0;
    auto next = places.begin();
    for_edges(wanted, [&](NodeId u, NodeId v) {
      if (next == places.end() || next->first != edge++) return;
      requests_[static_cast<std::size_t>(next->second)] = edge_request(RequestKind::remove_edge, u, v);
      ++next;
    });
  }

  void draw_vulnerable_edges() {
    std::vector<NodeId> nodes = pool(contents_.test());
    std::erase_if(
        nodes, [&](NodeId node) { return edges_of(contents_, contents_.order().user(node)) >= options_.degree_below; });
    const Permutation order(std::max<std::size_t>(1, nodes.size()), key_);
    std::set<Edge> drawn;
    std::vector<NodeId> neighbours;
    for (std::size_t i = 0; i < nodes.size() && requests_.size() < options_.count; ++i) {
      const NodeId u = nodes[static_cast<std::size_t>(order.at(i))];
      const std::int32_t label = contents_.label(u);
      for (const NodeId one : contents_.order().with_copies({&u, 1})) {
        if (!has_own_edges(one)) continue;
        graph_.neighbours(one, neighbours);
        for (const NodeId v : neighbours) {
          if (label == kNoLabel || contents_.label(v) != label || requests_.size() == options_.count) continue;
          if (drawn.insert({std::min(one, v), std::max(one, v)}).second) add_edge(RequestKind::remove_edge, one, v);
        }
      }
    }
    require(requests_.size(), "vulnerable edges");
  }

  void draw_adversarial_edges() {
    const std::vector<NodeId> nodes = pool(all_nodes());
    std::set<Edge> drawn;
    std::uint64_t counter = 0;
    const auto below = [&](std::uint64_t bound) { return bits_below(random_bits(key_, counter++), bound); };
    for (std::uint64_t tries = 0; requests_.size() < options_.count; ++tries) {
      if (nodes.empty() || tries >= kTriesAnEdge * options_.count) require(requests_.size(), "adversarial edges");
      const NodeId first = nodes[static_cast<std::size_t>(below(nodes.size()))];
      const auto second = static_cast<NodeId>(below(contents_.order().users()));
      const std::size_t relations = contents_.order().layers().relations.size();
      const std::uint32_t relation = relations > 1 ? static_cast<std::uint32_t>(below(relations)) : 0;
      const auto [u, v] = ends(first, second, relation);
      const std::int32_t one = contents_.label(u), other = contents_.label(v);
      if (one == kNoLabel || other == kNoLabel || one == other || contents_.graph_of(u, v).has_edge(u, v)) continue;
      const NodeOrder& order = contents_.order();
      if (!order.layers().may_join(relation, order.types(), order.user(u), order.user(v))) continue;
      if (drawn.insert({std::min(u, v), std::max(u, v)}).second) add_edge(RequestKind::insert_edge, u, v);
    }
  }

  const Contents& contents_;
  const Graph& graph_;
  const DrawOptions& options_;
  std::uint64_t key_;
  std::vector<Request> requests_;
};

}  // namespace

DrawKind parse_draw(std::string_view name) {
  for (const auto& [known, kind] : kKinds)
    if (known == name) return kind;
  std::vector<std::string_view> names;
  for (const auto& [known, kind] : kKinds) names.push_back(known);
  throw UsageError(unknown_name("kind of request", name, names));
}

std::vector<Request> draw_requests(const LiveStore& store, const DrawOptions& options) {
  return Draw(store, options).run();
}

}  // namespace unweave
