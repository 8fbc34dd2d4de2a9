// algorithms/updates/requests.cpp - decides requests one by one over a preview of the contents, and applies changes.
#include "algorithms/updates/requests.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "engine/graph/contents.h"
#include "engine/resources/look_ahead.h"

namespace unweave {
namespace {

/// The contents as they would be after the requests seen so far.
class Preview {
 public:
  explicit Preview(const Contents& contents) : contents_(contents) {}

  /// Where the node with a user's id stands; none when there is no such node.
  [[nodiscard]] std::optional<NodeId> position(std::uint64_t user) const {
    if (user >= contents_.num_nodes()) return std::nullopt;
    return contents_.order().position(static_cast<NodeId>(user));
  }

  bool has_edge(NodeId u, NodeId v) {
    const auto it = edges_.find(key(u, v));
    return it != edges_.end() ? it->second.now : contents_.graph().has_edge(u, v);
  }
  void set_edge(NodeId u, NodeId v, bool now) {
    const auto [it, fresh] = edges_.try_emplace(key(u, v));
    if (fresh) {
      it->second.before = contents_.graph().has_edge(u, v);
      touched_[u].insert(v);
      touched_[v].insert(u);
    }
    it->second.now = now;
  }
  std::vector<NodeId> neighbours(NodeId node) {
    std::vector<NodeId> list;
    contents_.graph().neighbours(node, list);
    const auto it = touched_.find(node);
    if (it == touched_.end()) return list;
    std::erase_if(list, [&](NodeId other) { return it->second.contains(other); });
    for (const NodeId other : it->second)
      if (edges_.find(key(node, other))->second.now) list.push_back(other);
    return list;
  }
  /// Whether an earlier request has set the edge, or cleared the node.
  [[nodiscard]] bool has_set(NodeId u, NodeId v) const { return edges_.contains(key(u, v)); }
  [[nodiscard]] bool has_cleared(NodeId node) const { return cleared_.contains(node); }
  [[nodiscard]] bool is_blank(NodeId node) const { return has_cleared(node) || contents_.is_blank(node); }
  /// Whether it has nothing but a name, which a removal takes from it.
  [[nodiscard]] bool has_name(NodeId node) const { return !has_cleared(node) && !contents_.name(node).empty(); }
  void clear(NodeId node) { cleared_.insert(node); }

  /// Nodes that differ from the contents, sorted.
  [[nodiscard]] std::vector<NodeChange> net() const {
    std::map<NodeId, NodeChange> nodes;
    for (const auto& [edge, state] : edges_) {
      if (state.before == state.now) continue;
      (state.now ? nodes[edge.u].inserted : nodes[edge.u].removed).push_back(edge.v);
      (state.now ? nodes[edge.v].inserted : nodes[edge.v].removed).push_back(edge.u);
    }
    for (const NodeId node : cleared_) nodes[node].cleared = true;
    std::vector<NodeChange> result;
    for (auto& [node, change] : nodes) {
      change.node = node;
      std::sort(change.removed.begin(), change.removed.end());
      std::sort(change.inserted.begin(), change.inserted.end());
      result.push_back(std::move(change));
    }
    return result;
  }

 private:
  struct State {
    bool before = false;
    bool now = false;
  };
  static Edge key(NodeId u, NodeId v) { return {std::min(u, v), std::max(u, v)}; }

  const Contents& contents_;
  std::map<Edge, State> edges_;
  std::unordered_map<NodeId, std::set<NodeId>> touched_;
  std::unordered_set<NodeId> cleared_;
};

/// Applies one request to the preview, unless it would change nothing.
RequestStatus apply(Preview& preview, const Request& request, BatchChanges& changes) {
  const std::optional<NodeId> first = preview.position(request.u);
  if (!first) return RequestStatus::id_outside;
  const NodeId u = *first;
  switch (request.kind) {
    case RequestKind::remove_edge:
    case RequestKind::insert_edge: {
      const std::optional<NodeId> second = preview.position(request.v);
      if (!second) return RequestStatus::id_outside;
      if (*second == u) return RequestStatus::self_loop;
      const NodeId v = *second;
      const bool insert = request.kind == RequestKind::insert_edge;
      if (preview.has_edge(u, v) == insert) {
        if (preview.has_set(u, v)) return RequestStatus::repeated;
        return insert ? RequestStatus::present_edge : RequestStatus::absent_edge;
      }
      preview.set_edge(u, v, insert);
      ++(insert ? changes.edges_inserted : changes.edges_removed);
      return RequestStatus::applied;
    }
    case RequestKind::remove_node: {
      const std::vector<NodeId> neighbours = preview.neighbours(u);
      if (neighbours.empty() && preview.is_blank(u) && !preview.has_name(u))
        return preview.has_cleared(u) ? RequestStatus::repeated : RequestStatus::empty_node;
      for (const NodeId v : neighbours) preview.set_edge(u, v, false);
      changes.edges_removed += neighbours.size();
      ++changes.nodes_removed;
      preview.clear(u);
      changes.forced.push_back(u);
      return RequestStatus::applied;
    }
    case RequestKind::remove_feature:
      if (preview.is_blank(u)) return preview.has_cleared(u) ? RequestStatus::repeated : RequestStatus::no_features;
      ++changes.features_removed;
      preview.clear(u);
      changes.forced.push_back(u);
      return RequestStatus::applied;
  }
  throw std::logic_error("a request of no kind");
}

}  // namespace

BatchChanges resolve_batch(const Contents& contents, std::span<const Request> requests,
                           const std::vector<bool>& known) {
  BatchChanges changes;
  Preview preview(contents);
  LookAhead ahead(0, requests.size(), [&](std::size_t i) {
    const Request& request = requests[i];
    const bool is_edge = request.kind == RequestKind::remove_edge || request.kind == RequestKind::insert_edge;
    if (const auto u = preview.position(request.u)) contents.graph().read_ahead(*u);
    if (!is_edge) return;  // in other requests v is 0, which names nobody
    if (const auto v = preview.position(request.v)) contents.graph().read_ahead(*v);
  });
  changes.statuses.reserve(requests.size());
  for (const Request& request : requests) {
    ahead.at(changes.requests);
    const bool is_known = !known.empty() && known[changes.requests];
    changes.statuses.push_back(is_known ? RequestStatus::known_id : apply(preview, request, changes));
    ++(changes.statuses.back() == RequestStatus::applied ? changes.applied : changes.rejected);
    ++changes.requests;
  }
  changes.nodes = preview.net();
  std::sort(changes.forced.begin(), changes.forced.end());
  changes.forced.erase(std::unique(changes.forced.begin(), changes.forced.end()), changes.forced.end());
  return changes;
}

void apply_changes(Contents& contents, const BatchChanges& changes) {
  std::vector<NodeId> cleared;
  for (const NodeChange& change : changes.nodes) {
    for (const NodeId other : change.removed)
      if (change.node < other) contents.graph().remove_edge(change.node, other);
    for (const NodeId other : change.inserted)
      if (change.node < other) contents.graph().insert_edge(change.node, other);
    if (change.cleared) cleared.push_back(change.node);
  }
  contents.clear(cleared);
}

}  // namespace unweave
