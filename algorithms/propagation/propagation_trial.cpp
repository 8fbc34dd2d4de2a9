// algorithms/propagation/propagation_trial.cpp - times a sample of each part of a propagation.
#include "algorithms/propagation/propagation_trial.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "algorithms/propagation/level0.h"
#include "algorithms/propagation/node_sample.h"
#include "engine/resources/clock.h"
#include "engine/resources/parallel.h"
#include "engine/sweep/sweep.h"

namespace unweave {
namespace {

constexpr NodeId kPieceNodes = NodeId{1} << 15;  // as far as a sweep reads ahead
constexpr NodeId kPartRows = 4096;               // rows of features that a thread takes at a time
constexpr double kTrialArcs = 0x1p26;            // arcs of a level
constexpr double kTrialValues = 0x1p26;          // values of the features

/// Calls work(part) on all parts, on all threads. Returns the seconds that a row took since `start`.
template <class Work>
double seconds_a_row(Clock::time_point start, const std::vector<NodeRange>& parts, const Work& work) {
  std::uint64_t rows = 0;
  for (const NodeRange part : parts) rows += part.size();
  run_items(parts.size(), active_threads(), [&](std::size_t item, std::size_t) { work(parts[item]); });
  return rows == 0 ? 0 : seconds_since(start) / static_cast<double>(rows);
}

/// Norms of columns where `width` is 0; else level 0 in tiles of `width` columns, which measures them by the way.
double try_reading(const Contents& contents, const PropagationSpec& spec, std::size_t width, MemoryBudget& budget) {
  const NodeId nodes = contents.num_nodes();
  const std::uint32_t columns = contents.features().columns();
  const double values = static_cast<double>(nodes) * columns;
  const std::vector<NodeRange> parts = sample_pieces(nodes, kPartRows, nullptr, values / kTrialValues);
  if (width == 0)
    return seconds_a_row(Clock::now(), parts, [&](NodeRange part) { try_columns(contents, part); }) * nodes;
  const auto rows = static_cast<NodeId>(std::clamp<std::size_t>(kLevel0Values / width, 1, kPartRows));
  const Reservation reservation =
      budget.reserve(active_threads() * rows * width * (sizeof(std::int32_t) + sizeof(float)), "rows of features");
  ColumnNorms norms(columns);
  const TileFill fill = level0_rows(contents, spec, &norms);
  const Clock::time_point start = Clock::now();
  for (const NodeRange part : parts) contents.features().read_ahead(part, 0, static_cast<std::uint32_t>(width));
  const double level0 = seconds_a_row(start, parts, [&](NodeRange part) {
    std::vector<std::int32_t> densities(rows * width);
    for (NodeId first = part.first; first < part.last;) {
      const NodeId last = first + std::min(rows, part.last - first);
      fill({0, width}, {first, last}, densities.data());
      first = last;
    }
  });
  return level0 * columns / static_cast<double>(width) * nodes;
}

/// Seconds of one column tile of one level.
template <class T>
double try_level(const Contents& contents, const RowMask* wanted, const RowMask* below, std::uint64_t arcs,
                 const SweepTile<T>& tile, MemoryBudget& budget) {
  const NodeId nodes = contents.num_nodes();
  const bool has_quotients = tile.quotients != nullptr;
  const std::uint64_t num_ranks = (has_quotients ? 1U : 0U) + (below != nullptr ? 1U : 0U);
  const Reservation reservation =
      budget.reserve(RowMask::bytes(nodes) + num_ranks * RowRanks::bytes(nodes), "ranks of the rows");
  RowMask some(nodes);
  std::uint64_t tried = 0;
  for (const NodeRange piece : sample_pieces(nodes, kPieceNodes, wanted, static_cast<double>(arcs) / kTrialArcs))
    for (NodeId node = piece.first; node < piece.last; ++node) {
      if (wanted != nullptr && !wanted->contains(node)) continue;
      some.insert(node);
      tried += contents.graph().degree(node);
    }
  if (tried == 0) return 0;
  std::optional<RowRanks> ranks, ranks_below;
  if (has_quotients) ranks.emplace(some);
  if (below != nullptr) ranks_below.emplace(*below);
  const SweepLevel level{tile, &some, ranks_below ? &*ranks_below : nullptr, ranks ? &*ranks : nullptr};
  const Clock::time_point start = Clock::now();
  sweep_level(block_source(contents.graph()), level, budget, [](const SumRows&) {});
  return seconds_since(start) * static_cast<double>(arcs) / static_cast<double>(tried);
}

template <class T>
PropagationTrial try_levels(const Contents& contents, const PropagationSpec& spec, const PropagationPlan& plan,
                            MemoryBudget& budget) {
  const std::size_t width = plan.state.tiles.width;
  const std::size_t values = std::size_t{contents.num_nodes()} * width;
  HugeBuffer current((values + kTilePadding) * sizeof(T), budget, "column tile");
  HugeBuffer next;
  const std::size_t rows_between = spec.levels < 2 ? 0 : plan.rows.front();
  if (spec.levels > 1) next = HugeBuffer((rows_between * width + kTilePadding) * sizeof(T), budget, "column tile");
  const Clock::time_point start = Clock::now();
  parallel_ranges(0, values, std::size_t{1} << 20, [&](std::size_t first, std::size_t last) {
    std::fill_n(current.as<T>() + first, last - first, T{1});  // rates do not depend on the numbers
    if (first < rows_between * width)
      std::fill_n(next.as<T>() + first, std::min(last, rows_between * width) - first, T{1});
  });
  PropagationTrial trial;
  trial.read_seconds = seconds_since(start);  // memory that was never touched takes its time
  for (std::uint32_t l = 0; l < spec.levels; ++l) {
    SweepTile<T> tile;
    tile.input = {current.as<T>(), width, static_cast<int>(spec.scale_bits)};
    tile.quotients = l + 1 < spec.levels ? next.as<T>() : nullptr;
    const RowMask* const wanted = plan.wanted.empty() ? nullptr : &plan.wanted[l];
    const RowMask* const below = plan.wanted.empty() || l == 0 ? nullptr : &plan.wanted[l - 1];
    trial.sweep_seconds += try_level(contents, wanted, below, plan.arcs[l], tile, budget);
  }
  trial.sweep_seconds *= contents.features().columns() / static_cast<double>(width);
  return trial;
}

}  // namespace

PropagationTrial try_propagation(const Contents& contents, const PropagationSpec& spec, const PropagationPlan& plan,
                                 MemoryBudget& budget) {
  const double read_seconds = try_reading(contents, spec, spec.levels > 0 ? plan.state.tiles.width : 0, budget);
  PropagationTrial trial;
  if (spec.levels > 0)
    trial = static_cast<int>(spec.scale_bits) <= kMaxShortScaleBits
                ? try_levels<std::int16_t>(contents, spec, plan, budget)
                : try_levels<std::int32_t>(contents, spec, plan, budget);
  trial.read_seconds += read_seconds;
  return trial;
}

}  // namespace unweave
