// algorithms/updates/requests.cpp - decides requests one by one over a preview of the contents, and
// applies changes.
#include "algorithms/updates/requests.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "algorithms/updates/preview.h"
#include "engine/graph/contents.h"
#include "engine/ingest/given_row.h"
#include "engine/resources/look_ahead.h"
#include "storage/formats/run_file.h"

namespace unweave {
namespace {

/// Sets a row of features, unless the store has it or cannot have it.
RequestStatus set_feature(Preview& preview, NodeId node, std::string_view value, BatchChanges& changes) {
  if (preview.rules().standardized) return RequestStatus::standardized;
  const auto values = given_values(value, preview.columns());
  if (!values || values->empty()) return RequestStatus::wrong_values;
  const auto row = stored_row(*values, preview.rules());
  if (!row) return RequestStatus::above_bound;
  if (preview.has_features(node, *row))
    return preview.has_set_row(node) ? RequestStatus::repeated : RequestStatus::same_features;
  preview.set_row(node, *row);
  ++changes.features_set;
  for (const NodeId one : preview.copies(node)) changes.forced.push_back(one);
  return RequestStatus::applied;
}

/// Reads the class in the value of a request, or kNoLabel; another status than applied where there
/// is no such class.
RequestStatus read_class(const DataRules& rules, std::string_view value, std::int32_t& label) {
  label = kNoLabel;
  if (value == "none") return RequestStatus::applied;
  const bool is_marked = value.starts_with('#');
  if (!is_marked && rules.numbers_name_classes) return RequestStatus::number_or_name;
  value.remove_prefix(is_marked ? 1 : 0);
  std::uint64_t given = 0;
  std::from_chars(value.data(), value.data() + value.size(), given);
  if (given >= rules.classes) return RequestStatus::class_outside;
  label = static_cast<std::int32_t>(given);
  return RequestStatus::applied;
}

SplitName split_in(std::string_view value) {
  return value == "train"   ? SplitName::train
         : value == "valid" ? SplitName::valid
         : value == "test"  ? SplitName::test
                            : SplitName::none;
}

/// A node without a label leaves its split, as an import ignores such ids.
RequestStatus set_label(Preview& preview, NodeId node, std::string_view value, BatchChanges& changes) {
  if (!preview.has_labels()) return RequestStatus::no_labels;
  std::int32_t label = kNoLabel;
  if (const RequestStatus status = read_class(preview.rules(), value, label); status != RequestStatus::applied)
    return status;
  if (preview.label(node) == label)
    return preview.has_set_label(node) ? RequestStatus::repeated : RequestStatus::same_label;
  preview.set_label(node, label);
  if (label == kNoLabel && preview.split(node) != SplitName::none) preview.set_split(node, SplitName::none);
  ++changes.labels_set;
  return RequestStatus::applied;
}

RequestStatus move_split(Preview& preview, NodeId node, std::string_view value, BatchChanges& changes) {
  const SplitName split = split_in(value);
  if (!preview.rules().has(split)) return RequestStatus::no_split;
  if (preview.split(node) == split)
    return preview.has_set_split(node) ? RequestStatus::repeated : RequestStatus::same_split;
  if (split != SplitName::none && preview.label(node) == kNoLabel) return RequestStatus::no_label;
  preview.set_split(node, split);
  ++changes.splits_moved;
  return RequestStatus::applied;
}

/// Why there is nothing that a request could remove, or set a note for; none: there is something.
/// `u`: the node; `v`: the other end of an edge.
std::optional<RequestStatus> absence(Preview& preview, Edge item, NodeId u, NodeId v) {
  const auto unless = [](bool before, RequestStatus status) { return before ? RequestStatus::repeated : status; };
  if (is_graph_item(item)) {
    if (!preview.is_empty_graph(item.v)) return std::nullopt;
    return unless(preview.has_removed_graph(item.v), RequestStatus::empty_graph);
  }
  if (is_feature_item(item)) {
    if (!preview.is_blank(u)) return std::nullopt;
    return unless(preview.has_cleared(u), RequestStatus::no_features);
  }
  if (is_node_item(item)) {
    if (!preview.is_gone(u)) return std::nullopt;
    return unless(preview.has_cleared(u), RequestStatus::empty_node);
  }
  if (preview.has_edge(u, v)) return std::nullopt;
  return unless(preview.has_set(u, v), RequestStatus::absent_edge);
}

/// Says when an item is to go.
RequestStatus set_expiry(Preview& preview, Edge item, NodeId u, NodeId v, const Request& request,
                         BatchChanges& changes) {
  if (const std::optional<RequestStatus> absent = absence(preview, item, u, v)) return *absent;
  const std::optional<Millis> time = read_time(request.value);  // which `never` is not
  const ExpiryNote* const before = preview.note(item);
  if ((before != nullptr ? std::optional(before->time) : std::nullopt) == time)
    return preview.has_set_note(item) ? RequestStatus::repeated : RequestStatus::same_expiry;
  preview.set_note(item, time ? std::optional(ExpiryNote{*time, request.id}) : std::nullopt);
  ++changes.expiries_set;
  return RequestStatus::applied;
}

/// A note is acted on once. One that was set anew or taken away since the removal was sent keeps
/// what it is about.
std::optional<RequestStatus> act_on_note(Preview& preview, Edge item, NodeId u, NodeId v, const Request& request) {
  const ExpiryNote* const note = preview.note(item);
  if (note != nullptr && note->time == read_time(request.value)) {
    preview.set_note(item, std::nullopt);
    return std::nullopt;
  }
  if (const std::optional<RequestStatus> absent = absence(preview, item, u, v)) return absent;
  return RequestStatus::other_expiry;
}

/// The number in the value of a request that sets a weight, in units where weights are real; a
/// weight of 1 where there is none. What no reader of requests has written is taken for a weight
/// that no store has.
std::uint64_t given_weight(const Preview& preview, std::string_view value) {
  constexpr std::uint64_t kNone = std::uint64_t{kMostWeight} + 1;
  if (const auto& unit = preview.rules().weight_unit) {
    const std::optional<double> real = value.empty() ? std::optional(1.0) : weight_of_text(value);
    const std::uint32_t units = real ? unit->units(*real) : 0;
    return units == 0 ? kNone : units;
  }
  if (value.empty()) return 1;
  std::uint64_t weight = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), weight);
  return error == std::errc() && end == value.data() + value.size() && weight > 0 ? weight : kNone;
}

