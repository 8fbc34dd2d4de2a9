// algorithms/updates/level_work.h - what the planner asks of an embedding before a level is brought
// up to date.
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/propagation/embedding.h"
#include "algorithms/updates/cold_files.h"
#include "algorithms/updates/planner.h"
#include "engine/graph/contents.h"

namespace unweave {

/// The work at `level` when the rows `sources` of the level below are to be pushed and `changed`
/// nodes to be mended. Reads cost what `cold` says, and nothing where it is null.
[[nodiscard]] LevelWork level_work(const Contents& contents, const Embedding& embedding, std::uint32_t level,
                                   std::span<const NodeId> sources, std::uint64_t changed, const MemoryBudget& budget,
                                   const ColdFiles* cold = nullptr);
/// The work at `level` for sources whose number and number of arcs alone are known.
[[nodiscard]] LevelWork level_work(const Contents& contents, const Embedding& embedding, std::uint32_t level,
                                   std::uint64_t sources, std::uint64_t arcs, std::uint64_t changed,
                                   const MemoryBudget& budget, const ColdFiles* cold = nullptr);

/// The rows of `level` that receive something from the sources, from some of their lists where
/// those are many; as many as there can be where their lists are not read at all.
[[nodiscard]] Receivers count_receivers(const Contents& contents, const Embedding& embedding, std::uint32_t level,
                                        std::span<const NodeId> sources, const LevelWork& work);

/// Arcs of some nodes in sum, self loops included.
[[nodiscard]] std::uint64_t arcs_of(const Contents& contents, std::span<const NodeId> nodes);

/// The lists of the level's own rows, where going through them is the shorter way to the receivers;
/// else null.
[[nodiscard]] const TargetLists* lists_to_scan(const Embedding& embedding, std::uint32_t level, std::size_t sources,
                                               std::uint64_t arcs);

}  // namespace unweave
