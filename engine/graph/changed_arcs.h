// engine/graph/changed_arcs.h - arcs of one node by which its list differs from that of the shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "storage/io/types.h"

namespace unweave {

/// A sorted set of neighbours, and how many units of weight the arc to each has lost or gained: 1
/// where edges have no weights, for which nothing is kept.
class ChangedArcs {
 public:
  [[nodiscard]] bool empty() const noexcept { return ids_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return ids_.size(); }
  [[nodiscard]] NodeId id(std::size_t at) const noexcept { return ids_[at]; }
  [[nodiscard]] std::uint32_t units(std::size_t at) const noexcept { return units_ ? units_->of[at] : 1; }
  /// Units of all arcs together.
  [[nodiscard]] std::uint64_t total() const noexcept { return units_ ? units_->total : ids_.size(); }
  /// Adds units to the arc to a neighbour; without `weights` it is 1, and the arc is not there.
  void add(NodeId to, std::uint32_t units, bool weights);
  /// Takes as many units from it as it has, `most` at most, and tells how many.
  std::uint32_t take(NodeId to, std::uint32_t most);

  /// Memory that so many sets with so many arcs have beside themselves.
  [[nodiscard]] static std::uint64_t bytes(std::uint64_t sets, std::uint64_t arcs, bool weights) noexcept;

 private:
  struct Units {
    std::vector<std::uint32_t> of;  ///< each arc
    std::uint64_t total = 0;
  };
  [[nodiscard]] std::size_t place(NodeId to) const noexcept;
  [[nodiscard]] bool has(NodeId to, std::size_t at) const noexcept { return at < ids_.size() && ids_[at] == to; }

  std::vector<NodeId> ids_;
  std::unique_ptr<Units> units_;  ///< null where edges have no weights
};

}  // namespace unweave
