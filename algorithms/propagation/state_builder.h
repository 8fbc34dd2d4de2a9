// algorithms/propagation/state_builder.h - sweeps that write new partitions: the way from a tile of normalised sums to
// the sums of all levels above it, used by `propagate` and by updates that would cost more than a sweep.
#pragma once

#include <filesystem>
#include <span>

#include "algorithms/propagation/level0.h"
#include "algorithms/propagation/sweep_job.h"
#include "algorithms/propagation/tile_sums.h"
#include "engine/graph/contents.h"
#include "engine/graph/resident_rows.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"

namespace unweave {

/// Computes the sums of the levels into memory, in tiles as planned; rows[i] takes level first_level + i. Throws
/// ResourceError, DataError; the rows are then incomplete.
[[nodiscard]] SweepResult build_state_in_memory(const Contents& contents, const SweepJob& job, const TilePlan& plan,
                                                std::span<ResidentRows* const> rows, MemoryBudget& budget);

/// Joins the tiles of some spans, of all levels, and keeps the partitions in the folder, durable; the tiles stay. Others may
/// do so with other spans meanwhile. Throws ResourceError, DataError.
void join_spans(const TileFolder& folder, const Contents& contents, const SweepJob& job, const StatePlan& plan,
                RankShare spans, MemoryBudget& budget);

/// Computes the sums of the levels and writes them as partitions of `store` (not yet durable), while it goes on, in tiles and
/// through buffers as planned. With more than one column tile, or where the folder has tiles, these are joined partition by
/// partition. Parts are kept in `folder` where there is one, and taken from there where they are; what of them goes into the
/// generation is linked from there. Without one, tiles are temporary files.
/// Throws ResourceError (budget; a disk that has not the room, before anything is computed), DataError.
[[nodiscard]] SweepResult build_state(const std::filesystem::path& store, const Contents& contents, const SweepJob& job,
                                      const StatePlan& plan, MemoryBudget& budget, const TileFolder* folder = nullptr,
                                      TileUse use = TileUse::sum, ColumnNorms* norms = nullptr);

}  // namespace unweave
