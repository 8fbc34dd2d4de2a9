// engine/graph/contents.cpp - opens what a store holds, lists its changes, and clears and sets the
// data of nodes.
#include "engine/graph/contents.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/graph/node_set.h"
#include "engine/resources/parallel.h"
#include "storage/formats/run_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"
#include "storage/types/class_names.h"

namespace unweave {
namespace {

Changes changes_of(const std::filesystem::path& store, const Manifest& manifest) {
  if (!manifest.changes) return {};
  return read_changes(store, *manifest.changes, changes_scope(manifest));
}

std::unique_ptr<Graph> held_of(const std::filesystem::path& store, const Manifest& manifest) {
  if (!manifest.pairs) return nullptr;
  const Manifest held = manifest.of_held();
  return std::make_unique<Graph>(store, held, changes_of(store, held));
}

DataRules rules_of(const Manifest& manifest) {
  return {manifest.classes,
          manifest.standardized,
          manifest.scale,
          manifest.feature_layout.type,
          manifest.train.has_value(),
          manifest.valid.has_value(),
          manifest.test.has_value(),
          manifest.layers.relations.empty() || manifest.weight_unit ? manifest.max_weight : 1,
          false,
          manifest.pairs ? std::optional(manifest.pairs->rules) : std::nullopt,
          manifest.weight_unit,
          most_degree(manifest.propagation ? manifest.propagation->scale_bits : kDefaultScaleBits)};
}

/// Throws FormatError for labels or splits of a store that has none.
void require_places(const std::filesystem::path& store, const Manifest& manifest, const Changes& changes) {
  const DataRules rules = rules_of(manifest);
  const auto refuse = [&](const char* what) {
    throw FormatError(store / manifest.changes->path, what, "the store has none of them");
  };
  if (!changes.rows.empty() && manifest.features == 0) refuse("rows of features");
  if (!changes.labels.empty() && !manifest.labels) refuse("labels");
  for (const SetSplit& one : changes.splits)
    if (!rules.has(one.split)) refuse("splits");
}

/// Throws FormatError for labels or splits of graphs in a store without them, and for a split of a
/// graph without a label.
void require_places(const std::filesystem::path& store, const Manifest& manifest, const GraphChanges& changes,
                    const WholeGraphs& graphs) {
  const auto refuse = [&](const char* what, const char* fault) {
    throw FormatError(store / manifest.changes->path, what, fault);
  };
  if (!changes.labels.empty() && !graphs.has_labels()) refuse("labels of graphs", "the store has none of them");
  for (const SetSplit& one : changes.splits)
    if (!graphs.has(one.split)) refuse("splits of graphs", "the store has none of them");
}

std::vector<NodeId> split_of(const std::filesystem::path& store, const std::optional<FileEntry>& entry, NodeId nodes) {
  return entry ? read_ids(store, *entry, nodes) : std::vector<NodeId>();
}

}  // namespace

Contents::Contents(const std::filesystem::path& store, const Manifest& manifest)
    : Contents(store, manifest, changes_of(store, manifest)) {}

Contents::Contents(const std::filesystem::path& store, const Manifest& manifest, const Changes& changes)
    : order_(store, manifest),
      rules_(rules_of(manifest)),
      cleared_(manifest.nodes),
      graph_(store, manifest, changes),
      held_(held_of(store, manifest)),
      features_(store, manifest, cleared_),
      expiries_(store, manifest),
      graphs_(store, manifest),
      train_(split_of(store, manifest.train, manifest.nodes)),
      valid_(split_of(store, manifest.valid, manifest.nodes)),
      test_(split_of(store, manifest.test, manifest.nodes)) {
  if (manifest.labels) {
    labels_.emplace(store, *manifest.labels, manifest.nodes, manifest.classes);
    const std::vector<std::string>& names = labels_->class_names();
    rules_.numbers_name_classes = std::any_of(names.begin(), names.end(), is_number_name);
  }
  if (manifest.graphs)
    rules_.numbers_name_classes |=
        std::any_of(graphs_.class_names().begin(), graphs_.class_names().end(), is_number_name);
  clear(changes.cleared);
  for (const auto& [item, time, id] : expiries_.sorted()) {
    if ((is_node_item(item) || is_feature_item(item)) && item.v >= order_.users())
      throw FormatError(store / manifest.expiries->path, "expiries", "no such node");
    if (is_node_item(item) || is_feature_item(item) || is_graph_item(item)) continue;
    if (const NodeId u = order_.place(item.u), v = order_.place(item.v); !graph_of(u, v).has_edge(u, v))
      throw FormatError(store / manifest.expiries->path, "expiries", "no such edge in the graph");
  }
  if (!manifest.changes) return;
  require_places(store, manifest, changes);
  set(changes.labels, changes.splits, changes.rows);
  for (const SetSplit& one : changes.splits)
    if (one.split != SplitName::none && label(one.node) == kNoLabel)
      throw FormatError(store / manifest.changes->path, "splits", "a node without a label is in a split");
  require_places(store, manifest, changes.graphs, graphs_);
  graphs_.set(changes.graphs);
  for (const SetSplit& one : changes.graphs.splits)
    if (one.split != SplitName::none && graphs_.label(one.node) == kNoLabel)
      throw FormatError(store / manifest.changes->path, "splits of graphs", "a graph without a label is in a split");
  if (manifest.names) open_lost_names(store, manifest, changes);
}

void Contents::open_lost_names(const std::filesystem::path& store, const Manifest& manifest, const Changes& changes) {
  for (const NodeId node : changes.lost_names)
    if (name(node).empty())
      throw FormatError(store / manifest.changes->path, "lost names", "a node that has no name has lost one");
  lose_names(changes.lost_names);
}

void Contents::take_scale(std::uint32_t scale_bits) noexcept {
  rules_.most_degree = most_degree(scale_bits);
}

std::uint64_t Contents::bytes(const Manifest& manifest) noexcept {
  std::uint64_t bytes = manifest.nodes / 4;         // two bits
  if (manifest.names) bytes += manifest.nodes / 8;  // lost names
  for (std::size_t span = 0; span < num_spans(manifest.nodes); ++span)
    bytes += Shard::memory_bytes(span_range(manifest.nodes, span).size(), manifest.weight_unit.has_value()) *
             (manifest.pairs ? 2 : 1);
  bytes += Graph::map_bytes(manifest.nodes) * (manifest.pairs ? 2 : 1);
  bytes += WholeGraphs::bytes(manifest);
  for (const auto* const split : {&manifest.train, &manifest.valid, &manifest.test})
    if (*split) bytes += std::min<std::uint64_t>((*split)->bytes, std::uint64_t{manifest.nodes} * sizeof(NodeId));
  return bytes;
}

std::uint64_t Contents::change_bytes(const std::filesystem::path& store, const Manifest& manifest) {
  std::uint64_t bytes = manifest.expiries ? Expiries::bytes(count_expiries(*manifest.expiries), 0) : 0;
  if (manifest.pairs && manifest.pairs->changes)
    bytes += Graph::change_bytes(count_changes(store, *manifest.pairs->changes).edges, manifest.nodes,
                                 manifest.weight_unit.has_value());
  if (!manifest.changes) return bytes;
  const ChangesCounts counts =
      count_changes(store, *manifest.changes, manifest.graphs.has_value(), manifest.weight_unit.has_value());
  return bytes + Graph::change_bytes(counts.edges, manifest.nodes, manifest.max_weight > 1) +
         Features::set_bytes(counts.rows, counts.row_bytes) +
         value_bytes(counts.labels + counts.splits + counts.graphs);
}

std::uint64_t Contents::num_labelled() const {
  if (!labels_) return 0;
  std::int64_t in_file = labelled_in_file_.load(std::memory_order_relaxed);
  if (in_file < 0) {
    constexpr std::size_t kTask = std::size_t{1} << 16;
    std::atomic<std::int64_t> labelled = 0;
    parallel_ranges(0, num_nodes(), kTask, [&](std::size_t first, std::size_t last) {
      const auto labels = labels_->values({static_cast<NodeId>(first), static_cast<NodeId>(last)});
      labelled += static_cast<std::int64_t>(labels.size()) - std::count(labels.begin(), labels.end(), kNoLabel);
    });
    in_file = labelled;
    labelled_in_file_.store(in_file, std::memory_order_relaxed);
  }
  return static_cast<std::uint64_t>(in_file + more_labelled_);
}

const std::vector<NodeId>& Contents::members(SplitName split) const noexcept {
  static const std::vector<NodeId> nobody;
  return split == SplitName::train   ? train_
         : split == SplitName::valid ? valid_
         : split == SplitName::test  ? test_
                                     : nobody;
}

SplitName Contents::split(NodeId node) const noexcept {
  if (std::binary_search(train_.begin(), train_.end(), node)) return SplitName::train;
  if (std::binary_search(valid_.begin(), valid_.end(), node)) return SplitName::valid;
  return std::binary_search(test_.begin(), test_.end(), node) ? SplitName::test : SplitName::none;
}

bool Contents::is_blank(NodeId node) const {
  if (label(node) != kNoLabel) return false;
  std::vector<float> scratch;
  return features_.is_zero(node, scratch);
}

void Contents::clear(const std::vector<NodeId>& nodes) {
  if (nodes.empty()) return;
  for (const NodeId node : nodes) {
    more_labelled_ -= label(node) != kNoLabel ? 1 : 0;
    cleared_.insert(node);
    features_.unset(node);
    set_labels_.erase(node);
    set_splits_.erase(node);
  }
  for (auto* split : {&train_, &valid_, &test_})
    std::erase_if(*split, [&](NodeId node) {
      return std::binary_search(nodes.begin(), nodes.end(), node);  // others were cleared before, and set since
    });
}

void Contents::set(const std::vector<SetLabel>& labels, const std::vector<SetSplit>& splits, std::vector<SetRow> rows) {
  for (const SetLabel& one : labels) {
    more_labelled_ += one.label != kNoLabel ? 1 : 0;
    more_labelled_ -= label(one.node) != kNoLabel ? 1 : 0;
    set_labels_[one.node] = one.label;
  }
  set_splits(splits);
  for (SetRow& row : rows) features_.set(std::move(row));
}

void Contents::set_splits(const std::vector<SetSplit>& splits) {
  if (splits.empty()) return;
  for (const SetSplit& one : splits) set_splits_[one.node] = one.split;
  const auto moves = [&](NodeId node) {
    const auto at = std::lower_bound(splits.begin(), splits.end(), node,
                                     [](const SetSplit& one, NodeId other) { return one.node < other; });
    return at != splits.end() && at->node == node;
  };
  const auto rebuild = [&](SplitName name, std::vector<NodeId>& ids) {
    std::erase_if(ids, moves);
    const auto stay = static_cast<std::ptrdiff_t>(ids.size());
    for (const SetSplit& one : splits)
      if (one.split == name) ids.push_back(one.node);
    std::inplace_merge(ids.begin(), ids.begin() + stay, ids.end());
  };
  rebuild(SplitName::train, train_);
  rebuild(SplitName::valid, valid_);
  rebuild(SplitName::test, test_);
}

Changes Contents::changes() const {
  Changes changes;
  graph_.collect_changes(changes);
  changes.cleared = cleared_.sorted();
  for (const auto& [node, label] : set_labels_) changes.labels.push_back({node, label});
  for (const auto& [node, split] : set_splits_) changes.splits.push_back({node, split});
  const auto by_node = [](const auto& a, const auto& b) { return a.node < b.node; };
  std::sort(changes.labels.begin(), changes.labels.end(), by_node);
  std::sort(changes.splits.begin(), changes.splits.end(), by_node);
  changes.rows = features_.set_rows();
  changes.graphs = graphs_.changes();
  changes.lost_names = order_.names().lost().sorted();
  for (NodeId& node : changes.lost_names) node = order_.position(node);
  std::sort(changes.lost_names.begin(), changes.lost_names.end());
  return changes;
}

Changes Contents::held_changes() const {
  Changes changes;
  if (held_) held_->collect_changes(changes);
  return changes;
}

ChangesScope changes_scope(const Manifest& manifest) {
  return {manifest.nodes,
          manifest.features,
          manifest.classes,
          manifest.max_weight,
          manifest.names.has_value(),
          manifest.graphs ? std::optional(manifest.graphs->count) : std::nullopt,
          manifest.weight_unit.has_value()};
}

Reservation reserve_contents(const std::filesystem::path& store, const Manifest& manifest, MemoryBudget& budget) {
  return budget.reserve(Contents::bytes(manifest) + Contents::change_bytes(store, manifest),
                        "values of nodes, changed lists of the graph");
}

}  // namespace unweave
