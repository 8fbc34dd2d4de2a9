// algorithms/live/rank_plan.h - what a propagation or a batch takes when ranks share it, known before it begins: of one rank,
// and between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "algorithms/live/rank_propagation.h"
#include "engine/ranks/planned_ranks.h"
#include "engine/resources/memory.h"
#include "storage/types/propagation_spec.h"
#include "storage/types/request.h"

namespace unweave {

struct RankPlan {
  std::uint64_t tiles = 1, tile_columns = 0;  ///< the rank with the most columns has them
  std::uint64_t memory_bytes = 0;             ///< what that rank takes, beside what an open store takes
  std::uint64_t graph_bytes = 0;              ///< what one rank reads of lists, each as often as it passes over them
  std::uint64_t disk_bytes = 0;               ///< at a time, on the storage that all share
  std::uint64_t disk_free_bytes = 0;          ///< there
  RankCalls calls;
};

/// `ranks` at least 1, each with this budget. Throws UsageError where they cannot share the propagation so, ResourceError where
/// it does not fit the budget.
[[nodiscard]] RankPlan plan_ranks(const LiveStore& store, const PropagationSpec& spec, std::size_t ranks, RankCut cut,
                                  MemoryBudget& budget);

/// What `ranks` say to each other for a batch of these requests; a generation comes beside it where one is made. Throws
/// UsageError where so many cannot share the store's columns.
[[nodiscard]] RankCalls plan_batch(const LiveStore& store, std::span<const Request> requests, std::size_t ranks);

}  // namespace unweave