RequestStatus set_weight(Preview& preview, const Request& request, NodeId u, NodeId v, BatchChanges& changes) {
  const std::uint32_t before = preview.weight(u, v);
  if (before == 0) return RequestStatus::absent_edge;
  const std::uint64_t weight = given_weight(preview, request.value);
  if (weight > (preview.forgets_weight(u, v) ? 1 : preview.most_weight())) return RequestStatus::weight_outside;
  if (!preview.holds_weight(request, u, v, weight)) return RequestStatus::too_heavy;
  if (weight == before) return preview.has_set(u, v) ? RequestStatus::repeated : RequestStatus::same_weight;
  preview.set_edge(request, u, v, static_cast<std::uint32_t>(weight));
  ++changes.weights_set;
  return RequestStatus::applied;
}

/// Takes the graph from the end of what an inserted node has, a number above all where it is none
/// that a store may have; no value where there is none.
std::optional<std::uint64_t> take_graph(std::string_view& value) {
  constexpr std::string_view kMark = " graph=";
  const std::size_t at = value.rfind(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = value.substr(at + kMark.size());
  value = value.substr(0, at);
  std::uint64_t graph = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), graph);
  return error == std::errc() && end == digits.data() + digits.size() ? graph : ~std::uint64_t{0};
}

/// The row of a node that has nothing yet, and its whole graph. A row of zeros makes no node but in
/// a graph, where it counts.
RequestStatus insert_node(Preview& preview, NodeId node, std::string_view value, BatchChanges& changes) {
  const std::optional<std::uint64_t> graph = take_graph(value);
  if (graph && *graph >= preview.graphs().count()) return RequestStatus::graph_outside;
  if (!preview.is_blank(node) || preview.graph(node) != kNoGraph)
    return preview.has_set_row(node) ? RequestStatus::repeated : RequestStatus::present_node;
  if (!preview.is_alone(node)) return RequestStatus::present_node;
  const RequestStatus status = set_feature(preview, node, value, changes);
  const bool are_zeros = status == RequestStatus::same_features || status == RequestStatus::repeated;
  if (status != RequestStatus::applied && !(are_zeros && graph)) return status;
  if (!are_zeros) --changes.features_set;
  ++changes.nodes_inserted;
  if (graph) preview.set_graph(node, static_cast<std::int32_t>(*graph));
  return RequestStatus::applied;
}

