#include "algorithms/propagation_trial.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "algorithms/level0.h"
#include "engine/parallel.h"
#include "engine/sweep.h"

namespace unweave {
namespace {

using Clock = std::chrono::steady_clock;

constexpr NodeId kPieceNodes = NodeId{1} << 15;  // as far as a sweep reads ahead
constexpr std::uint64_t kFillRows = 4096;        // at a time, but fewer of many columns
constexpr std::uint64_t kFillValues = std::uint64_t{1} << 18;
constexpr std::uint64_t kTrialArcs = std::uint64_t{1} << 26;    // of a level
constexpr std::uint64_t kTrialValues = std::uint64_t{1} << 26;  // of the features

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Every so many-th piece of consecutive nodes.
std::vector<NodeRange> sample(NodeId nodes, std::uint64_t stride) {
  std::vector<NodeRange> pieces;
  for (std::uint64_t first = stride / 2 * kPieceNodes; first < nodes; first += stride * kPieceNodes)
    pieces.push_back(
        {static_cast<NodeId>(first), static_cast<NodeId>(std::min<std::uint64_t>(nodes, first + kPieceNodes))});
  return pieces;
}

std::uint64_t stride_of(NodeId nodes, double share) {
  const std::uint64_t pieces = (std::uint64_t{nodes} + kPieceNodes - 1) / kPieceNodes;
  return std::clamp<std::uint64_t>(share < 1 ? 1 : static_cast<std::uint64_t>(share), 1,
                                   std::max<std::uint64_t>(1, pieces));
}

double try_reading(const Contents& contents, const PropagationSpec& spec, MemoryBudget& budget) {
  const NodeId nodes = contents.num_nodes();
  const std::uint32_t columns = contents.features().columns();
  const double values = static_cast<double>(nodes) * columns;
  const std::vector<NodeRange> pieces = sample(nodes, stride_of(nodes, values / kTrialValues));
  std::uint64_t read = 0;
  for (const NodeRange piece : pieces) read += piece.size();
  const auto rows = static_cast<NodeId>(std::clamp<std::uint64_t>(kFillValues / columns, 1, kFillRows));
  const std::uint64_t buffer = std::uint64_t{rows} * columns * (sizeof(std::int32_t) + sizeof(float));
  const Reservation reservation = budget.reserve(active_threads() * buffer, "rows of features");
  const Clock::time_point start = Clock::now();
  const TileFill fill = level0_fill(contents, spec);
  run_items(pieces.size(), active_threads(), [&](std::size_t item, std::size_t) {
    try_columns(contents, pieces[item]);
    std::vector<std::int32_t> densities(std::size_t{rows} * columns);
    for (NodeId first = pieces[item].first; first < pieces[item].last;) {
      const NodeId last = first + std::min(rows, pieces[item].last - first);
      fill({0, columns}, {first, last}, densities.data());
      first = last;
    }
  });
  return seconds_since(start) * nodes / static_cast<double>(read);
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
  for (const NodeRange piece : sample(nodes, stride_of(nodes, static_cast<double>(arcs) / kTrialArcs)))
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
  const std::size_t width = plan.state.tile_columns;
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
  const double read_seconds = try_reading(contents, spec, budget);
  PropagationTrial trial;
  if (spec.levels > 0)
    trial = static_cast<int>(spec.scale_bits) <= kMaxShortScaleBits
                ? try_levels<std::int16_t>(contents, spec, plan, budget)
                : try_levels<std::int32_t>(contents, spec, plan, budget);
  trial.read_seconds += read_seconds;
  return trial;
}

}  // namespace unweave
