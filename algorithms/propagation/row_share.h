// algorithms/propagation/row_share.h - the rows of a propagation that each rank of a job sums:
// consecutive partitions, of all columns.
//
// A rank reads the lists of its own rows alone. A tile holds the rows of all nodes on every rank:
// each forms its own, and gets the others from them, a tile and level at a time. So graphs larger
// than one machine's disk pass, while columns are as many at a time as one machine's memory holds
// for all nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/graph/row_mask.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"
#include "engine/sweep/sum_check.h"
#include "storage/io/types.h"

namespace unweave {

class RowShare {
 public:
  /// For a graph with so many nodes; both others must outlive this object. A rank has none where
  /// there are fewer partitions. Throws ResourceError.
  RowShare(NodeId nodes, Ranks& job, MemoryBudget& budget);

  [[nodiscard]] NodeRange own() const noexcept { return ranges_[job_.rank()]; }
  /// Partitions [begin, end) of those of all nodes.
  [[nodiscard]] RankShare own_spans() const noexcept;
  [[nodiscard]] const RowMask& mask() const noexcept { return mask_; }
  [[nodiscard]] const RowRanks& ranks() const noexcept { return *ranks_; }
  [[nodiscard]] Ranks& job() const noexcept { return job_; }

  /// Rows of a tile, one after another, of all nodes: each rank has put its own there, and gets the
  /// others.
  void exchange(std::byte* rows, std::size_t row_bytes) const;
  /// All ranks check with the key of rank 0: each has formed some terms, and some sums.
  void share_key(SumCheck& check) const;
  /// Whether the sums of a level of the present tile, on all ranks together, are those of their
  /// terms.
  [[nodiscard]] bool holds(SumCheck& check, std::uint32_t level) const;
  /// The least of what the ranks say.
  [[nodiscard]] std::size_t least(std::size_t number) const;

 private:
  NodeId nodes_;
  Ranks& job_;
  Reservation memory_;
  std::vector<NodeRange> ranges_;
  RowMask mask_;
  std::optional<RowRanks> ranks_;
};

}  // namespace unweave
