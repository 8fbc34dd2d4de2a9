// algorithms/live/rank_propagation.h - a propagation whose columns are shared by the ranks of a job.
//
// Sums of different columns never meet, so that ranks need no word of each other while they sum. Each writes the tile of its
// columns into the store, on storage that all see; then each joins some of the partitions of all columns, and rank 0
// publishes them. What is finished when a rank is killed is kept, as with tile_jobs.h, for the next start with any number of
// ranks.
#pragma once

#include <cstddef>

#include "algorithms/live/propagate.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"
#include "storage/formats/manifest.h"

namespace unweave {

/// The part of a rank but for rank 0, whose store is open for reading; `job` has several ranks. Throws as propagate(), and
/// what other ranks have thrown.
void propagate_part(const LiveStore& store, const PropagationSpec& spec, MemoryBudget& budget, Ranks& job);

/// The part of rank 0, which also publishes the embedding. Bytes are those of propagate().
PropagateReport propagate_over_ranks(LiveStore& store, const PropagationSpec& spec, MemoryBudget& budget,
                                     const PropagateMeter& progress, const PropagateHow& how, Ranks& job);

}  // namespace unweave
