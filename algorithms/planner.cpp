#include "algorithms/planner.h"

#include <algorithm>

namespace unweave {
namespace {

// Seconds for one column of one arc or row on one thread.
constexpr double kSweepArc = 1.5e-10;  // one gathered value of a tile in memory
constexpr double kSweepRow = 1e-9;     // rounding, packing and writing one value
constexpr double kPushArc = 2.5e-10;   // one value of a pushed row, from a small tile
constexpr double kPushRow = 1.2e-8;    // reading, rounding and storing one value of a receiver

}  // namespace

double predict_push(std::uint64_t pushed_arcs, std::uint64_t rows, std::uint32_t columns, std::size_t threads) {
  const double scale = static_cast<double>(columns) / static_cast<double>(std::max<std::size_t>(1, threads));
  const double receivers = static_cast<double>(std::min(pushed_arcs, rows));
  return scale * (static_cast<double>(pushed_arcs) * kPushArc + receivers * kPushRow);
}

LevelCost predict_level(std::uint64_t graph_arcs, std::uint64_t rows, std::uint64_t nodes, std::uint64_t pushed_arcs,
                        std::uint32_t columns, std::size_t threads) {
  const double share = nodes == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(nodes);
  const double scale = static_cast<double>(columns) / static_cast<double>(std::max<std::size_t>(1, threads));
  LevelCost cost;
  cost.push_seconds = predict_push(pushed_arcs, rows, columns, threads);
  cost.recompute_seconds =
      scale * (static_cast<double>(graph_arcs) * share * kSweepArc + static_cast<double>(rows) * kSweepRow);
  return cost;
}

}  // namespace unweave