/// All of a node that there is, which is something.
void remove_node(Preview& preview, NodeId node, BatchChanges& changes) {
  for (const NodeId one : preview.copies(node)) {
    const std::vector<NodeId> neighbours = preview.neighbours(one);
    for (const NodeId v : neighbours) {
      preview.set_edge(one, v, 0);
      preview.drop_notes_of_gone(v);
    }
    changes.forced.push_back(one);
  }
  preview.clear(node);
  preview.lose_name(node);
  if (preview.graph(node) != kNoGraph) preview.set_graph(node, kNoGraph);
}

/// All nodes of a whole graph, its label and its split.
RequestStatus remove_graph(Preview& preview, const Request& request, BatchChanges& changes) {
  const auto graph = static_cast<std::uint32_t>(request.u);
  const Edge item = graph_item(graph);
  if (is_expired(request))
    if (const auto status = act_on_note(preview, item, 0, 0, request)) return *status;
  if (const auto absent = absence(preview, item, 0, 0)) return *absent;
  for (const NodeId node : preview.nodes_of(graph)) {
    remove_node(preview, node, changes);
    preview.drop_notes_of_gone(node);
  }
  preview.remove_graph(graph);
  preview.drop_note(item);
  ++changes.graphs_removed;
  return RequestStatus::applied;
}

/// As set_label() and move_split(), of a whole graph.
RequestStatus set_graph_label(Preview& preview, std::uint32_t graph, std::string_view value, BatchChanges& changes) {
  if (!preview.graphs().has_labels()) return RequestStatus::no_labels;
  std::int32_t label = kNoLabel;
  if (const RequestStatus status = read_class(preview.rules(), value, label); status != RequestStatus::applied)
    return status;
  if (preview.graph_label(graph) == label)
    return preview.has_set_graph_label(graph) ? RequestStatus::repeated : RequestStatus::same_label;
  preview.set_graph_label(graph, label);
  if (label == kNoLabel && preview.graph_split(graph) != SplitName::none)
    preview.set_graph_split(graph, SplitName::none);
  preview.drop_note_of_gone_graph(graph);
  ++changes.graph_labels_set;
  return RequestStatus::applied;
}

RequestStatus move_graph_split(Preview& preview, std::uint32_t graph, std::string_view value, BatchChanges& changes) {
  const SplitName split = split_in(value);
  if (!preview.graphs().has(split)) return RequestStatus::no_split;
  if (preview.graph_split(graph) == split)
    return preview.has_set_graph_split(graph) ? RequestStatus::repeated : RequestStatus::same_split;
  if (split != SplitName::none && preview.graph_label(graph) == kNoLabel) return RequestStatus::no_label;
  preview.set_graph_split(graph, split);
  ++changes.graph_splits_moved;
  return RequestStatus::applied;
}

