// engine/resources/memory_shares.h - the table of shares: which part of the memory budget each
// consumer may take.
//
// A consumer whose size does not follow from its input alone (sort buffers, rows kept between
// batches, ...) takes a named share from here, so that this file says what happens under a small
// budget and under a large one. What follows from the input (tiles, masks, an index of n nodes) is
// reserved in its own size and needs no entry.
#pragma once

#include <cstdint>

#include "engine/resources/memory.h"

namespace unweave {

/// A fraction of what a budget has available at the moment: it shrinks as others take their part.
struct AvailableShare {
  std::uint64_t parts;
  std::uint64_t whole;
  [[nodiscard]] constexpr std::uint64_t of(std::uint64_t available) const noexcept { return available / whole * parts; }
  [[nodiscard]] std::uint64_t of(const MemoryBudget& budget) const noexcept { return of(budget.available()); }
};

/// A fraction of a budget's limit: the same whoever else holds memory.
struct LimitShare {
  std::uint64_t parts;
  std::uint64_t whole;
  [[nodiscard]] std::uint64_t of(const MemoryBudget& budget) const noexcept { return budget.limit() / whole * parts; }
};

namespace memory_shares {

// Import, generate, reordering and folds.

/// Edges being sorted; more become sorted runs on disk. Sorting comes first in time and gives its
/// memory back as it ends; what is left is for readers, encoding and writing.
inline constexpr AvailableShare kEdgeSort{3, 5};
/// Names of nodes, while edges are read that speak of them; a table that is larger is left to the
/// index of the names on disk.
inline constexpr AvailableShare kNameTable{1, 2};
/// The shard being written, where the budget is too small for a whole one: it is then written in
/// pieces.
inline constexpr AvailableShare kShard{1, 4};
/// Lists of a shard that are decoded, changed and encoded at once; more go in several pieces.
inline constexpr AvailableShare kFoldedLists{1, 4};
/// A zstd window of a usual level, which goes on working where less could be charged.
inline constexpr AvailableShare kInputWindow{1, 4};
/// Sparse features of the span being written; more become runs on disk.
inline constexpr AvailableShare kFeatureSpan{1, 2};
/// Rows and edges that are sorted by id or position on their way to a file; more become runs on
/// disk.
inline constexpr AvailableShare kRowSort{1, 2};

// Propagation.

/// Sums on their way to the disk; with more the sweep waits less often.
inline constexpr AvailableShare kWriteBuffers{1, 8};
/// Rows of sums on their way to values that are kept in their place, on all threads.
inline constexpr AvailableShare kRowBatches{1, 16};
/// A level that a batch computes anew stays in memory up to this size, else it is written to files:
/// tiles, pairs and rows of the next batches need the other half.
inline constexpr AvailableShare kResidentLevel{1, 2};

/// What a recomputation in a batch leaves unplanned, for what is small and follows no plan; but no
/// more than 256 KiB.
inline constexpr AvailableShare kUnplanned{1, 8};

// Streams.

/// Requests that are acknowledged before they are applied: as much each for those that wait, for
/// the batch that is applied, and for what those that wait are going to change.
inline constexpr AvailableShare kWaitingRequests{1, 10};
/// Ids of all requests that a store keeps; what has a new one beyond it is refused. A service sets
/// it aside at once.
inline constexpr LimitShare kRequestIds{1, 8};
/// Edges that expire; more are refused.
inline constexpr LimitShare kExpiries{1, 4};
/// What is told of requests that were applied, by their ids; of more the oldest are asked of the
/// log.
inline constexpr AvailableShare kToldRequests{1, 16};
/// A request's line that does not come from a file; some times as much is set aside for its words
/// and numbers.
inline constexpr LimitShare kRequestLine{1, 64};
/// Rows that differ from the files and stay in memory after a batch; more become new partitions.
inline constexpr LimitShare kChangedRows{1, 3};
/// Lists of the graph that differ from the shards; more become new shards.
inline constexpr LimitShare kChangedLists{1, 4};
/// What a level's update wants free before it begins, by the arcs that it visits: at least and at
/// most.
inline constexpr LimitShare kLeastUpdateRoom{1, 8}, kMostUpdateRoom{1, 2};
/// The least that changed rows must give back for a spill, which walks all of them, and for a fold,
/// which writes whole partitions anew: 64 KiB or more, and no more than 256 KiB and 1 MiB. Under
/// the smallest budgets there is no room for where the rows of a large batch lie, and freeing less
/// would go on for ever without making any.
inline constexpr LimitShare kLeastSpill{1, 32}, kLeastFold{1, 8};
/// Buffers of partitions that are written side by side; the rest is for what makes their rows.
inline constexpr AvailableShare kPartitionBuffers{1, 2};
/// What a recomputation of whole levels wants free before it begins.
inline constexpr LimitShare kRecomputeRoom{1, 2};
/// Receivers of one slice of the nodes; with more the level goes in several slices.
inline constexpr AvailableShare kReceivers{1, 4};
/// Rows that the parts of a slice leave in memory when they run side by side; with more they go one
/// group after another.
inline constexpr AvailableShare kUpdatedRows{1, 2};
/// Rows that one part of a slice leaves in memory, where kUpdatedRows does not hold those of all.
inline constexpr LimitShare kPartRows{1, 64};
/// Rows of a checkpoint that come from all ranks of a job at a time.
inline constexpr AvailableShare kJoinedRows{1, 16};
/// What rows waiting for their push leave free for the level that they are pushed to; more wait in
/// a file.
inline constexpr LimitShare kPushRoom{1, 8};

// Services.

/// Bodies of calls, what is made of them, and answers, of all callers together. Set aside for as
/// long as a service runs, so that callers take nothing from the work on what was acknowledged.
inline constexpr LimitShare kCalls{1, 8};
/// What a service keeps free while it waits, and uses for the work on a batch: levels that are
/// computed anew or pushed, and the model's step. Where what a store keeps in memory grows into it
/// (notes of what expires, new nodes, training rows), no request is taken any more; what was
/// acknowledged is applied in what is left, which such a store's next process has as well.
inline constexpr LimitShare kWork{1, 4};
/// What of it is left for levels and models beside what a batch is resolved to; a batch that leaves
/// less is cut.
inline constexpr LimitShare kWorkBesideBatch{1, 8};
/// The most that is held of it while models divide the memory in the midst of a batch.
inline constexpr AvailableShare kHeldWork{1, 2};

// Predictions.

/// The buffer in which the machine's rates are measured; in a smaller one they are, and are not
/// kept.
inline constexpr AvailableShare kRatesBuffer{1, 4};

// Learning and reading.

/// Training rows; more are read from a file without a name.
inline constexpr AvailableShare kTrainingRows{1, 2};
/// What a solver computes with beside the rows: curvatures, preconditioner, vectors of rows; with
/// less it goes without them.
inline constexpr AvailableShare kSolver{1, 2};
/// Rows being evaluated, on all threads.
inline constexpr AvailableShare kEvaluatedRows{1, 2};
/// Scores and exported rows of one chunk.
inline constexpr AvailableShare kChunk{1, 4};
/// Hashes of nodes for the content digest; with less the graph is read several times.
inline constexpr AvailableShare kNodeHashes{1, 2};

}  // namespace memory_shares
}  // namespace unweave
