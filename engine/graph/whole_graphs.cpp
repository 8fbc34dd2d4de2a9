// engine/graph/whole_graphs.cpp - opens whole graphs, and follows what changes of them.
#include "engine/graph/whole_graphs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "storage/formats/manifest.h"
#include "storage/formats/whole_graph_file.h"
#include "storage/io/error.h"

namespace unweave {

WholeGraphs::WholeGraphs(const std::filesystem::path& store, const Manifest& manifest) {
  if (!manifest.graphs) return;
  const GraphFiles& files = *manifest.graphs;
  count_ = files.count;
  of_ = read_graphs_of_nodes(store, files.of_nodes, manifest.nodes, count_);
  if (files.labels) labels_ = read_labels(store, *files.labels, count_, manifest.classes, &class_names_);
  const auto open = [&](SplitName name, const std::optional<FileEntry>& entry) {
    if (!entry) return;
    has_split_[static_cast<std::size_t>(name)] = true;
    splits_[static_cast<std::size_t>(name)] = read_ids(store, *entry, count_);
  };
  open(SplitName::train, files.train);
  open(SplitName::valid, files.valid);
  open(SplitName::test, files.test);
  index_nodes();
}

void WholeGraphs::index_nodes() {
  sizes_.assign(count_, 0);
  for (const std::int32_t graph : of_)
    if (graph != kNoGraph) ++sizes_[static_cast<std::size_t>(graph)];
  begins_.assign(std::size_t{count_} + 1, 0);
  std::partial_sum(sizes_.begin(), sizes_.end(), begins_.begin() + 1, std::plus<std::uint64_t>());
  by_graph_.resize(begins_.back());
  for (NodeId node = 0; node < of_.size(); ++node)
    if (of_[node] != kNoGraph) by_graph_[begins_[static_cast<std::size_t>(of_[node])]++] = node;
  // Each beginning has moved to the next one's place.
  std::copy_backward(begins_.begin(), begins_.end() - 1, begins_.end());
  begins_.front() = 0;
}

std::uint64_t WholeGraphs::bytes(const Manifest& manifest) noexcept {
  if (!manifest.graphs) return 0;
  const std::uint64_t graph = sizeof(std::uint32_t) + sizeof(std::uint64_t) +
                              (manifest.graphs->labels ? sizeof(std::int32_t) + sizeof(NodeId) : 0);
  return std::uint64_t{manifest.nodes} * (sizeof(std::int32_t) + sizeof(NodeId)) + manifest.graphs->count * graph;
}

std::vector<NodeId> WholeGraphs::nodes(std::uint32_t graph) const {
  std::vector<NodeId> nodes(by_graph_.begin() + static_cast<std::ptrdiff_t>(begins_[graph]),
                            by_graph_.begin() + static_cast<std::ptrdiff_t>(begins_[graph + 1]));
  const auto joined = joined_.find(graph);
  if (joined != joined_.end()) {
    nodes.insert(nodes.end(), joined->second.begin(), joined->second.end());
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  }
  std::erase_if(nodes, [&](NodeId node) { return of_[node] != static_cast<std::int32_t>(graph); });
  return nodes;
}

SplitName WholeGraphs::split(std::uint32_t graph) const noexcept {
  for (const SplitName name : {SplitName::train, SplitName::valid, SplitName::test})
    if (std::binary_search(members(name).begin(), members(name).end(), graph)) return name;
  return SplitName::none;
}

void WholeGraphs::set(const GraphChanges& changes) {
  for (const SetGraph& one : changes.of_nodes) {
    set_nodes_[one.node] = one.graph;
    std::int32_t& graph = of_[one.node];
    if (graph == one.graph) continue;
    if (graph != kNoGraph) --sizes_[static_cast<std::size_t>(graph)];
    graph = one.graph;
    if (graph == kNoGraph) continue;
    ++sizes_[static_cast<std::size_t>(graph)];
    joined_[static_cast<std::uint32_t>(graph)].push_back(one.node);
  }
  for (const SetLabel& one : changes.labels) labels_[one.node] = set_labels_[one.node] = one.label;
  if (changes.splits.empty()) return;
  for (const SetSplit& one : changes.splits) set_splits_[one.node] = one.split;
  const auto moves = [&](NodeId graph) {
    const auto at = std::lower_bound(changes.splits.begin(), changes.splits.end(), graph,
                                     [](const SetSplit& one, NodeId other) { return one.node < other; });
    return at != changes.splits.end() && at->node == graph;
  };
  for (const SplitName name : {SplitName::train, SplitName::valid, SplitName::test}) {
    std::vector<NodeId>& graphs = splits_[static_cast<std::size_t>(name)];
    std::erase_if(graphs, moves);
    const auto stay = static_cast<std::ptrdiff_t>(graphs.size());
    for (const SetSplit& one : changes.splits)
      if (one.split == name) graphs.push_back(one.node);
    std::inplace_merge(graphs.begin(), graphs.begin() + stay, graphs.end());
  }
}

GraphChanges WholeGraphs::changes() const {
  GraphChanges changes;
  for (const auto& [node, graph] : set_nodes_) changes.of_nodes.push_back({node, graph});
  for (const auto& [graph, label] : set_labels_) changes.labels.push_back({graph, label});
  for (const auto& [graph, split] : set_splits_) changes.splits.push_back({graph, split});
  const auto by_number = [](const auto& a, const auto& b) { return a.node < b.node; };
  std::sort(changes.of_nodes.begin(), changes.of_nodes.end(), by_number);
  std::sort(changes.labels.begin(), changes.labels.end(), by_number);
  std::sort(changes.splits.begin(), changes.splits.end(), by_number);
  return changes;
}

}  // namespace unweave