/// A request about a whole graph.
RequestStatus apply_to_graph(Preview& preview, const Request& request, BatchChanges& changes) {
  if (request.u >= preview.graphs().count()) return RequestStatus::graph_outside;
  const auto graph = static_cast<std::uint32_t>(request.u);
  if (request.kind == RequestKind::remove_graph) return remove_graph(preview, request, changes);
  if (request.kind == RequestKind::expire_graph) return set_expiry(preview, graph_item(graph), 0, 0, request, changes);
  if (request.kind == RequestKind::set_graph_label) return set_graph_label(preview, graph, request.value, changes);
  return move_graph_split(preview, graph, request.value, changes);
}

/// Applies one request to the preview, unless it would change nothing; but for notes that go with
/// what it removes.
RequestStatus apply_alone(Preview& preview, const Request& request, BatchChanges& changes) {
  if (names_graph(request.kind)) return apply_to_graph(preview, request, changes);
  const auto [from, to] = preview.copies_of_ends(request);
  if (!preview.has_relation(request) && names_edge(request.kind)) return RequestStatus::no_relation;
  const std::optional<NodeId> first = preview.meant(request.u, request.u_by_name, from);
  if (!first) return RequestStatus::id_outside;
  const NodeId u = *first;
  switch (request.kind) {
    case RequestKind::remove_edge:
    case RequestKind::insert_edge:
    case RequestKind::expire_edge:
    case RequestKind::set_weight: {
      const std::optional<NodeId> second = preview.meant(request.v, request.v_by_name, to);
      if (!second) return RequestStatus::id_outside;
      if (*second == u) return RequestStatus::self_loop;  // an arc leads from a node's copy to another one
      const NodeId v = *second;
      const Edge item = preview.edge_item(u, v);
      if (request.kind == RequestKind::expire_edge) return set_expiry(preview, item, u, v, request, changes);
      if (is_expired(request))
        if (const auto status = act_on_note(preview, item, u, v, request)) return *status;
      if (request.kind == RequestKind::set_weight) return set_weight(preview, request, u, v, changes);
      const bool insert = request.kind == RequestKind::insert_edge;
      if (preview.has_edge(u, v) == insert) {
        const bool same = !insert || preview.weight(u, v) == given_weight(preview, request.value);
        if (preview.has_set(u, v) && same) return RequestStatus::repeated;
        return insert ? RequestStatus::present_edge : RequestStatus::absent_edge;
      }
      if (insert && preview.graph(u) != preview.graph(v)) return RequestStatus::joins_graphs;
      if (insert && !preview.may_join(request)) return RequestStatus::other_types;
      const std::uint64_t weight = insert ? given_weight(preview, request.value) : 0;
      if (weight > preview.most_weight()) return RequestStatus::weight_outside;
      if (insert && !preview.holds_weight(request, u, v, weight)) return RequestStatus::too_heavy;
      preview.set_edge(request, u, v, static_cast<std::uint32_t>(weight));
      ++(insert ? changes.edges_inserted : changes.edges_removed);
      changes.edges_held += preview.holds(u, v) ? 1 : 0;
      return RequestStatus::applied;
    }
    case RequestKind::expire_node:
      return set_expiry(preview, node_item(preview.user(u)), u, u, request, changes);
    case RequestKind::expire_feature:
      return set_expiry(preview, feature_item(preview.user(u)), u, u, request, changes);
    case RequestKind::remove_node: {
      const Edge item = node_item(preview.user(u));
      if (is_expired(request))
        if (const auto status = act_on_note(preview, item, u, u, request)) return *status;
      if (const auto absent = absence(preview, item, u, u)) return *absent;
      const std::int32_t graph = preview.graph(u);
      remove_node(preview, u, changes);
      if (graph != kNoGraph) preview.drop_note_of_gone_graph(static_cast<std::uint32_t>(graph));
      ++changes.nodes_removed;
      return RequestStatus::applied;
    }
    case RequestKind::remove_feature: {
      const Edge item = feature_item(preview.user(u));
      if (is_expired(request))
        if (const auto status = act_on_note(preview, item, u, u, request)) return *status;
      if (const auto absent = absence(preview, item, u, u)) return *absent;
      ++changes.features_removed;
      preview.clear(u);
      for (const NodeId one : preview.copies(u)) changes.forced.push_back(one);
      return RequestStatus::applied;
    }
    case RequestKind::set_feature:
      return set_feature(preview, u, request.value, changes);
    case RequestKind::insert_node:
      return insert_node(preview, u, request.value, changes);
    case RequestKind::set_label:
      return set_label(preview, u, request.value, changes);
    case RequestKind::move_split:
      return move_split(preview, u, request.value, changes);
    case RequestKind::remove_graph:
    case RequestKind::set_graph_label:
    case RequestKind::move_graph_split:
    case RequestKind::expire_graph:
      break;  // which name no node
  }
  throw std::logic_error("a request of no kind");
}

