// algorithms/updates/requests.h - what a batch of requests changes: validation against the present contents, in order, and the
// net difference that propagation sees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/updates/request_status.h"
#include "storage/formats/journal.h"
#include "storage/io/types.h"

namespace unweave {

class Contents;

/// Net change of one node's row inputs. Nodes are positions, here and below.
struct NodeChange {
  NodeId node = 0;
  std::vector<NodeId> removed;   ///< former neighbours, sorted
  std::vector<NodeId> inserted;  ///< new neighbours, sorted
  bool cleared = false;          ///< features to zero, label to none, out of the splits
};

struct BatchChanges {
  std::uint64_t requests = 0;
  std::uint64_t applied = 0;
  std::uint64_t rejected = 0;
  std::uint64_t edges_removed = 0;  ///< by `edge` requests and by `node` requests
  std::uint64_t nodes_removed = 0;
  std::uint64_t features_removed = 0;
  std::uint64_t edges_inserted = 0;
  std::vector<NodeChange> nodes;        ///< every node whose adjacency, features or label differ afterwards, sorted
  std::vector<NodeId> forced;           ///< removed nodes and features, sorted: pushed at every level whatever r_max
  std::vector<RequestStatus> statuses;  ///< statuses of all requests, in order
};

/// Turns the ids of requests into positions and decides each request as if those before it had been applied, changing
/// nothing. `known` says of each whether an earlier one had its id; empty: that no one has. The statuses depend on contents,
/// requests and this alone. Throws FormatError.
[[nodiscard]] BatchChanges resolve_batch(const Contents& contents, std::span<const Request> requests,
                                         const std::vector<bool>& known = {});

/// Makes the changes: graph, features, labels, splits.
void apply_changes(Contents& contents, const BatchChanges& changes);

}  // namespace unweave
