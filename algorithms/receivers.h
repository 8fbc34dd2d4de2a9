// algorithms/receivers.h - which rows of a level a push writes, and what each of them receives.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "engine/graph.h"
#include "engine/target_lists.h"
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

/// Where a node stands among the sources of a push.
class SourceIndex {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// `sources`: distinct, in any order.
  explicit SourceIndex(std::span<const NodeId> sources);
  /// The index of `node`, or kNone.
  [[nodiscard]] std::uint32_t find(NodeId node) const noexcept;

 private:
  [[nodiscard]] std::size_t bit_of(NodeId node) const noexcept { return (node * 0x9E3779B1U) >> shift_; }
  unsigned shift_;
  std::vector<std::uint64_t> some_;  ///< a bit for each source, which other nodes share: most look-ups end here
  std::vector<std::pair<NodeId, std::uint32_t>> sources_;  ///< sorted
};

/// The same as touched_rows() of the sources' receivers, from the lists of the rows that are to receive: those of the last
/// level. `graph` tells what has changed in them.
[[nodiscard]] TouchedRows touched_targets(const TargetLists& targets, const Graph& graph, const SourceIndex& sources,
                                          std::span<const NodeId> repaired, NodeRange nodes,
                                          const std::function<bool(NodeId)>& stays);

}  // namespace unweave
