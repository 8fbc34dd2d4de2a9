// algorithms/receivers.h - which rows of a level a push writes, and what each of them receives.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/graph.h"
#include "storage/types.h"

namespace unweave {

/// Rows to be written, with the sources of each.
struct TouchedRows {
  std::vector<NodeId> rows;            ///< sorted
  std::vector<std::size_t> first;      ///< rows + 1 positions in `sources`
  std::vector<std::uint32_t> sources;  ///< indices of the pushed rows
};

/// For each source its neighbours and itself, as far as they lie in the slice; sorted.
[[nodiscard]] std::vector<std::vector<NodeId>> receivers_of(const Graph& graph, std::span<const NodeId> sources,
                                                            NodeRange slice);

/// How many distinct nodes receive something from the sources, which have `arcs` arcs in sum: exact for few arcs, else from
/// a fixed sixteenth of the nodes.
[[nodiscard]] std::uint64_t estimate_receivers(const Graph& graph, std::span<const NodeId> sources, std::uint64_t arcs);

/// The rows among `nodes` that receive something or are in `repaired` (sorted), as far as they `stay`.
[[nodiscard]] TouchedRows touched_rows(std::span<const std::vector<NodeId>> receivers, std::span<const NodeId> repaired,
                                       NodeRange nodes, const std::function<bool(NodeId)>& stays);

}  // namespace unweave
