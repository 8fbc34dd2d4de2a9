// storage/types/changes.h - what requests have changed of a store's edges, features, labels and
// splits, in absolute values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/io/time_text.h"
#include "storage/io/types.h"

namespace unweave {

/// A row of features that was set. Its words are the number k of values whose bits are not all 0,
/// then, if 2 k is below the number of columns, their k columns and k values as float32 bits, else
/// all values. Copies share them.
struct SetRow {
  NodeId node = 0;
  std::shared_ptr<const std::vector<std::uint32_t>> words;

  friend bool operator==(const SetRow& a, const SetRow& b) { return a.node == b.node && *a.words == *b.words; }
};

struct SetLabel {
  NodeId node = 0;
  std::int32_t label = 0;  ///< kNoLabel for none

  friend bool operator==(const SetLabel&, const SetLabel&) = default;
};

enum class SplitName : std::uint32_t { none = 0, train = 1, valid = 2, test = 3 };

struct SetSplit {
  NodeId node = 0;
  SplitName split = SplitName::none;

  friend bool operator==(const SetSplit&, const SetSplit&) = default;
};

/// The whole graph of a node that belongs to none.
inline constexpr std::int32_t kNoGraph = -1;
/// Graphs of a store at most.
inline constexpr std::uint32_t kMostGraphs = 2147483647;

struct SetGraph {
  NodeId node = 0;
  std::int32_t graph = kNoGraph;

  friend bool operator==(const SetGraph&, const SetGraph&) = default;
};

/// What requests have changed of whole graphs. Where labels and splits say `node` they mean the
/// number of a graph.
struct GraphChanges {
  std::vector<SetGraph> of_nodes;  ///< sorted by node; to which graph nodes belong now
  std::vector<SetLabel> labels;    ///< sorted by graph, as the next one
  std::vector<SetSplit> splits;

  [[nodiscard]] bool empty() const noexcept { return of_nodes.empty() && labels.empty() && splits.empty(); }
  [[nodiscard]] std::uint64_t size() const noexcept { return of_nodes.size() + labels.size() + splits.size(); }
  friend bool operator==(const GraphChanges&, const GraphChanges&) = default;
};

/// An edge that has lost or gained so many units of weight, 1 where edges have none. u < v.
struct ChangedEdge {
  NodeId u = 0, v = 0;
  std::uint32_t units = 1;

  friend bool operator==(const ChangedEdge&, const ChangedEdge&) = default;
};

/// What is set comes after what is cleared: a cleared node may have a row, a label and a split that
/// were set later.
struct Changes {
  /// Sorted; edges of the shards that are gone, and such as the shards lack, or that weigh less or
  /// more than there: each edge once, in one of both alone.
  std::vector<ChangedEdge> removed, inserted;
  std::vector<NodeId> cleared;   ///< sorted; nodes without features, label and split
  std::vector<SetLabel> labels;  ///< sorted by node, as the next two
  std::vector<SetSplit> splits;
  std::vector<SetRow> rows;
  GraphChanges graphs;
  std::vector<NodeId>
      lost_names;  ///< sorted; nodes that were removed, and had a name, which the files have until a purge

  friend bool operator==(const Changes&, const Changes&) = default;
};

/// When an item is to go, and the id of the request that said so.
struct ExpiryNote {
  Millis time = 0;
  std::string id{};

  friend bool operator==(const ExpiryNote&, const ExpiryNote&) = default;
};

}  // namespace unweave
