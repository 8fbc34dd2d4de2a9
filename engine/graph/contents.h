// engine/graph/contents.h - what a store holds at this moment: graph, features, labels, splits, after all requests so far.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "engine/graph/features.h"
#include "engine/graph/graph.h"
#include "engine/graph/node_order.h"
#include "engine/resources/memory.h"
#include "storage/formats/manifest.h"
#include "storage/formats/node_file.h"
#include "storage/io/types.h"

namespace unweave {

class Contents {
 public:
  /// Opens the generation of a manifest. Throws DataError, FormatError.
  Contents(const std::filesystem::path& store, const Manifest& manifest);
  /// Memory that it takes when it is opened: values and bits of the nodes, splits, changed lists. More changes take more.
  [[nodiscard]] static std::uint64_t bytes(const Manifest& manifest) noexcept;
  /// Edges that differ from the shards, at most.
  [[nodiscard]] static std::uint64_t changed_edges(const Manifest& manifest) noexcept;
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  /// Between the user's ids and the positions of which all else here speaks.
  [[nodiscard]] const NodeOrder& order() const noexcept { return order_; }
  Graph& graph() noexcept { return graph_; }
  [[nodiscard]] const Graph& graph() const noexcept { return graph_; }
  [[nodiscard]] const Features& features() const noexcept { return features_; }
  [[nodiscard]] NodeId num_nodes() const noexcept { return graph_.num_nodes(); }
  [[nodiscard]] bool has_labels() const noexcept { return !labels_.empty(); }
  /// The class of a node, or kNoLabel.
  [[nodiscard]] std::int32_t label(NodeId node) const noexcept { return labels_.empty() ? kNoLabel : labels_[node]; }
  [[nodiscard]] const std::vector<NodeId>& train() const noexcept { return train_; }  ///< sorted, as the next two
  [[nodiscard]] const std::vector<NodeId>& valid() const noexcept { return valid_; }
  [[nodiscard]] const std::vector<NodeId>& test() const noexcept { return test_; }
  [[nodiscard]] std::uint64_t num_labelled() const noexcept { return labelled_; }

  /// The name of a node, empty where it has none: a node that was cleared and has no edges has lost it, although its word is
  /// still understood until a purge takes it out of the files.
  [[nodiscard]] std::string_view name(NodeId node) const {
    return has_lost_name(node) ? std::string_view() : order_.names().name(order_.user(node));
  }
  [[nodiscard]] bool has_lost_name(NodeId node) const { return cleared_.contains(node) && graph_.degree(node) == 1; }
  /// True when clearing the node would change nothing: no features, no label.
  [[nodiscard]] bool is_blank(NodeId node) const;
  /// Sets features to zero and label to none, and takes the nodes out of the splits.
  void clear(const std::vector<NodeId>& nodes);
  [[nodiscard]] const NodeSet& cleared() const noexcept { return cleared_; }
  /// Differences from the immutable files.
  [[nodiscard]] Changes changes() const;

 private:
  Contents(const std::filesystem::path& store, const Manifest& manifest, const Changes& changes);
  NodeOrder order_;
  NodeSet cleared_;
  Graph graph_;
  Features features_;
  std::vector<std::int32_t> labels_;
  std::uint64_t labelled_ = 0;
  std::vector<NodeId> train_, valid_, test_;
};

/// Room for the contents of a manifest that is about to be opened. Throws ResourceError.
[[nodiscard]] Reservation reserve_contents(const Manifest& manifest, MemoryBudget& budget);

}  // namespace unweave
