// algorithms/updates/requests.h - what a batch of requests changes: validation against the present contents, in order, and the
// net difference that propagation sees.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/updates/id_conflict.h"
#include "algorithms/updates/request_status.h"
#include "engine/graph/expiries.h"
#include "engine/resources/memory.h"
#include "storage/io/types.h"
#include "storage/types/changes.h"
#include "storage/types/request.h"

namespace unweave {

class Contents;

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
  /// What it has then, after it was cleared where it is: words of its row (run_file.h), a label, a split.
  std::shared_ptr<const std::vector<std::uint32_t>> row{};
  std::optional<std::int32_t> label{};
  std::optional<SplitName> split{};

  /// The label that it has then, where it had `before`.
  [[nodiscard]] std::int32_t label_after(std::int32_t before) const noexcept {
    return label.value_or(cleared ? std::int32_t{-1} : before);
  }
};

struct BatchChanges {
  std::uint64_t requests = 0;
  std::uint64_t applied = 0;
  std::uint64_t rejected = 0;
  std::uint64_t edges_removed = 0;  ///< by `edge` requests
  std::uint64_t nodes_removed = 0;
  std::uint64_t edges_of_removed_nodes = 0;  ///< which tells what degrees removed nodes had, and is shown to nobody
  std::uint64_t features_removed = 0;
  std::uint64_t edges_inserted = 0;
  std::uint64_t features_set = 0;
  std::uint64_t labels_set = 0;
  std::uint64_t splits_moved = 0;
  std::uint64_t nodes_inserted = 0;
  std::uint64_t weights_set = 0;
  std::uint64_t expiries_set = 0;  ///< by requests; notes that went with what they were about are not among them
  std::vector<NodeChange> nodes;   ///< every node whose adjacency, features, label or split differ afterwards, sorted
  /// What is to go when, sorted by item, each once; without a note it is to stay.
  std::vector<std::pair<Edge, std::optional<ExpiryNote>>> expiries;
  std::vector<NodeId> forced;    ///< removed nodes and features, rows set, sorted: pushed at every level whatever r_max
  bool gains_targets = false;    ///< a node without a label gets one
  std::uint64_t text_bytes = 0;  ///< what the values in the requests take, applied or not
  std::vector<RequestStatus> statuses;        ///< statuses of all requests, in order
  std::optional<IdConflict> conflict;         ///< the first request whose id stands for another one
  std::shared_ptr<const Reservation> memory;  ///< for edges of removed nodes, where it is charged

  /// Whether nothing but edges changes.
  [[nodiscard]] bool only_edges() const noexcept {
    return nodes_removed + features_removed + features_set + labels_set + splits_moved + nodes_inserted == 0;
  }
};

/// Turns the ids of requests into positions and decides each request as if those before it had been applied, changing
/// nothing. `known` says of each whether an earlier one had its id; empty: that no one has. The statuses depend on contents,
/// requests and this alone. Throws FormatError.
[[nodiscard]] BatchChanges resolve_batch(const Contents& contents, std::span<const Request> requests,
                                         const std::vector<bool>& known = {});

/// Memory that an edge of a node takes in what the node's removal is resolved to, and while it is, whatever room the request has: in
/// trees of what differs, in a NodeChange, and while one is made of the other.
inline constexpr std::uint64_t kRemovedEdgeBytes = 640;
/// Edges that a node has at present; none where there is no such node. `user`: its id.
[[nodiscard]] std::uint64_t edges_of(const Contents& contents, std::uint64_t user);

/// Edges that the graph has to note, each as often as its weight changes.
[[nodiscard]] std::uint64_t changed_edges(const BatchChanges& changes) noexcept;
/// Memory that rows, labels and splits that are set take in the contents.
[[nodiscard]] std::uint64_t set_bytes(const BatchChanges& changes);

/// Makes the changes: graph, features, labels, splits, names that are lost.
void apply_changes(Contents& contents, const BatchChanges& changes);

}  // namespace unweave
