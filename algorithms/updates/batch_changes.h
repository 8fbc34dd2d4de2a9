// algorithms/updates/batch_changes.h - what a batch of requests changes: counts, statuses, and the
// net difference that propagation sees.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/updates/id_conflict.h"
#include "algorithms/updates/request_status.h"
#include "engine/resources/memory.h"
#include "storage/io/types.h"
#include "storage/types/changes.h"

namespace unweave {

/// A neighbour whose edge loses or gains this much weight; 1 where edges have none.
struct ChangedNeighbour {
  NodeId node = 0;
  std::uint32_t weight = 1;
};

/// Net change of one node's row inputs. Nodes are positions, here and below.
struct NodeChange {
  NodeId node = 0;
  std::vector<ChangedNeighbour> removed, inserted;  ///< sorted by node, one in one of both alone
  bool cleared = false;                             ///< features to zero, label to none, out of the splits
  bool loses_name = false;                          ///< it is removed, and had a name
  /// What it has then, after it was cleared where it is: words of its row (run_file.h), a label, a
  /// split.
  std::shared_ptr<const std::vector<std::uint32_t>> row{};
  std::optional<std::int32_t> label{};
  std::optional<SplitName> split{};
  std::optional<std::int32_t> graph{};  ///< to which whole graph it belongs then, or kNoGraph

  /// The label that it has then, where it had `before`.
  [[nodiscard]] std::int32_t label_after(std::int32_t before) const noexcept {
    return label.value_or(cleared ? std::int32_t{-1} : before);
  }
};

/// An edge that is held out of the graph, by positions, u < v, loses or gains this much weight.
struct HeldChange {
  Edge edge;
  std::uint32_t weight = 1;  ///< 1 where no weights are real
  bool inserted = false;
};

struct BatchChanges {
  std::uint64_t requests = 0;
  std::uint64_t applied = 0;
  std::uint64_t rejected = 0;
  std::uint64_t edges_removed = 0;  ///< by `edge` requests
  std::uint64_t nodes_removed = 0;
  /// By which the number of the graph's edges changes, in all copies; it tells what degrees removed
  /// nodes had, and is shown to nobody.
  std::int64_t edge_difference = 0;
  std::uint64_t features_removed = 0;
  std::uint64_t edges_inserted = 0;
  std::uint64_t features_set = 0;
  std::uint64_t labels_set = 0;
  std::uint64_t splits_moved = 0;
  std::uint64_t nodes_inserted = 0;
  std::uint64_t weights_set = 0;
  std::uint64_t graphs_removed = 0;  ///< by `graph` requests, with their nodes
  std::uint64_t graph_labels_set = 0;
  std::uint64_t graph_splits_moved = 0;
  std::uint64_t expiries_set = 0;    ///< by requests; notes that went with what they were about are not among them
  std::vector<NodeChange> nodes;     ///< every node whose adjacency, features, label or split differ afterwards, sorted
  std::vector<HeldChange> held;      ///< edges that are held out of the graph, sorted; no row of a node depends on them
  std::uint64_t edges_held = 0;      ///< applied requests of edges that are held, of those counted above
  std::int64_t held_difference = 0;  ///< as edge_difference, of edges that are held
  /// What is to go when, sorted by item, each once; without a note it is to stay.
  std::vector<std::pair<Edge, std::optional<ExpiryNote>>> expiries;
  GraphChanges graphs;           ///< labels and splits of whole graphs that differ; nodes say theirs themselves
  std::vector<NodeId> forced;    ///< removed nodes and features, rows set, sorted: pushed at every level whatever r_max
  bool gains_targets = false;    ///< a node without a label gets one
  std::uint64_t text_bytes = 0;  ///< what the values in the requests take, applied or not
  std::vector<RequestStatus> statuses;        ///< statuses of all requests, in order
  std::optional<IdConflict> conflict;         ///< the first request whose id stands for another one
  std::shared_ptr<const Reservation> memory;  ///< for edges of removed nodes, where it is charged

  /// Whether nothing but edges changes.
  [[nodiscard]] bool only_edges() const noexcept {
    return nodes_removed + features_removed + features_set + labels_set + splits_moved + nodes_inserted +
               graphs_removed + graph_labels_set + graph_splits_moved ==
           0;
  }
};

}  // namespace unweave
