// algorithms/evaluation/unit_canary.cpp - search for canaries among graphs and pairs, and rows
// before and after, told apart by what they are of.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/evaluation/canary.h"
#include "algorithms/models/pair_units.h"
#include "algorithms/models/training_rows.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// What a row is of, whatever other rows there are: a graph and its class; or both ends of a pair,
/// whether it is an edge, and which of several draws of this pair it is.
using UnitName = std::array<std::uint64_t, 3>;

/// Graphs that are removed, or edges.
Request removal_of(const LiveStore& store, const RowUnits& units, NodeId key) {
  if (const auto* const pairs = dynamic_cast<const PairUnits*>(&units)) {
    const Edge ends = pairs->list(PairRole::label).ends()[key];
    const NodeOrder& order = store.contents().order();
    return {RequestKind::remove_edge, order.user(ends.u), order.user(ends.v)};
  }
  return {RequestKind::remove_graph, key, 0};
}

/// An edge of the smallest training graph that has one.
std::optional<Request> bridge_of_graphs(const LiveStore& store, const TrainingSet& rows) {
  const WholeGraphs& graphs = store.contents().graphs();
  std::vector<NodeId> smallest(rows.nodes().begin(), rows.nodes().end());
  std::stable_sort(smallest.begin(), smallest.end(),
                   [&](NodeId a, NodeId b) { return graphs.size(a) < graphs.size(b); });
  std::vector<NodeId> neighbours;
  for (const NodeId graph : smallest)
    for (const NodeId node : graphs.nodes(graph)) {
      store.contents().graph().neighbours(node, neighbours);
      const NodeOrder& order = store.contents().order();
      if (!neighbours.empty()) return Request{RequestKind::remove_edge, order.user(node), order.user(neighbours[0])};
    }
  return std::nullopt;
}

std::optional<std::size_t> steepest_of(const std::vector<double>& gradient) {
  if (gradient.empty()) return std::nullopt;
  return static_cast<std::size_t>(std::max_element(gradient.begin(), gradient.end()) - gradient.begin());
}

/// The graph and the class with the largest gradient of all wrong ones.
std::optional<CanaryRequests> mislabelled_graph(const TrainingSet& rows, const Model& model) {
  std::optional<std::pair<std::size_t, ClassId>> worst;
  double most = -1;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t c = 0; c < rows.classes(); ++c) {
      const auto label = static_cast<ClassId>(c);
      if (label == rows.labels()[i]) continue;
      const double norm = gradient_norm(rows, i, model, label);
      if (norm <= most) continue;
      most = norm;
      worst = {i, label};
    }
  if (!worst) return std::nullopt;
  const NodeId graph = rows.nodes()[worst->first];
  Request set{RequestKind::set_graph_label, graph, 0};
  set.value = std::to_string(worst->second);
  return CanaryRequests{"planted", {{RequestKind::remove_graph, graph, 0}}, {std::move(set)}};
}

std::vector<CanaryRequests> graph_canaries(const LiveStore& store, const TrainingSet& rows, const Model& model) {
  const WholeGraphs& graphs = store.contents().graphs();
  std::vector<CanaryRequests> canaries;
  if (rows.size() == 0) return canaries;
  const NodeId hub = *std::max_element(rows.nodes().begin(), rows.nodes().end(),
                                       [&](NodeId a, NodeId b) { return graphs.size(a) < graphs.size(b); });
  canaries.push_back({"hub", {{RequestKind::remove_graph, hub, 0}}});
  if (std::optional<Request> bridge = bridge_of_graphs(store, rows))
    canaries.push_back({"bridge", {*std::move(bridge)}});
  if (const auto steepest = steepest_of(gradient_norms(rows, model)))
    canaries.push_back({"gradient", {{RequestKind::remove_graph, rows.nodes()[*steepest], 0}}});
  if (std::optional<CanaryRequests> planted = mislabelled_graph(rows, model)) canaries.push_back(*std::move(planted));
  return canaries;
}

/// The pair of no edge that may become a training edge, and would have the largest gradient as one.
std::optional<CanaryRequests> unlikely_edge(const PairUnits& units, const TrainingSet& rows, const Model& model) {
  const PairList& list = units.list(PairRole::label);
  const Contents& contents = units.store().contents();
  std::optional<std::size_t> worst;
  double most = -1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Edge ends = list.ends()[rows.nodes()[i]];
    if (list.is_edge(rows.nodes()[i]) || contents.role(ends.u, ends.v) != PairRole::label) continue;
    const double norm = gradient_norm(rows, i, model, kEdgeClass);
    if (norm <= most) continue;
    most = norm;
    worst = i;
  }
  if (!worst) return std::nullopt;
  const Request removal = removal_of(units.store(), units, rows.nodes()[*worst]);
  return CanaryRequests{"planted", {removal}, {{RequestKind::insert_edge, removal.u, removal.v}}};
}

