// engine/sweep.h - one level of a propagation over one column tile: every list decoded once, every row summed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/block_graph.h"
#include "engine/gather.h"
#include "engine/memory.h"
#include "engine/row_mask.h"
#include "storage/types.h"

namespace unweave {

/// Exact sums of some rows, valid during the call that hands them over.
struct SumRows {
  NodeRange range;                            ///< the part of the graph these rows lie in; parts never overlap
  std::span<const NodeId> nodes;              ///< the wanted rows of the range, ascending
  std::size_t width = 0;                      ///< columns of the tile
  const std::int32_t* sums = nullptr;         ///< nodes x width; zeros in rows where a sum does not fit int32
  std::span<const std::uint32_t> wide_nodes;  ///< positions in `nodes` of those rows, ascending
  const std::int64_t* wide_sums = nullptr;    ///< wide_nodes x width
};

using SumSink = std::function<void(const SumRows&)>;

struct SweepOptions {
  bool in_order = false;       ///< sink called for ascending ranges, one call at a time; else from any thread at once
  std::size_t max_tokens = 0;  ///< most ranges in flight; 0: three a thread, or what the budget still allows
};

/// One level: input tile, what to do with the sums. The quotients are the next level's tile.
struct SweepLevel {
  Tile input;                         ///< num_nodes rows
  std::int32_t* quotients = nullptr;  ///< null, or num_nodes x width: wanted rows become round(sum / degree)
  const RowMask* wanted = nullptr;    ///< null: all rows
};

/// A graph behind plain functions, so that the sweep is compiled once. A sweep makes its slots (decode buffers, two a
/// worker), then calls decode with different slots on several threads. One sweep at a time may use a source.
struct BlockSource {
  NodeId num_nodes = 0;
  std::size_t num_blocks = 0;
  std::uint64_t max_decoded_bytes = 0;  ///< of one slot
  std::function<void(std::size_t slots)> make_slots;
  std::function<void(std::size_t block, std::size_t slot, DecodedBlock& out)> decode;
};

/// For every wanted row u: S(u) = t(u) + sum over neighbours v of t(v), handed to `sink` range by range. Ranges without
/// wanted rows are neither decoded nor handed over. The results do not depend on threads, tokens or order.
///
/// memory   tokens times sweep_token_bytes(width), and 2 max_decoded_bytes a worker, reserved in `budget`
/// throws   ResourceError (budget), DataError (a degree of kMaxDegree or more), whatever decode and sink throw;
///          quotients are then partly written
void sweep_level(const BlockSource& source, const SweepLevel& level, const SweepOptions& options, MemoryBudget& budget,
                 const SumSink& sink);

/// Memory that one range in flight needs for a tile of `width` columns.
[[nodiscard]] std::uint64_t sweep_token_bytes(std::size_t width);

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
  return source;
}

}  // namespace unweave
