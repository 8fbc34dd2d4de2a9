// algorithms/propagation/propagation_trial.h - how long a propagation will take, from a sample of its own work on this machine.
//
// The rate of a sweep depends on the graph, the width of a tile and its size against caches and page tables by a factor
// of ten, so that no figure of another graph tells it. A sample decodes, gathers and rounds as the whole will.
#pragma once

#include <cstdint>

#include "algorithms/propagation/propagation_plan.h"
#include "engine/graph/contents.h"
#include "engine/resources/memory.h"
#include "storage/formats/manifest.h"

namespace unweave {

/// Seconds that all of it is estimated to take.
struct PropagationTrial {
  double read_seconds = 0;   ///< making room for tiles; reading and scaling features: norms of columns, then level 0
  double sweep_seconds = 0;  ///< decoding, summing and rounding; nothing is written
};

/// Does a part of the propagation of `plan`, of some seconds, and forgets what comes out. Reserves in `budget` the plan's
/// tiles, the buffers of a sweep and at most 5 bits a node, before that 2 MiB a thread (or two rows of a tile, if more).
/// Throws ResourceError, DataError.
[[nodiscard]] PropagationTrial try_propagation(const Contents& contents, const PropagationSpec& spec,
                                               const PropagationPlan& plan, MemoryBudget& budget);

}  // namespace unweave