std::vector<CanaryRequests> pair_canaries(const PairUnits& units, const TrainingSet& rows, const Model& model) {
  const LiveStore& store = units.store();
  const Contents& contents = store.contents();
  const PairList& list = units.list(PairRole::label);
  std::vector<CanaryRequests> canaries;
  if (rows.size() == 0) return canaries;
  NodeId hub = 0;
  for (NodeId node = 1; node < contents.num_nodes(); ++node)
    if (contents.edges_of(node) > contents.edges_of(hub)) hub = node;
  canaries.push_back({"hub", {{RequestKind::remove_node, contents.order().user(hub), 0}}});

  const std::vector<double> gradient = gradient_norms(rows, model);
  std::optional<std::size_t> bridge, steepest;
  std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!list.is_edge(rows.nodes()[i])) continue;
    if (!steepest || gradient[i] > gradient[*steepest]) steepest = i;
    const Edge ends = list.ends()[rows.nodes()[i]];
    const std::uint64_t edges = contents.edges_of(ends.u) + contents.edges_of(ends.v);
    if (edges > fewest || (edges == fewest && gradient[i] <= gradient[*bridge])) continue;
    fewest = edges;
    bridge = i;
  }
  if (bridge) canaries.push_back({"bridge", {removal_of(store, units, rows.nodes()[*bridge])}});
  if (steepest) canaries.push_back({"gradient", {removal_of(store, units, rows.nodes()[*steepest])}});
  if (std::optional<CanaryRequests> planted = unlikely_edge(units, rows, model))
    canaries.push_back(*std::move(planted));
  return canaries;
}

/// Names of rows with their places, sorted, and what they take of the budget.
struct NamedRows {
  std::vector<std::pair<UnitName, std::size_t>> rows;
  Reservation memory;
};

NamedRows names_of(const RowUnits& units, const TrainingSet& rows, MemoryBudget& budget) {
  const auto* const pairs = dynamic_cast<const PairUnits*>(&units);
  const NodeOrder& order = units.store().contents().order();
  NamedRows named;
  named.memory = budget.reserve(rows.size() * sizeof(named.rows[0]), "names of training rows");
  named.rows.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const NodeId key = rows.nodes()[i];
    UnitName name{key, rows.labels()[i], 0};
    if (pairs != nullptr) {
      const Edge ends = pairs->list(PairRole::label).ends()[key];
      name[0] = std::uint64_t{order.user(ends.u)} << 32 | order.user(ends.v);
    }
    named.rows.emplace_back(name, i);
  }
  std::sort(named.rows.begin(), named.rows.end());
  for (std::size_t i = 1; i < named.rows.size(); ++i) {  // a pair may be drawn more than once
    const UnitName& last = named.rows[i - 1].first;
    UnitName& name = named.rows[i].first;
    if (last[0] == name[0] && last[1] == name[1]) name[2] = last[2] + 1;
  }
  return named;
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t f = 0; f < a.size(); ++f) {
    const double d = static_cast<double>(a[f]) - static_cast<double>(b[f]);
    sum += d * d;
  }
  return sum;
}

/// A row before, after, or both, by the name of what it is of.
struct Fate {
  UnitName name;
  std::optional<std::size_t> before, after;
  double moved = 0;  ///< how far, squared
};

/// What became of each row, by names.
std::vector<Fate> fates_of(const NamedRows& before, const TrainingSet& rows_before, const NamedRows& after,
                           const TrainingSet& rows_after) {
  std::vector<Fate> fates;
  fates.reserve(before.rows.size() + after.rows.size());
  auto old = before.rows.begin(), now = after.rows.begin();
  while (old != before.rows.end() || now != after.rows.end()) {
    const bool has_old = old != before.rows.end() && (now == after.rows.end() || old->first <= now->first);
    const bool has_now = now != after.rows.end() && (old == before.rows.end() || now->first <= old->first);
    Fate fate{has_old ? old->first : now->first, {}, {}};
    if (has_old) fate.before = (old++)->second;
    if (has_now) fate.after = (now++)->second;
    if (has_old && has_now) fate.moved = squared_distance(rows_before.row(*fate.before), rows_after.row(*fate.after));
    fates.push_back(fate);
  }
  return fates;
}

