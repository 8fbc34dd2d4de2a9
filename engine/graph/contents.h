// engine/graph/contents.h - what a store holds at this moment: graph, features, labels, splits,
// after all requests so far.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/graph/expiries.h"
#include "engine/graph/features.h"
#include "engine/graph/graph.h"
#include "engine/graph/node_order.h"
#include "engine/graph/whole_graphs.h"
#include "engine/resources/memory.h"
#include "storage/formats/node_file.h"
#include "storage/io/types.h"
#include "storage/types/feature_layout.h"
#include "storage/types/pair_rules.h"
#include "storage/types/weight_unit.h"

namespace unweave {

struct ChangesScope;
struct Manifest;

/// What an import has fixed for all data that come later.
struct DataRules {
  std::uint32_t classes = 0;
  bool standardized = false;
  FeatureScale scale;
  FeatureType type = FeatureType::f32;
  bool has_train = false, has_valid = false, has_test = false;
  std::uint32_t max_weight = 1;             ///< largest weight of users' edges, not of those of sets
  bool numbers_name_classes = false;        ///< a class has a number as its name
  std::optional<PairRules> pairs{};         ///< where links are predicted
  std::optional<WeightUnit> weight_unit{};  ///< where weights are real: what `max_weight` counts
  /// Units that a node's edges and its self loop weigh at most there, so that float64 holds the
  /// sums of the present scale.
  std::uint64_t most_degree = 0;

  /// Whether there is such a split; there is always none.
  [[nodiscard]] bool has(SplitName split) const noexcept {
    return split == SplitName::none || (split == SplitName::train && has_train) ||
           (split == SplitName::valid && has_valid) || (split == SplitName::test && has_test);
  }
};

class Contents {
 public:
  /// Opens the generation of a manifest. Throws DataError, FormatError.
  Contents(const std::filesystem::path& store, const Manifest& manifest);
  /// Memory that it takes when it is opened: values and bits of the nodes, splits.
  [[nodiscard]] static std::uint64_t bytes(const Manifest& manifest) noexcept;
  /// Memory that the manifest's changes take beside that. More changes take more. Throws DataError,
  /// FormatError.
  [[nodiscard]] static std::uint64_t change_bytes(const std::filesystem::path& store, const Manifest& manifest);
  /// Memory of the changes that there are now.
  [[nodiscard]] std::uint64_t change_bytes() const noexcept {
    return graph_.change_bytes() + features_.set_bytes() +
           value_bytes(set_labels_.size() + set_splits_.size() + graphs_.changed()) + expiries_.bytes() +
           (held_ ? held_->change_bytes() : 0);
  }
  /// Memory of so many labels and splits that were set.
  [[nodiscard]] static std::uint64_t value_bytes(std::uint64_t values) noexcept { return values * 64; }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  /// Between the user's ids and the positions of which all else here speaks.
  [[nodiscard]] const NodeOrder& order() const noexcept { return order_; }
  Graph& graph() noexcept { return graph_; }
  [[nodiscard]] const Graph& graph() const noexcept { return graph_; }
  /// The edges that are held out of the graph, as a graph of the same nodes; null where no links
  /// are predicted.
  Graph* held() noexcept { return held_.get(); }
  [[nodiscard]] const Graph* held() const noexcept { return held_.get(); }
  /// The role of a pair of nodes, whichever of them an edge leads to; there must be rules of pairs.
  [[nodiscard]] PairRole role(NodeId u, NodeId v) const {
    const Edge led = order_.led({u, v});
    return rules_.pairs->role(order_.user(led.u), order_.user(led.v));
  }
  /// Whether an edge of these nodes is held out of the graph, or would be.
  [[nodiscard]] bool holds(NodeId u, NodeId v) const { return rules_.pairs && rules_.pairs->holds(role(u, v)); }
  /// The graph that has an edge of these nodes, or would have it.
  [[nodiscard]] const Graph& graph_of(NodeId u, NodeId v) const { return holds(u, v) ? *held_ : graph_; }
  /// Edges of a node in both graphs: where edges have weights perhaps more than there are, but 0
  /// only where there is none.
  [[nodiscard]] std::uint64_t edges_of(NodeId node) const {
    const auto of = [node](const Graph& graph) -> std::uint64_t {
      return graph.list_weight(node) == 0 ? 0 : graph.list_length(node);
    };
    return of(graph_) + (held_ ? of(*held_) : 0);
  }
  [[nodiscard]] const Features& features() const noexcept { return features_; }
  [[nodiscard]] NodeId num_nodes() const noexcept { return graph_.num_nodes(); }
  /// Lists, features and labels of these nodes will be read soon.
  void read_ahead(NodeRange nodes) const noexcept {
    graph_.read_ahead(nodes);
    if (held_) held_->read_ahead(nodes);
    features_.read_ahead(nodes, 0, features_.columns());
    if (labels_) labels_->read_ahead(nodes);
  }
  [[nodiscard]] bool has_labels() const noexcept { return labels_.has_value(); }
  /// The class of a node, or kNoLabel. Throws FormatError where the file of labels is damaged
  /// there.
  [[nodiscard]] std::int32_t label(NodeId node) const {
    if (!labels_) return kNoLabel;
    if (!set_labels_.empty())
      if (const auto set = set_labels_.find(node); set != set_labels_.end()) return set->second;
    return cleared_.contains(node) ? kNoLabel : (*labels_)[node];
  }
  [[nodiscard]] const std::vector<NodeId>& train() const noexcept { return train_; }  ///< sorted, as the next two
  [[nodiscard]] const std::vector<NodeId>& valid() const noexcept { return valid_; }
  [[nodiscard]] const std::vector<NodeId>& test() const noexcept { return test_; }
  /// Nodes that have a label. The first call reads all labels; how many more there are than in the
  /// file is known without. Throws FormatError.
  [[nodiscard]] std::uint64_t num_labelled() const;
  [[nodiscard]] std::int64_t more_labelled() const noexcept { return more_labelled_; }
  /// The nodes of a split, sorted; of none, none.
  [[nodiscard]] const std::vector<NodeId>& members(SplitName split) const noexcept;
  /// The split that a node is in.
  [[nodiscard]] SplitName split(NodeId node) const noexcept;
  /// To which whole graphs nodes belong, and what is known of these.
  [[nodiscard]] const WholeGraphs& graphs() const noexcept { return graphs_; }
  void set(const GraphChanges& changes) { graphs_.set(changes); }
  /// When which edges, nodes, features and whole graphs are to be removed.
  [[nodiscard]] Expiries& expiries() noexcept { return expiries_; }
  [[nodiscard]] const Expiries& expiries() const noexcept { return expiries_; }
  [[nodiscard]] const DataRules& rules() const noexcept { return rules_; }
  /// Sums are of this scale from now on: what a node's edges may weigh follows from it.
  void take_scale(std::uint32_t scale_bits) noexcept;

