// algorithms/updates/requests.h - finds what a batch of requests changes: validation against the
// present contents, in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/updates/batch_changes.h"
#include "storage/types/request.h"
#include "storage/types/weight_unit.h"

namespace unweave {

class Contents;

/// Turns the ids of requests into positions and decides each request as if those before it had been
/// applied, changing nothing. `known` says of each whether an earlier one had its id; empty: that
/// no one has. The statuses depend on contents, requests and this alone. Throws FormatError.
[[nodiscard]] BatchChanges resolve_batch(const Contents& contents, std::span<const Request> requests,
                                         const std::vector<bool>& known = {});

/// Memory that an edge of a node takes in what the node's removal is resolved to, and while it is,
/// whatever room the request has: in trees of what differs, in a NodeChange, and while one is made
/// of the other.
inline constexpr std::uint64_t kRemovedEdgeBytes = 640;
/// Edges that a node has at present; none where there is no such node. `user`: its id.
[[nodiscard]] std::uint64_t edges_of(const Contents& contents, std::uint64_t user);

/// Nodes of a whole graph and their edges, at both ends each, which take kRemovedEdgeBytes at most
/// where a request removes the graph; 0 where there is no such graph.
[[nodiscard]] std::uint64_t removed_by_graph(const Contents& contents, std::uint64_t graph);

/// Edges that the graph has to note: once each, or, where its lists name an end as often as an edge
/// weighs, as often as the weight changes.
[[nodiscard]] std::uint64_t changed_edges(const BatchChanges& changes, const ListForm& form) noexcept;
/// Memory that rows, labels and splits that are set take in the contents.
[[nodiscard]] std::uint64_t set_bytes(const BatchChanges& changes);

/// Makes the changes: graph, features, labels, splits, names that are lost.
void apply_changes(Contents& contents, const BatchChanges& changes);

}  // namespace unweave
