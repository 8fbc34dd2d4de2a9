// algorithms/evaluation/canary.cpp - search for canaries, and the rows before and after one.
#include "algorithms/evaluation/canary.h"

#include <algorithm>
#include <numeric>

#include "algorithms/live/store_reader.h"
#include "algorithms/models/training_rows.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

NodeId hub_of(const Graph& graph) {
  NodeId hub = 0;
  for (NodeId node = 1; node < graph.num_nodes(); ++node)
    if (graph.degree(node) > graph.degree(hub)) hub = node;
  return hub;
}

double moved_distance(const BatchChange& change, std::size_t i) {
  double sum = 0;
  for (std::size_t f = 0; f < change.moved_to.features(); ++f) {
    const double d = static_cast<double>(change.moved_to.row(i)[f]) - static_cast<double>(change.moved_from.row(i)[f]);
    sum += d * d;
  }
  return sum;
}

/// Ascending nodes that take part.
std::vector<NodeId> choose_nodes(const BatchChange& change, const TrainingSet& after, std::uint64_t most) {
  std::vector<NodeId> nodes(change.removed.nodes().begin(), change.removed.nodes().end());
  const auto add = [&](NodeId node) {
    if (nodes.size() < most) nodes.push_back(node);
  };
  std::vector<std::size_t> moved(change.moved_to.size());
  std::iota(moved.begin(), moved.end(), std::size_t{0});
  std::vector<double> distance(moved.size());
  for (const std::size_t i : moved) distance[i] = moved_distance(change, i);
  std::stable_sort(moved.begin(), moved.end(), [&](std::size_t a, std::size_t b) { return distance[a] > distance[b]; });
  for (std::size_t i = 0; i < std::min<std::size_t>(moved.size(), most / 2); ++i)
    add(change.moved_to.nodes()[moved[i]]);
  const std::size_t stride = std::max<std::size_t>(1, (after.size() + most - 1) / most);
  std::vector<NodeId> first(nodes);
  std::sort(first.begin(), first.end());
  for (std::size_t i = 0; i < after.size(); i += stride)
    if (!std::binary_search(first.begin(), first.end(), after.nodes()[i])) add(after.nodes()[i]);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

void append_row(TrainingSet& to, const TrainingSet& from, std::size_t i) {
  to.append(from.nodes()[i], from.row(i), from.labels()[i]);
}

TrainingSet only(const TrainingSet& rows, const std::vector<NodeId>& nodes) {
  TrainingSet kept(rows.features(), rows.classes(), rows.form());
  for (const NodeId node : nodes)
    if (const auto at = rows.find(node)) append_row(kept, rows, *at);
  return kept;
}

}  // namespace

std::vector<CanaryRequests> find_canaries(const LiveStore& store, const ModelRecord& record, MemoryBudget& budget) {
  if (record.rows.unit() != RowUnit::node) return of_units::find_canaries(store, record, budget);
  const TrainingRows held(store, record.rows, form_of(record), budget);
  const TrainingSet& rows = held.set();
  const Graph& graph = store.contents().graph();
  const NodeOrder& order = store.contents().order();
  std::vector<CanaryRequests> canaries;
  if (graph.num_arcs() > 0) canaries.push_back({"hub", {{RequestKind::remove_node, order.user(hub_of(graph)), 0}}});

  const std::vector<double> gradient = gradient_norms(rows, record.model);
  std::optional<std::size_t> bridge, steepest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!steepest || gradient[i] > gradient[*steepest]) steepest = i;
    const std::uint32_t weight = graph.list_weight(rows.nodes()[i]);
    if (weight == 0) continue;
    const std::uint32_t least = bridge ? graph.list_weight(rows.nodes()[*bridge]) : weight;
    if (!bridge || weight < least || (weight == least && gradient[i] > gradient[*bridge])) bridge = i;
  }
  if (bridge) {
    std::vector<NodeId> neighbours;
    graph.neighbours(rows.nodes()[*bridge], neighbours);
    // Training nodes are first copies, at which arcs begin.
    Request request{RequestKind::remove_edge, order.user(rows.nodes()[*bridge]), order.user(neighbours.front())};
    request.relation = order.layers().relations.empty() ? 0 : 1;
    canaries.push_back({"bridge", {std::move(request)}});
  }
  if (steepest) canaries.push_back({"gradient", {{RequestKind::remove_node, order.user(rows.nodes()[*steepest]), 0}}});
  return canaries;
}

CanaryRequests steepest_rows(const LiveStore& store, const ModelRecord& record, std::uint64_t count,
                             MemoryBudget& budget) {
  if (record.rows.unit() != RowUnit::node) return of_units::steepest_rows(store, record, count, budget);
  const TrainingRows held(store, record.rows, form_of(record), budget);
  const TrainingSet& rows = held.set();
  const std::vector<double> gradient = gradient_norms(rows, record.model);
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gradient[a] > gradient[b]; });
  if (!order.empty()) order.resize(std::min<std::size_t>(order.size() - 1, count));
  CanaryRequests canary{"steepest rows", {}};
  for (const std::size_t i : order)
    canary.requests.push_back({RequestKind::remove_node, store.contents().order().user(rows.nodes()[i]), 0});
  return canary;
}

Canary release_canary(const CanaryRequests& of, StoreReader& store, const ModelRecord& record, std::uint64_t most_rows,
                      MemoryBudget& budget) {
  static_cast<void>(store.rehearse(of.planted));  // also without any: an audit is about exact rows
  if (record.rows.unit() != RowUnit::node) return of_units::release_canary(of, store, record, most_rows, budget);
  TrainingRows rows(store, record.rows, form_of(record), budget);
  const BatchChanges changes = store.resolve(of.requests);
  const BatchChange change = rows.follow(store.rehearse(of.requests), true);
  const TrainingSet& after = rows.set();
  if (change.removed.size() + change.moved_to.size() == 0)
    throw UsageError("the canary " + of.name + " changes no training row; choose other requests");

  const std::vector<NodeId> nodes = choose_nodes(change, after, most_rows);
  Canary canary{of.name, TrainingSet(after.features(), after.classes(), after.form()),
                BatchChange(after.features(), after.classes(), after.form()), only(after, nodes)};
  canary.change.memory.push_back(
      budget.reserve(4 * nodes.size() * after.features() * sizeof(float), "rows of the canary"));
  canary.change.removed = only(change.removed, nodes);
  canary.change.moved_from = only(change.moved_from, nodes);
  canary.change.moved_to = only(change.moved_to, nodes);
  canary.change.only_edges = changes.only_edges();
  for (const NodeId node : nodes)
    for (const TrainingSet* from : {&change.removed, &change.moved_from, &after})
      if (const auto at = from->find(node)) {
        append_row(canary.before, *from, *at);
        break;
      }
  return canary;
}

}  // namespace unweave