/// Those that take part, by names.
std::vector<Fate> chosen_fates(std::vector<Fate> fates, std::uint64_t most) {
  const auto rank = [](const Fate& fate) { return !fate.after ? 0 : !fate.before ? 1 : fate.moved > 0 ? 2 : 3; };
  std::stable_sort(fates.begin(), fates.end(), [&](const Fate& a, const Fate& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.moved > b.moved;
  });
  if (fates.size() > most) {
    // Half of them at most are those that leave, come and move farthest, and others lie evenly.
    const auto first = static_cast<std::size_t>(most / 2);
    std::vector<Fate> chosen(fates.begin(), fates.begin() + static_cast<std::ptrdiff_t>(first));
    const std::size_t others = fates.size() - first, wanted = static_cast<std::size_t>(most) - first;
    for (std::size_t k = 0; k < wanted; ++k) chosen.push_back(fates[first + k * others / wanted]);
    fates = std::move(chosen);
  }
  std::sort(fates.begin(), fates.end(), [](const Fate& a, const Fate& b) { return a.name < b.name; });
  return fates;
}

}  // namespace

double gradient_norm(const TrainingSet& rows, std::size_t i, const Model& model, ClassId label) {
  Vector slopes(index_of(rows.classes()));
  margins_of(model, rows.row(i).data(), 1, slopes.data());
  slopes_in_place(model.head, slopes.data(), rows.classes(), label);
  return rows.rows().norms[i] * slopes.norm();
}

std::vector<double> gradient_norms(const TrainingSet& rows, const Model& model) {
  std::vector<double> norms(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) norms[i] = gradient_norm(rows, i, model, rows.labels()[i]);
  return norms;
}

namespace of_units {

std::vector<CanaryRequests> find_canaries(const LiveStore& store, const ModelRecord& record, MemoryBudget& budget) {
  const TrainingRows held(store, record.rows, form_of(record), budget);
  const std::unique_ptr<const RowUnits> units = row_units(store, record.rows);
  if (const auto* const pairs = dynamic_cast<const PairUnits*>(units.get()))
    return pair_canaries(*pairs, held.set(), record.model);
  return graph_canaries(store, held.set(), record.model);
}

CanaryRequests steepest_rows(const LiveStore& store, const ModelRecord& record, std::uint64_t count,
                             MemoryBudget& budget) {
  const TrainingRows held(store, record.rows, form_of(record), budget);
  const std::unique_ptr<const RowUnits> units = row_units(store, record.rows);
  const TrainingSet& rows = held.set();
  const std::vector<double> gradient = gradient_norms(rows, record.model);
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (record.rows.pair)
    std::erase_if(order, [&](std::size_t i) { return units->label(rows.nodes()[i]) != kEdgeClass; });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gradient[a] > gradient[b]; });
  if (!order.empty()) order.resize(std::min<std::size_t>(order.size() - 1, count));
  CanaryRequests canary{"steepest rows", {}};
  for (const std::size_t i : order) canary.requests.push_back(removal_of(store, *units, rows.nodes()[i]));
  return canary;
}

Canary release_canary(const CanaryRequests& of, StoreReader& store, const ModelRecord& record, std::uint64_t most_rows,
                      MemoryBudget& budget) {
  const TrainingRows held_before(store, record.rows, form_of(record), budget);
  const TrainingSet& before = held_before.set();
  const NamedRows names_before = names_of(*row_units(store, record.rows), before, budget);
  const BatchChanges changes = store.resolve(of.requests);
  static_cast<void>(store.rehearse(of.requests));
  const TrainingRows held_after(store, record.rows, form_of(record), budget);
  const TrainingSet& after = held_after.set();
  const NamedRows names_after = names_of(*row_units(store, record.rows), after, budget);
  const Reservation memory =
      budget.reserve(2 * (before.size() + after.size()) * sizeof(Fate), "training rows compared");
  std::vector<Fate> fates = fates_of(names_before, before, names_after, after);
  if (std::all_of(fates.begin(), fates.end(),
                  [](const Fate& fate) { return fate.before && fate.after && fate.moved == 0; }))
    throw UsageError("the canary " + of.name + " changes no training row; choose other requests");
  fates = chosen_fates(std::move(fates), most_rows);

  Canary canary{of.name, TrainingSet(after.features(), after.classes(), after.form()),
                BatchChange(after.features(), after.classes(), after.form()),
                TrainingSet(after.features(), after.classes(), after.form())};
  canary.change.memory.push_back(
      budget.reserve(3 * fates.size() * after.features() * sizeof(float), "rows of the canary"));
  canary.change.begins_anew = true;
  canary.change.only_edges = changes.only_edges();
  for (std::size_t k = 0; k < fates.size(); ++k) {
    const auto key = static_cast<NodeId>(k);
    const Fate& fate = fates[k];
    if (fate.before) canary.before.append(key, before.row(*fate.before), before.labels()[*fate.before]);
    if (fate.after) canary.after.append(key, after.row(*fate.after), after.labels()[*fate.after]);
    if (!fate.after) canary.change.removed.append(key, before.row(*fate.before), before.labels()[*fate.before]);
  }
  return canary;
}

}  // namespace of_units

}  // namespace unweave
