// algorithms/live/rank_propagation.h - a propagation that the ranks of a job share, by columns or
// by rows of the graph.
//
// By columns: sums of different columns never meet, so that ranks need no word of each other while
// they sum. Each writes the tile of its columns into the store, on storage that all see; then each
// joins some of the partitions of all columns, and rank 0 publishes them. What is finished when a
// rank is killed is kept, as with tile_jobs.h, for the next start with any number of ranks.
//
// By rows: each rank reads the lists of some partitions of the nodes alone, and forms their sums
// for all columns; after each level of a tile it gets from the others what its rows read
// (propagation/row_share.h). Rank 0 publishes the partitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/live/propagate.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"
#include "storage/types/propagation_spec.h"

namespace unweave {

class StoreWriter;

enum class RankCut { columns, rows };

/// Contents and options, line by line, in which all ranks have to agree.
[[nodiscard]] std::string what_is_shared(const LiveStore& store, const PropagationSpec& spec, RankCut cut);

/// Bytes in which a rank names the files that it has made of a share of the spans, of so many
/// levels.
[[nodiscard]] std::uint64_t told_file_bytes(std::size_t levels, std::size_t spans, std::size_t ranks) noexcept;

/// Throws UsageError where so many ranks cannot share this propagation so.
void require_to_share(const LiveStore& store, const PropagationSpec& spec, RankCut cut, const Ranks& job);

/// The part of a rank but for rank 0, whose store is open for reading; `job` has several ranks.
/// Returns a message for each damaged tile that it has dropped. Throws as propagate(), and what
/// other ranks have thrown; UsageError where ranks cannot share the rows so.
std::vector<std::string> propagate_part(const LiveStore& store, const PropagationSpec& spec, MemoryBudget& budget,
                                        RankCut cut, Ranks& job);

/// The part of rank 0, which also publishes the embedding. Bytes are those of propagate().
PropagateReport propagate_over_ranks(StoreWriter& store, const PropagationSpec& spec, MemoryBudget& budget,
                                     const PropagateMeter& progress, bool restart, RankCut cut, Ranks& job);

}  // namespace unweave
