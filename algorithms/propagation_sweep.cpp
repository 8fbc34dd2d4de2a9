#include "algorithms/propagation_sweep.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/parallel.h"
#include "storage/error.h"

namespace unweave {
namespace {

constexpr std::size_t kTileStep = 16;  // columns in a cache line
constexpr std::size_t kFillRows = 4096;

std::uint64_t tile_bytes(NodeId nodes, std::size_t width) {
  return (static_cast<std::uint64_t>(nodes) * width + kTilePadding) * sizeof(std::int32_t);
}

/// Whether a tile of `width` columns can be swept with `threads` ranges in flight.
bool fits(const BlockSource& source, const PropagationOptions& options, const MemoryBudget& budget, std::size_t width,
          std::size_t threads) {
  const std::uint64_t tiles = options.hops == 1 ? 1 : 2;
  const std::uint64_t needed = tiles * HugeBuffer::charge(tile_bytes(source.num_nodes, width)) +
                               threads * (sweep_token_bytes(width) + 2 * source.max_decoded_bytes);
  return needed <= budget.available();
}

/// The widest tile that fits; 0 when none does.
std::size_t widest_tile(const BlockSource& source, const PropagationOptions& options, const MemoryBudget& budget,
                        std::size_t threads) {
  const std::size_t most =
      options.most_columns == 0 ? options.features : std::min(options.features, options.most_columns);
  if (fits(source, options, budget, most, threads)) return most;
  for (std::size_t width = (most - 1) / kTileStep * kTileStep; width > 0; width -= kTileStep) {
    if (fits(source, options, budget, width, threads)) return width;
  }
  for (std::size_t width = std::min(kTileStep, most) - 1; width > 0; --width) {
    if (fits(source, options, budget, width, threads)) return width;
  }
  return 0;
}

void check_options(const BlockSource& source, const PropagationOptions& options) {
  if (options.hops < 0) throw UsageError("the number of hops must not be negative");
  if (!options.wanted.empty() && options.wanted.size() != static_cast<std::size_t>(options.hops)) {
    throw UsageError("one mask of wanted rows is needed for every level");
  }
  for (const RowMask& mask : options.wanted) {
    if (mask.rows() != source.num_nodes) throw UsageError("a mask of wanted rows must have one bit a node");
  }
}

}  // namespace

TilePlan plan_tiles(const BlockSource& source, const PropagationOptions& options, const MemoryBudget& budget) {
  if (options.features == 0) return {};
  std::size_t widest = widest_tile(source, options, budget, active_threads());
  if (widest == 0) widest = widest_tile(source, options, budget, 1);
  if (widest == 0) {
    const std::uint64_t needed = (options.hops == 1 ? 1 : 2) * HugeBuffer::charge(tile_bytes(source.num_nodes, 1)) +
                                 sweep_token_bytes(1) + 2 * source.max_decoded_bytes;
    throw ResourceError("propagation: one feature column of " + std::to_string(source.num_nodes) + " nodes needs " +
                        std::to_string(needed) + " bytes of memory, " + std::to_string(budget.available()) +
                        " available; raise --memory");
  }
  // Tiles of equal width: the same passes over the graph with less memory than a narrow last tile would leave unused.
  const std::size_t tiles = (options.features + widest - 1) / widest;
  const std::size_t even = (options.features + tiles - 1) / tiles;
  const std::size_t width =
      widest < kTileStep ? even : std::min(widest, (even + kTileStep - 1) / kTileStep * kTileStep);
  return {width, (options.features + width - 1) / width};
}

void propagation_sweep(const BlockSource& source, const PropagationOptions& options, MemoryBudget& budget,
                       const TileFill& fill, const LevelSink& sink) {
  check_options(source, options);
  if (options.hops == 0 || options.features == 0 || source.num_nodes == 0) return;
  const TilePlan plan = plan_tiles(source, options, budget);
  HugeBuffer current(tile_bytes(source.num_nodes, plan.width), budget, "column tile");
  HugeBuffer next;
  if (options.hops > 1) next = HugeBuffer(tile_bytes(source.num_nodes, plan.width), budget, "column tile");

  for (std::size_t first = 0; first < options.features; first += plan.width) {
    const TileColumns columns{first, std::min(plan.width, options.features - first)};
    parallel_ranges(0, source.num_nodes, kFillRows, [&](std::size_t begin, std::size_t end) {
      fill(columns, {static_cast<NodeId>(begin), static_cast<NodeId>(end)},
           current.as<std::int32_t>() + begin * columns.count);
      // Committing the pages of both tiles belongs to the filling, not to the first level.
      if (first == 0 && options.hops > 1)
        std::fill_n(next.as<std::int32_t>() + begin * columns.count, (end - begin) * columns.count, 0);
    });
    for (int level = 1; level <= options.hops; ++level) {
      SweepLevel one;
      one.input = {current.as<std::int32_t>(), columns.count, options.scale_bits};
      // The last level's quotients are read by nobody: whoever wants them derives them from the sums.
      one.quotients = level < options.hops ? next.as<std::int32_t>() : nullptr;
      one.wanted = options.wanted.empty() ? nullptr : &options.wanted[static_cast<std::size_t>(level) - 1];
      sweep_level(source, one, options.sweep, budget, [&](const SumRows& rows) { sink(level, columns, rows); });
      if (level < options.hops) std::swap(current, next);
    }
  }
}

}  // namespace unweave
