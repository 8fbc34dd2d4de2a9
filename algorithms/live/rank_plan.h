// algorithms/live/rank_plan.h - what a propagation or a batch takes when ranks share it, known
// before it begins: of one rank, and between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "algorithms/live/rank_propagation.h"
#include "algorithms/live/reports.h"
#include "engine/ranks/planned_ranks.h"
#include "engine/resources/memory.h"
#include "storage/types/propagation_spec.h"
#include "storage/types/request.h"

namespace unweave {

/// `ranks` at least 1, each with this budget. Throws UsageError where they cannot share the
/// propagation so, ResourceError where it does not fit the budget.
[[nodiscard]] RankPlan plan_ranks(const LiveStore& store, const PropagationSpec& spec, std::size_t ranks, RankCut cut,
                                  MemoryBudget& budget);

/// What `ranks` say to each other for a batch of these requests; a generation comes beside it where
/// one is made. Throws UsageError where so many cannot share the store's columns.
[[nodiscard]] RankCalls plan_batch(const LiveStore& store, std::span<const Request> requests, std::size_t ranks);

}  // namespace unweave
