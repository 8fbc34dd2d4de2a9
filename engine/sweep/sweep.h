// engine/sweep/sweep.h - one level of a propagation over one column tile: every list decoded once,
// every row summed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/graph/block_graph.h"
#include "engine/graph/row_mask.h"
#include "engine/resources/memory.h"
#include "engine/sweep/gather.h"
#include "engine/sweep/sum_check.h"
#include "storage/io/types.h"

namespace unweave {

/// Exact sums of all wanted rows of some consecutive blocks, valid during the call that hands them
/// over.
struct SumRows {
  std::size_t block = 0;                      ///< the first of the blocks
  std::span<const NodeId> nodes;              ///< the wanted ones, ascending, at least one
  std::size_t width = 0;                      ///< columns of the tile
  const std::int32_t* sums = nullptr;         ///< nodes x width; zeros in rows where a sum does not fit int32
  std::span<const std::uint32_t> wide_nodes;  ///< positions in `nodes` of those rows, ascending
  const std::int64_t* wide_sums = nullptr;    ///< wide_nodes x width
};

/// Called on several threads at once, each block once. A thread goes through a range of
/// kSweepRangeRows rows in ascending order, and ranges are begun in ascending order.
using SumSink = std::function<void(const SumRows&)>;

inline constexpr std::size_t kSweepRangeBlocks = 16;  // large against the cost of a task, small against L2
inline constexpr std::size_t kSweepRangeRows = kSweepRangeBlocks * kBlockNodes;

/// An input tile and where its quotients round(sum / degree), the next level's tile, go: null, or
/// wanted rows x width.
template <class T>
struct SweepTile {
  TileOf<T> input;
  T* quotients = nullptr;
};

/// One level over one column tile of either width.
struct SweepLevel {
  std::variant<SweepTile<std::int32_t>, SweepTile<std::int16_t>> tile;
  const RowMask* wanted = nullptr;  ///< null: all rows
  /// Whose rows the input tile holds: at least the wanted nodes and their neighbours. Null: those
  /// of all nodes.
  const RowRanks* input_rows = nullptr;
  const RowRanks* quotient_rows = nullptr;  ///< ranks of `wanted`, where it is given and there are quotients
  const LevelCheck* check = nullptr;        ///< null: nothing is checked
};

/// A graph behind plain functions, so that the sweep is compiled once. A sweep makes its slots
/// (decode buffers, two a worker), then calls decode with different slots on several threads. One
/// sweep at a time may use a source.
struct BlockSource {
  NodeId num_nodes = 0;
  std::size_t num_blocks = 0;
  std::uint64_t max_decoded_bytes = 0;  ///< bytes of one slot at most
  std::uint32_t self_weight = 1;        ///< what a node itself counts in its sums
  std::function<void(std::size_t slots)> make_slots;
  std::function<void(std::size_t block, std::size_t slot, DecodedBlock& out)> decode;
  std::function<void(std::size_t first, std::size_t last)> read_ahead;  ///< asks for blocks; may be empty
  /// Is told of blocks that will not be decoded soon; empty where memory has room for all.
  std::function<void(std::size_t first, std::size_t last)> forget;
};

/// For every wanted row u: S(u) = t(u) + sum over neighbours v of t(v), each term as often as it
/// weighs, handed to `sink` block by
/// block. Blocks without wanted rows are neither decoded nor handed over. The results do not depend
/// on the number of threads.
///
/// memory   sweep_worker_bytes a worker, reserved in `budget`: one worker a thread, or as many as
/// the budget allows throws   UsageError (scale bits, quotient_rows), ResourceError (budget),
/// DataError (a degree of kMaxDegree or more), whatever decode
///          and sink throw; quotients are then partly written
void sweep_level(const BlockSource& source, const SweepLevel& level, MemoryBudget& budget, const SumSink& sink);

/// Adds to `check.terms` what rows of the tile that a first level reads say of it, just after they
/// were written: `rows` are those of the nodes of `range`, which begins with a block and lies in
/// one partition; `slot` is one of the source's, in use by nobody.
template <class T>
void check_terms(const BlockSource& source, std::size_t slot, NodeRange range, const TileOf<T>& rows,
                 const LevelCheck& check);

/// Where a level whose sums are not those of their terms went wrong, found by going through it
/// again, slowly, while the tile that it read is there: a message of the level's number, partition
/// and nodes. The level has its check.
[[nodiscard]] std::string blame_level(const BlockSource& source, const SweepLevel& level, SumCheck& check,
                                      std::uint32_t number);

/// Memory that one worker needs for a tile of `width` columns.
[[nodiscard]] std::uint64_t sweep_worker_bytes(const BlockSource& source, std::size_t width);

/// Blocks that a sweep asks for at a time, some MiB of a graph: a multiple of those of a range. It
/// asks for them so many such pieces before their turn that they come in time beside what is
/// written meanwhile.
inline constexpr std::size_t kReadBlocks = 64 * kSweepRangeBlocks, kPiecesAhead = 4;

/// A scan in order of all blocks, or of those with wanted rows, has come to `block`, where a piece
/// begins: asks for a later piece, and lets go of the last but one, on which no thread works any
/// more.
void scan_ahead(const BlockSource& source, std::size_t block, const RowMask* wanted);

/// A graph as a BlockSource; `graph` must outlive it.
template <BlockGraph G>
[[nodiscard]] BlockSource block_source(const G& graph) {
  BlockSource source;
  source.num_nodes = graph.num_nodes();
  source.num_blocks = graph.num_blocks();
  if constexpr (requires { graph.max_decoded_bytes(); }) source.max_decoded_bytes = graph.max_decoded_bytes();
  const auto slots = std::make_shared<std::vector<typename G::BlockBuffer>>();
  source.make_slots = [slots](std::size_t count) {
    if (slots->size() < count) *slots = std::vector<typename G::BlockBuffer>(count);
  };
  source.decode = [slots, &graph](std::size_t block, std::size_t slot, DecodedBlock& out) {
    graph.decode(block, (*slots)[slot], out);
  };
  if constexpr (requires { graph.self_weight(); }) source.self_weight = graph.self_weight();
  if constexpr (requires { graph.read_ahead(0, 1); })
    source.read_ahead = [&graph](std::size_t first, std::size_t last) { graph.read_ahead(first, last); };
  return source;
}

}  // namespace unweave
