// algorithms/updates/preview.h - what a batch of requests has come to so far, before any of it is
// applied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "algorithms/updates/batch_changes.h"
#include "engine/graph/contents.h"
#include "storage/formats/run_file.h"
#include "storage/io/error.h"
#include "storage/io/message.h"

namespace unweave {

/// The contents as they would be after the requests seen so far.
class Preview {
 public:
  explicit Preview(const Contents& contents) : contents_(contents) {}

  /// Where a copy of the node with a user's id stands; none when there is no such node.
  [[nodiscard]] std::optional<NodeId> position(std::uint64_t user, std::uint32_t copy = 0) const {
    if (user >= order().users()) return std::nullopt;
    return order().position(static_cast<NodeId>(user), copy);
  }

  /// Nothing also where it was written as a name that the node has lost.
  [[nodiscard]] std::optional<NodeId> meant(std::uint64_t user, bool by_name, std::uint32_t copy = 0) const {
    const std::optional<NodeId> node = position(user, copy);
    return node && by_name && has_lost_name(*node) ? std::nullopt : node;
  }

  [[nodiscard]] const NodeOrder& order() const noexcept { return contents_.order(); }
  [[nodiscard]] const Layers& layers() const noexcept { return order().layers(); }
  /// Whether a request names an edge of a kind that there is.
  [[nodiscard]] bool has_relation(const Request& request) const noexcept {
    return layers().relations.empty() ? request.relation == 0
                                      : request.relation > 0 && request.relation <= layers().relations.size();
  }
  /// Whether the types of its nodes are those that its kind of edges joins; it names one that there
  /// is.
  [[nodiscard]] bool may_join(const Request& request) const {
    return request.relation == 0 || layers().may_join(request.relation - 1, order().types(), request.u, request.v);
  }
  /// The copies of its two nodes that an edge of a request joins.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> copies_of_ends(const Request& request) const noexcept {
    return layers().copies_of(request.relation == 0 ? 0 : request.relation - 1);
  }
  /// All places of the node that stands at this one.
  [[nodiscard]] std::vector<NodeId> copies(NodeId node) const { return order().with_copies({&node, 1}); }