RequestStatus apply(Preview& preview, const Request& request, BatchChanges& changes) {
  const RequestStatus status = apply_alone(preview, request, changes);
  if (status != RequestStatus::applied || names_graph(request.kind)) return status;
  preview.drop_notes_of_gone(*preview.position(request.u));
  if (names_edge(request.kind)) preview.drop_notes_of_gone(*preview.position(request.v));
  return status;
}

}  // namespace

BatchChanges resolve_batch(const Contents& contents, std::span<const Request> requests,
                           const std::vector<bool>& known) {
  BatchChanges changes;
  Preview preview(contents);
  const auto ask_for_position = [&](std::uint64_t user, std::uint32_t copy = 0) {
    if (user < contents.order().users()) contents.order().read_ahead(static_cast<NodeId>(user), copy);
  };
  const auto copies_of = [&](const Request& request) {
    return names_edge(request.kind) && preview.has_relation(request) ? preview.copies_of_ends(request)
                                                                     : std::pair<std::uint32_t, std::uint32_t>{};
  };
  // Positions are wanted when lists are asked for, so they have to be asked for as long before
  // that.
  LookAhead positions(0, requests.size(), [&](std::size_t i) {
    if (names_graph(requests[i].kind)) return;
    const auto [from, to] = copies_of(requests[i]);
    ask_for_position(requests[i].u, from);
    if (names_edge(requests[i].kind)) ask_for_position(requests[i].v, to);
  });
  LookAhead ahead(0, requests.size(), [&](std::size_t i) {
    positions.at(i);
    const Request& request = requests[i];
    if (request.kind == RequestKind::set_feature || request.kind == RequestKind::set_label ||
        request.kind == RequestKind::move_split || names_graph(request.kind))
      return;  // which ask for no list, or for those of many
    const auto [from, to] = copies_of(request);
    const auto read_ahead = [&](NodeId node) {
      contents.graph().read_ahead(node);
      if (contents.held() != nullptr) contents.held()->read_ahead(node);
    };
    if (const auto u = preview.position(request.u, from)) read_ahead(*u);
    if (!names_edge(request.kind)) return;  // in other requests v is 0, which names nobody
    if (const auto v = preview.position(request.v, to)) read_ahead(*v);
  });
  changes.statuses.reserve(requests.size());
  for (const Request& request : requests) {
    ahead.at(changes.requests);
    const bool is_known = !known.empty() && known[changes.requests];
    changes.statuses.push_back(is_known ? RequestStatus::known_id : apply(preview, request, changes));
    ++(changes.statuses.back() == RequestStatus::applied ? changes.applied : changes.rejected);
    ++changes.requests;
    changes.text_bytes += request.value.empty() ? 0 : request.value.size() + 2;
  }
  changes.nodes = preview.net();
  changes.graphs = preview.net_graphs();
  changes.edge_difference = preview.edge_difference(false);
  changes.held = preview.net_of_held();
  changes.held_difference = preview.edge_difference(true);
  changes.expiries.assign(preview.expiries().begin(), preview.expiries().end());
  for (const NodeChange& change : changes.nodes) {
    const std::int32_t before = contents.label(change.node);
    changes.gains_targets |= before == kNoLabel && change.label_after(before) != kNoLabel;
  }
  std::sort(changes.forced.begin(), changes.forced.end());
  changes.forced.erase(std::unique(changes.forced.begin(), changes.forced.end()), changes.forced.end());
  return changes;
}

