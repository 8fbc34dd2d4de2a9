// algorithms/rows/pair_list.h - the pairs of nodes that a model of links learns from or is tried
// on: edges of one role, and pairs of no edge beside them.
//
// Which pairs there are is a function of the present edges, of which nodes have anything, and of
// the public rules of the store (storage/types/pair_rules.h), whatever requests led there: no
// generator has a position, and no removed edge is remembered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/resources/memory.h"
#include "storage/io/types.h"
#include "storage/types/pair_rules.h"

namespace unweave {

class Contents;

/// Pairs by positions, in their order: the edges ascending, each followed by the negatives that it
/// brings along; uniform negatives come behind all edges. Where edges have directions the first end
/// is the copy of the source at which arcs begin, the other one that of the target at which they
/// end.
class PairList {
 public:
  /// The pairs of a role other than plain: edges of `label` and their negatives are what models
  /// learn from. Reads the lists of the graph twice, and asks for edges of negatives one by one, on
  /// all threads. Takes 8 bytes a pair, and as much again while it is made. Throws UsageError where
  /// the store predicts no links, FormatError, ResourceError.
  PairList(const Contents& contents, PairRole role, MemoryBudget& budget);

  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] std::size_t edges() const noexcept { return edges_; }
  [[nodiscard]] const std::vector<Edge>& ends() const noexcept { return ends_; }
  /// Whether pair i is an edge, and no negative.
  [[nodiscard]] bool is_edge(std::size_t i) const noexcept { return is_edge_[i]; }
  /// What it takes of the budget.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return memory_.bytes(); }

 private:
  std::vector<Edge> ends_;
  std::vector<bool> is_edge_;
  std::size_t edges_ = 0;
  Reservation memory_;
};

}  // namespace unweave
