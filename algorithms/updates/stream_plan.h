// algorithms/updates/stream_plan.h - what the batches of a stream are going to touch and take,
// known before the first one starts.
//
// The first batch stands for all. The rows that it writes are followed from level to level: as a
// set while their arcs are few, then by a sample of the nodes that asks whether they read one of
// that set, at last by degrees alone, as if arcs ended anywhere.
#pragma once

#include <cstdint>

#include "algorithms/updates/update_report.h"

namespace unweave {

struct BatchChanges;
class ColdFiles;
class Contents;
class Embedding;
class MemoryBudget;

/// Below so many arcs a level is followed exactly.
inline constexpr std::uint64_t kExactArcs = std::uint64_t{1} << 22;

/// Estimates `batches` >= 1 batches like `changes`. Applies `changes` to `contents` and the
/// receptive field of `embedding` (null before `propagate`), whose sums stay behind: neither is
/// good for anything else afterwards. `cold`: as UpdateOptions has it. Throws ResourceError where a
/// recomputation cannot fit the budget, FormatError.
[[nodiscard]] StreamPlan plan_stream(Contents& contents, Embedding* embedding, const BatchChanges& changes,
                                     std::uint64_t batches, const MemoryBudget& budget,
                                     std::uint64_t exact_arcs = kExactArcs, const ColdFiles* cold = nullptr);

}  // namespace unweave