  /// What an edge weighs, 0 where there is none.
  std::uint32_t weight(NodeId u, NodeId v) {
    const auto it = edges_.find(key(u, v));
    return it != edges_.end() ? it->second.now : contents_.graph_of(u, v).weight(u, v);
  }
  /// Whether an edge of these nodes is held out of the graph.
  [[nodiscard]] bool holds(NodeId u, NodeId v) const { return contents_.holds(u, v); }
  /// Whether such an edge weighs 1 whatever is asked: so out of the graph, where weights are whole.
  [[nodiscard]] bool forgets_weight(NodeId u, NodeId v) const { return !rules().weight_unit && holds(u, v); }
  bool has_edge(NodeId u, NodeId v) { return weight(u, v) > 0; }
  void set_edge(NodeId u, NodeId v, std::uint32_t now) {
    const auto [it, fresh] = edges_.try_emplace(key(u, v));
    if (fresh) {
      it->second.held = holds(u, v);
      it->second.before = contents_.graph_of(u, v).weight(u, v);
      touched_[u].insert(v);
      touched_[v].insert(u);
    }
    it->second.now = it->second.held && !rules().weight_unit ? std::min(now, 1U) : now;
    if (now == 0) drop_note(edge_item(u, v));
  }
  /// The copies of its nodes between which the edge of a request lies, `u` and `v` being the first
  /// ones.
  [[nodiscard]] std::vector<Edge> copies_of_edge(const Request& request, NodeId u, NodeId v) const {
    std::vector<Edge> all{{u, v}};
    if (request.relation == 0) return all;
    const std::vector<std::uint32_t> layers_of_edge = layers().layers_with(request.relation - 1);
    for (std::size_t i = 1; i < layers_of_edge.size(); ++i) {
      const auto [from, to] = layers().copies_of(layers_of_edge[i]);
      all.push_back({order().position(user(u), from), order().position(user(v), to)});
    }
    return all;
  }
  /// An edge that a request has found, in its first copies: what it weighs in all copies that have
  /// it, of which those of sets weigh what they weigh in other relations, too.
  void set_edge(const Request& request, NodeId u, NodeId v, std::uint32_t now) {
    const std::uint32_t before = weight(u, v);
    for (const Edge& one : copies_of_edge(request, u, v)) {
      const std::uint32_t there = weight(one.u, one.v);
      if (there < before)
        throw DataError("an edge weighs less in a set of relations than in one of these; run " + operation("verify") +
                        ", which names it");
      set_edge(one.u, one.v, there - before + now);
    }
  }
  /// Most that an edge of users weighs in the graph.
  [[nodiscard]] std::uint32_t most_weight() const noexcept { return rules().max_weight; }
  /// Whether the edge may weigh so much, as far as the sums of its ends, and those of the sets that
  /// have its relation, hold the weights.
  [[nodiscard]] bool holds_weight(const Request& request, NodeId u, NodeId v, std::uint64_t now) {
    if (!rules().weight_unit) return true;
    const std::uint64_t before = weight(u, v);
    const bool is_held = holds(u, v);
    const std::vector<Edge> all = copies_of_edge(request, u, v);
    return std::all_of(all.begin(), all.end(), [&](const Edge& one) {
      return weight(one.u, one.v) - before + now <= kMostWeight &&
             std::max(degree(one.u, is_held), degree(one.v, is_held)) - before + now <= rules().most_degree;
    });
  }
  /// The note of an item, null where it is to stay, and whether an earlier request has said so.
  [[nodiscard]] const ExpiryNote* note(Edge item) const {
    const auto it = expiries_.find(item);
    if (it == expiries_.end()) return contents_.expiries().find(item);
    return it->second ? &*it->second : nullptr;
  }
  [[nodiscard]] bool has_set_note(Edge item) const { return expiries_.contains(item); }
  void set_note(Edge item, std::optional<ExpiryNote> note) { expiries_[item] = std::move(note); }
  void drop_note(Edge item) {
    if (has_notes() && note(item) != nullptr) expiries_[item] = std::nullopt;
  }
  /// A note goes with what it is about.
  void drop_notes_of_gone(NodeId node) {
    if (!has_notes()) return;
    const NodeId named = user(node);
    if (note(node_item(named)) != nullptr && is_gone(node)) drop_note(node_item(named));
    if (note(feature_item(named)) != nullptr && is_blank(node)) drop_note(feature_item(named));
  }
  /// That of a whole graph goes with its last node, where it has no label.
  void drop_note_of_gone_graph(std::uint32_t graph) {
    if (has_notes() && note(graph_item(graph)) != nullptr && is_empty_graph(graph)) drop_note(graph_item(graph));
  }
  [[nodiscard]] NodeId user(NodeId node) const { return order().user(node); }
  [[nodiscard]] Edge edge_item(NodeId u, NodeId v) const { return key(order().number(u), order().number(v)); }
  [[nodiscard]] const std::map<Edge, std::optional<ExpiryNote>>& expiries() const noexcept { return expiries_; }
  /// Each neighbour once, those of edges that are held too.
  std::vector<NodeId> neighbours(NodeId node) {
    std::vector<NodeId> list, held;
    contents_.graph().neighbours(node, list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    if (contents_.held() != nullptr) contents_.held()->neighbours(node, held);
    list.insert(list.end(), held.begin(), held.end());
    const auto it = touched_.find(node);
    if (it == touched_.end()) return list;
    std::erase_if(list, [&](NodeId other) { return it->second.contains(other); });
    for (const NodeId other : it->second)
      if (edges_.find(key(node, other))->second.now > 0) list.push_back(other);
    return list;
  }
  /// Weight of all edges of a node, in the graph or held out of it, and of its self loop.
  [[nodiscard]] std::uint64_t degree(NodeId node, bool held) const {
    std::uint64_t degree = (held ? *contents_.held() : contents_.graph()).degree(node);
    const auto it = touched_.find(node);
    if (it == touched_.end()) return degree;
    for (const NodeId other : it->second) {
      const auto& edge = edges_.find(key(node, other))->second;
      if (edge.held == held) degree = degree + edge.now - edge.before;
    }
    return degree;
  }
  /// Whether an earlier request has set the edge, or cleared the node.
  [[nodiscard]] bool has_set(NodeId u, NodeId v) const { return edges_.contains(key(u, v)); }
  [[nodiscard]] bool has_cleared(NodeId node) const { return cleared_.contains(node); }
  [[nodiscard]] bool has_lost_name(NodeId node) const {
    return nameless_.contains(user(node)) || order().names().has_lost(user(node));
  }
  [[nodiscard]] bool has_name(NodeId node) const {
    return !nameless_.contains(user(node)) && !contents_.name(node).empty();
  }
  /// A removed node, which has a name or none.
  void lose_name(NodeId node) {
    if (has_name(node)) nameless_.insert(user(node));
  }
  /// Whether clearing it would change nothing.
  [[nodiscard]] bool is_blank(NodeId node) {
    return label(node) == kNoLabel && (has_row(node) ? is_zero(*row(node)) : has_cleared(node) || has_zeros(node));
  }
  /// Whether no copy of it has an edge.
  [[nodiscard]] bool is_alone(NodeId node) {
    const std::vector<NodeId> all = copies(node);
    return std::all_of(all.begin(), all.end(), [&](NodeId one) { return neighbours(one).empty(); });
  }
  /// Whether removing it would change nothing.
  [[nodiscard]] bool is_gone(NodeId node) {
    return is_blank(node) && graph(node) == kNoGraph && !has_name(node) && is_alone(node);
  }

  [[nodiscard]] const WholeGraphs& graphs() const noexcept { return contents_.graphs(); }
  /// The whole graph of a node, or kNoGraph.
  [[nodiscard]] std::int32_t graph(NodeId node) const {
    const auto it = graphs_.find(node);
    return it != graphs_.end() ? it->second : graphs().of(node);
  }
  void set_graph(NodeId node, std::int32_t graph) {
    graphs_[node] = graph;
    if (graph != kNoGraph) joined_[static_cast<std::uint32_t>(graph)].insert(node);
  }
  /// The nodes of a whole graph, sorted.
  [[nodiscard]] std::vector<NodeId> nodes_of(std::uint32_t graph) const {
    std::vector<NodeId> nodes = graphs().nodes(graph);
    if (const auto it = joined_.find(graph); it != joined_.end()) {
      std::vector<NodeId> all;
      std::set_union(nodes.begin(), nodes.end(), it->second.begin(), it->second.end(), std::back_inserter(all));
      nodes = std::move(all);
    }
    std::erase_if(nodes, [&](NodeId node) { return this->graph(node) != static_cast<std::int32_t>(graph); });
    return nodes;
  }
  /// Whether removing a whole graph would change nothing.
  [[nodiscard]] bool is_empty_graph(std::uint32_t graph) const {
    return graph_label(graph) == kNoLabel && nodes_of(graph).empty();
  }
  /// What is known of a whole graph, as of a node below; whether an earlier request has removed or
  /// set it.
  [[nodiscard]] std::int32_t graph_label(std::uint32_t graph) const {
    const auto it = graph_data_.find(graph);
    return it != graph_data_.end() && it->second.label ? *it->second.label : graphs().label(graph);
  }
  [[nodiscard]] SplitName graph_split(std::uint32_t graph) const {
    const auto it = graph_data_.find(graph);
    return it != graph_data_.end() && it->second.split ? *it->second.split : graphs().split(graph);
  }
  [[nodiscard]] bool has_set_graph_label(std::uint32_t graph) const {
    const auto it = graph_data_.find(graph);
    return it != graph_data_.end() && it->second.label;
  }
  [[nodiscard]] bool has_set_graph_split(std::uint32_t graph) const {
    const auto it = graph_data_.find(graph);
    return it != graph_data_.end() && it->second.split;
  }
  [[nodiscard]] bool has_removed_graph(std::uint32_t graph) const { return removed_graphs_.contains(graph); }
  void set_graph_label(std::uint32_t graph, std::int32_t label) { graph_data_[graph].label = label; }
  void set_graph_split(std::uint32_t graph, SplitName split) { graph_data_[graph].split = split; }
  void remove_graph(std::uint32_t graph) {
    removed_graphs_.insert(graph);
    if (graph_label(graph) != kNoLabel) set_graph_label(graph, kNoLabel);
    if (graph_split(graph) != SplitName::none) set_graph_split(graph, SplitName::none);
  }
  /// Labels and splits of whole graphs that were set, sorted.
  [[nodiscard]] GraphChanges net_graphs() const {
    GraphChanges changes;
    for (const auto& [graph, data] : graph_data_) {
      if (data.label) changes.labels.push_back({graph, *data.label});
      if (data.split) changes.splits.push_back({graph, *data.split});
    }
    return changes;
  }
  void clear(NodeId node) {
    for (const NodeId one : copies(node)) {
      cleared_.insert(one);
      data_.erase(one);
      rows_.erase(one);
    }
  }

  [[nodiscard]] const DataRules& rules() const noexcept { return contents_.rules(); }
  [[nodiscard]] std::uint32_t columns() const noexcept { return contents_.features().columns(); }
  [[nodiscard]] bool has_labels() const noexcept { return contents_.has_labels(); }
  [[nodiscard]] std::int32_t label(NodeId node) const {
    const auto it = data_.find(node);
    if (it != data_.end() && it->second.label) return *it->second.label;
    return has_cleared(node) ? kNoLabel : contents_.label(node);
  }
  [[nodiscard]] SplitName split(NodeId node) const {
    const auto it = data_.find(node);
    if (it != data_.end() && it->second.split) return *it->second.split;
    return has_cleared(node) ? SplitName::none : contents_.split(node);
  }
  /// Whether an earlier request has set, or cleared, label, split or row.
  [[nodiscard]] bool has_set_label(NodeId node) const {
    const auto it = data_.find(node);
    return has_cleared(node) || (it != data_.end() && it->second.label);
  }
  [[nodiscard]] bool has_set_split(NodeId node) const {
    const auto it = data_.find(node);
    return has_cleared(node) || (it != data_.end() && it->second.split);
  }
  [[nodiscard]] bool has_set_row(NodeId node) const { return has_cleared(node) || has_row(node); }
  void set_label(NodeId node, std::int32_t label) {
    for (const NodeId one : copies(node)) data_[one].label = label;
  }
  /// The splits list the first copies alone.
  void set_split(NodeId node, SplitName split) { data_[node].split = split; }
  void set_row(NodeId node, std::span<const float> values) {
    const auto row = std::make_shared<const std::vector<std::uint32_t>>(pack_row(values));
    for (const NodeId one : copies(node)) rows_[one] = row;
  }
  /// Whether a node has these features, as values: there is one zero.
  [[nodiscard]] bool has_features(NodeId node, std::span<const float> values) {
    scratch_.resize(columns());
    if (has_row(node))
      unpack_row(*row(node), columns(), 0, scratch_);
    else if (has_cleared(node))
      std::fill(scratch_.begin(), scratch_.end(), 0.0F);
    else
      contents_.features().read({node, node + 1}, 0, columns(), scratch_.data());
    return std::equal(values.begin(), values.end(), scratch_.begin(), scratch_.end());
  }

  /// How many more edges the graph has than the contents.
  [[nodiscard]] std::int64_t edge_difference(bool held) const {
    std::int64_t difference = 0;
    for (const auto& [edge, state] : edges_)
      if (state.held == held) difference += (state.now > 0 ? 1 : 0) - (state.before > 0 ? 1 : 0);
    return difference;
  }
  /// Held edges that differ from the contents, sorted.
  [[nodiscard]] std::vector<HeldChange> net_of_held() const {
    std::vector<HeldChange> changes;
    for (const auto& [edge, state] : edges_)
      if (state.held && state.before != state.now) {
        const bool gains = state.now > state.before;
        changes.push_back({edge, gains ? state.now - state.before : state.before - state.now, gains});
      }
    return changes;
  }
  /// Nodes that differ from the contents, sorted.
  [[nodiscard]] std::vector<NodeChange> net() const {
    std::map<NodeId, NodeChange> nodes;
    for (const auto& [edge, state] : edges_) {
      if (state.held || state.before == state.now) continue;
      const bool gains = state.now > state.before;
      const std::uint32_t units = gains ? state.now - state.before : state.before - state.now;
      for (const auto& [one, other] : {std::pair(edge.u, edge.v), std::pair(edge.v, edge.u)}) {
        (gains ? nodes[one].inserted : nodes[one].removed).push_back({other, units});
      }
    }
    for (const NodeId node : cleared_) nodes[node].cleared = true;
    for (const NodeId node : nameless_) nodes[order().position(node)].loses_name = true;
    for (const auto& [node, graph] : graphs_) nodes[node].graph = graph;
    for (const auto& [node, row] : rows_) nodes[node].row = row;
    for (const auto& [node, data] : data_) {
      if (data.label) nodes[node].label = data.label;
      if (data.split) nodes[node].split = data.split;
    }
    std::vector<NodeChange> result;
    for (auto& [node, change] : nodes) {
      change.node = node;
      for (auto* const list : {&change.removed, &change.inserted})
        std::sort(list->begin(), list->end(), [](const auto& a, const auto& b) { return a.node < b.node; });
      result.push_back(std::move(change));
    }
    return result;
  }

 private:
  /// What an edge weighs.
  struct State {
    std::uint32_t before = 0;
    std::uint32_t now = 0;
    bool held = false;  ///< out of the graph
  };
  /// What requests have set of a node.
  struct Data {
    std::optional<std::int32_t> label;
    std::optional<SplitName> split;
  };
  [[nodiscard]] bool has_row(NodeId node) const { return rows_.contains(node); }
  [[nodiscard]] const std::vector<std::uint32_t>* row(NodeId node) const { return rows_.find(node)->second.get(); }
  [[nodiscard]] bool has_zeros(NodeId node) { return contents_.features().is_zero(node, scratch_); }
  [[nodiscard]] bool is_zero(const std::vector<std::uint32_t>& words) {
    scratch_.resize(columns());
    unpack_row(words, columns(), 0, scratch_);
    return std::all_of(scratch_.begin(), scratch_.end(), [](float value) { return value == 0.0F; });
  }
  [[nodiscard]] bool has_notes() const { return !expiries_.empty() || contents_.expiries().size() > 0; }
  static Edge key(NodeId u, NodeId v) { return {std::min(u, v), std::max(u, v)}; }

  const Contents& contents_;
  std::map<Edge, State> edges_;
  std::map<Edge, std::optional<ExpiryNote>> expiries_;
  std::unordered_map<NodeId, std::set<NodeId>> touched_;
  std::unordered_set<NodeId> cleared_;
  std::unordered_set<NodeId> nameless_;  ///< users' ids of nodes that had a name, and are removed
  std::unordered_map<NodeId, Data> data_;
  std::unordered_map<NodeId, std::int32_t> graphs_;  ///< nodes that left a whole graph, or came to one
  std::unordered_map<std::uint32_t, std::set<NodeId>> joined_;
  std::map<std::uint32_t, Data> graph_data_;  ///< what was set of whole graphs
  std::unordered_set<std::uint32_t> removed_graphs_;
  std::unordered_map<NodeId, std::shared_ptr<const std::vector<std::uint32_t>>> rows_;
  std::vector<float> scratch_;
};

}  // namespace unweave
