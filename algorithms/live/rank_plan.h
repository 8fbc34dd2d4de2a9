// algorithms/live/rank_plan.h - what a propagation takes when ranks share it, known before it begins: of one rank, and between
// them. The verbs and bytes are those of rank_propagation.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithms/live/rank_propagation.h"
#include "engine/resources/memory.h"
#include "storage/formats/manifest.h"

namespace unweave {

struct RankPlan {
  std::uint64_t tiles = 1, tile_columns = 0;  ///< the rank with the most columns has them
  std::uint64_t memory_bytes = 0;             ///< what that rank takes, beside what an open store takes
  std::uint64_t graph_bytes = 0;              ///< what one rank reads of lists, each as often as it passes over them
  std::uint64_t disk_bytes = 0;               ///< at a time, on the storage that all share
  std::uint64_t disk_free_bytes = 0;          ///< there
  std::uint64_t verbs = 0;                    ///< calls of one rank
  std::uint64_t received_bytes = 0;           ///< by all ranks
};

/// `ranks` at least 1, each with this budget. Throws UsageError where they cannot share the propagation so, ResourceError where
/// it does not fit the budget.
[[nodiscard]] RankPlan plan_ranks(const LiveStore& store, const PropagationSpec& spec, std::size_t ranks, RankCut cut,
                                  MemoryBudget& budget);

}  // namespace unweave
