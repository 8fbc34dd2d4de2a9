// engine/graph/whole_graphs.h - whole graphs in a store, which are classified as nodes are
// elsewhere: to which one each node belongs, their labels and splits.
//
// A whole graph is a number below a count that the import has fixed, and the nodes that belong to
// it. Edges stay inside: both ends of one belong to the same graph, or both to none. A node that is
// removed leaves its graph; one that loses its features stays there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/formats/node_file.h"
#include "storage/io/types.h"
#include "storage/types/changes.h"

namespace unweave {

struct Manifest;

/// Nodes are positions, and labels and splits are by the number of a graph. Const members may be
/// called from any number of threads at once.
class WholeGraphs {
 public:
  /// Those of the files; none where the manifest names none. Throws DataError, FormatError.
  WholeGraphs(const std::filesystem::path& store, const Manifest& manifest);
  /// Memory that they take: 8 bytes a node, 12 to 16 a graph.
  [[nodiscard]] static std::uint64_t bytes(const Manifest& manifest) noexcept;

  /// Numbers of graphs, 0 .. count() - 1; 0 in a store without graphs.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] bool any() const noexcept { return count_ > 0; }
  /// The graph of a node, or kNoGraph.
  [[nodiscard]] std::int32_t of(NodeId node) const noexcept { return any() ? of_[node] : kNoGraph; }
  /// Nodes that belong to a graph now.
  [[nodiscard]] std::uint32_t size(std::uint32_t graph) const noexcept { return sizes_[graph]; }
  /// These nodes, sorted.
  [[nodiscard]] std::vector<NodeId> nodes(std::uint32_t graph) const;

  [[nodiscard]] bool has_labels() const noexcept { return !labels_.empty(); }
  [[nodiscard]] std::int32_t label(std::uint32_t graph) const noexcept {
    return labels_.empty() ? kNoLabel : labels_[graph];
  }
  /// Names of the classes; empty where they have numbers alone, or nodes have the labels.
  [[nodiscard]] const std::vector<std::string>& class_names() const noexcept { return class_names_; }
  /// Whether there is such a split; there is always none.
  [[nodiscard]] bool has(SplitName split) const noexcept { return has_split_[static_cast<std::size_t>(split)]; }
  /// Graphs of a split, sorted.
  [[nodiscard]] const std::vector<NodeId>& members(SplitName split) const noexcept {
    return splits_[static_cast<std::size_t>(split)];
  }
  [[nodiscard]] SplitName split(std::uint32_t graph) const noexcept;

  /// Sets what is different now, each list sorted.
  void set(const GraphChanges& changes);
  /// Differences from the files.
  [[nodiscard]] GraphChanges changes() const;
  [[nodiscard]] std::uint64_t changed() const noexcept {
    return set_nodes_.size() + set_labels_.size() + set_splits_.size();
  }

 private:
  void index_nodes();

  std::uint32_t count_ = 0;
  std::vector<std::int32_t> of_;       ///< by position
  std::vector<std::uint64_t> begins_;  ///< where each graph begins in `by_graph_`, count + 1
  std::vector<NodeId> by_graph_;       ///< nodes of the files, graph after graph, sorted
  std::vector<std::uint32_t> sizes_;
  std::vector<std::int32_t> labels_;
  std::vector<std::string> class_names_;
  std::array<bool, 4> has_split_{true, false, false, false};
  std::array<std::vector<NodeId>, 4> splits_;  ///< by SplitName; none stays empty
  std::unordered_map<NodeId, std::int32_t> set_nodes_;
  std::unordered_map<std::uint32_t, std::vector<NodeId>> joined_;  ///< nodes that came to a graph since
  std::unordered_map<std::uint32_t, std::int32_t> set_labels_;
  std::unordered_map<std::uint32_t, SplitName> set_splits_;
};

}  // namespace unweave
