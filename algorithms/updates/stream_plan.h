// algorithms/updates/stream_plan.h - what the batches of a stream are going to touch and take, known before the first one starts.
//
// The first batch stands for all. The rows that it writes are followed from level to level: as a set while their arcs are
// few, then by a sample of the nodes that asks whether they read one of that set, at last by degrees alone, as if arcs
// ended anywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/propagation/embedding.h"
#include "algorithms/updates/cold_files.h"
#include "algorithms/updates/requests.h"
#include "engine/graph/contents.h"
#include "engine/resources/memory.h"

namespace unweave {

struct LevelForecast {
  std::uint64_t rows = 0;        ///< rows of sums to write
  std::uint64_t arcs = 0;        ///< arcs to visit, self loops included
  double push_seconds = 0;       ///< not a number above a recomputed level: nobody asks
  double recompute_seconds = 0;  ///< for this level alone; above a recomputed level, the number of that one
  bool recompute = false;        ///< what Update is going to choose; else it pushes
};

/// The plan of a stream that is exact and brings all levels up to date with every batch. It leaves out the stale rows
/// of an earlier lazy stream, which the first batch publishes.
struct StreamPlan {
  std::vector<LevelForecast> levels;  ///< levels 1 .. L of one batch; empty before `propagate`
  double seconds = 0;                 ///< time predicted for them
  /// Memory beside the open store: rows changed by this batch and those before it, rows captured, rows to push, and
  /// what a recomputation takes of what these leave.
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;     ///< journal and new files of the checkpoint, without headers and checksums
  std::uint64_t written_bytes = 0;  ///< these files, and what batches write that the next ones replace
};

/// Below so many arcs a level is followed exactly.
inline constexpr std::uint64_t kExactArcs = std::uint64_t{1} << 22;

/// Estimates `batches` >= 1 batches like `changes`. Applies `changes` to `contents` and the receptive field of
/// `embedding` (null before `propagate`), whose sums stay behind: neither is good for anything else afterwards. `cold`:
/// as UpdateOptions has it. Throws
/// ResourceError where a recomputation cannot fit the budget, FormatError.
[[nodiscard]] StreamPlan plan_stream(Contents& contents, Embedding* embedding, const BatchChanges& changes,
                                     std::uint64_t batches, const MemoryBudget& budget,
                                     std::uint64_t exact_arcs = kExactArcs, const ColdFiles* cold = nullptr);

}  // namespace unweave