  /// The name of a node, empty where it has none, or has lost it.
  [[nodiscard]] std::string_view name(NodeId node) const { return order_.names().name(order_.user(node)); }
  /// Takes the names, where they have some, from nodes that are removed. No other change does so,
  /// and nothing gives them back.
  void lose_names(const std::vector<NodeId>& nodes) {
    for (const NodeId node : nodes) order_.lose_name(node);
  }
  /// True when clearing the node would change nothing: no features, no label.
  [[nodiscard]] bool is_blank(NodeId node) const;
  /// Sets features to zero and label to none, and takes the nodes, sorted, out of the splits.
  void clear(const std::vector<NodeId>& nodes);
  [[nodiscard]] const NodeSet& cleared() const noexcept { return cleared_; }
  /// Replaces labels, then splits, then rows of features, each list sorted by node. There are such
  /// labels and splits, and whoever is in a split has a label.
  void set(const std::vector<SetLabel>& labels, const std::vector<SetSplit>& splits, std::vector<SetRow> rows);
  /// Whether a label, a split or a whole graph was set since the files were written.
  [[nodiscard]] bool has_set_values() const noexcept {
    return !set_labels_.empty() || !set_splits_.empty() || graphs_.changed() > 0;
  }
  /// Differences from the immutable files.
  [[nodiscard]] Changes changes() const;
  /// Differences of the edges that are held out of the graph.
  [[nodiscard]] Changes held_changes() const;

 private:
  Contents(const std::filesystem::path& store, const Manifest& manifest, const Changes& changes);
  void set_splits(const std::vector<SetSplit>& splits);
  void open_lost_names(const std::filesystem::path& store, const Manifest& manifest, const Changes& changes);
  NodeOrder order_;
  DataRules rules_;
  NodeSet cleared_;
  Graph graph_;
  std::unique_ptr<Graph> held_;
  Features features_;
  Expiries expiries_;
  WholeGraphs graphs_;
  std::optional<LabelFile> labels_;
  std::int64_t more_labelled_ = 0;
  mutable std::atomic<std::int64_t> labelled_in_file_ = -1;  ///< -1: not counted yet
  std::vector<NodeId> train_, valid_, test_;
  std::unordered_map<NodeId, std::int32_t> set_labels_;
  std::unordered_map<NodeId, SplitName> set_splits_;
};

/// What the changes of a store with this manifest may speak of.
[[nodiscard]] ChangesScope changes_scope(const Manifest& manifest);

/// Room for the contents of a manifest that is about to be opened. Throws ResourceError, DataError,
/// FormatError.
[[nodiscard]] Reservation reserve_contents(const std::filesystem::path& store, const Manifest& manifest,
                                           MemoryBudget& budget);

}  // namespace unweave