std::uint64_t edges_of(const Contents& contents, std::uint64_t user) {
  const NodeOrder& order = contents.order();
  if (user >= order.users()) return 0;
  std::uint64_t edges = 0;
  for (std::uint32_t copy = 0; copy < order.copies(); ++copy)
    edges += contents.edges_of(order.position(static_cast<NodeId>(user), copy));
  return edges;
}

std::uint64_t removed_by_graph(const Contents& contents, std::uint64_t graph) {
  if (graph >= contents.graphs().count()) return 0;
  std::uint64_t things = 0;
  for (const NodeId node : contents.graphs().nodes(static_cast<std::uint32_t>(graph)))
    things += 1 + edges_of(contents, contents.order().user(node));
  return things;
}

std::uint64_t changed_edges(const BatchChanges& changes, const ListForm& form) noexcept {
  std::uint64_t arcs = 0;
  for (const NodeChange& change : changes.nodes)
    for (const auto* const list : {&change.removed, &change.inserted})
      for (const ChangedNeighbour& one : *list) arcs += form.multiplied ? 1 : one.weight;
  return arcs / 2 + changes.held.size();
}

std::uint64_t set_bytes(const BatchChanges& changes) {
  std::uint64_t rows = 0, words = 0, values = 0;
  std::uint64_t expiries = 0;
  for (const auto& [item, note] : changes.expiries) expiries += Expiries::bytes(1, note ? note->id.size() : 0);
  for (const NodeChange& change : changes.nodes) {
    rows += change.row ? 1 : 0;
    words += change.row ? change.row->size() * sizeof(std::uint32_t) : 0;
    values += (change.label ? 1U : 0U) + (change.split ? 1U : 0U) + (change.graph ? 1U : 0U);
  }
  values += changes.graphs.size();
  return Features::set_bytes(rows, words) + Contents::value_bytes(values) + expiries;
}

void apply_changes(Contents& contents, const BatchChanges& changes) {
  std::vector<NodeId> cleared, nameless;
  std::vector<SetLabel> labels;
  std::vector<SetSplit> splits;
  std::vector<SetRow> rows;
  GraphChanges graphs{{}, changes.graphs.labels, changes.graphs.splits};
  for (const NodeChange& change : changes.nodes) {
    for (const auto& [other, weight] : change.removed)
      if (change.node < other) contents.graph().remove_edge(change.node, other, weight);
    for (const auto& [other, weight] : change.inserted)
      if (change.node < other) contents.graph().insert_edge(change.node, other, weight);
    if (change.cleared) cleared.push_back(change.node);
    if (change.loses_name) nameless.push_back(change.node);
    if (change.label) labels.push_back({change.node, *change.label});
    if (change.split) splits.push_back({change.node, *change.split});
    if (change.graph) graphs.of_nodes.push_back({change.node, *change.graph});
    if (change.row) rows.push_back({change.node, change.row});
  }
  for (const auto& [edge, weight, inserted] : changes.held)
    inserted ? contents.held()->insert_edge(edge.u, edge.v, weight)
             : contents.held()->remove_edge(edge.u, edge.v, weight);
  contents.graph().count_edges(changes.edge_difference);
  if (contents.held() != nullptr) contents.held()->count_edges(changes.held_difference);
  for (const auto& [item, note] : changes.expiries) contents.expiries().set(item, note);
  contents.clear(cleared);
  contents.lose_names(nameless);
  contents.set(labels, splits, std::move(rows));
  contents.set(graphs);
}

}  // namespace unweave
