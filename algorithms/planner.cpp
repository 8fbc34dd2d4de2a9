#include "algorithms/planner.h"

#include <algorithm>

namespace unweave {
namespace {

// Seconds for one column of one arc or row on one thread.
constexpr double kSweepArc = 3.3e-10;  // one gathered value of a tile in memory
constexpr double kSweepRow = 2e-9;     // rounding, packing and writing one value
constexpr double kPushArc = 2.5e-10;   // one value of a pushed row, from a small tile
constexpr double kPushRow = 2e-8;      // reading, rounding and storing one value of a receiver

double per_column(std::uint32_t columns, std::size_t threads) {
  return static_cast<double>(columns) / static_cast<double>(std::max<std::size_t>(1, threads));
}

}  // namespace

double predict_push(std::uint64_t pushed_arcs, std::uint64_t receivers, std::uint32_t columns, std::size_t threads) {
  return per_column(columns, threads) *
         (static_cast<double>(pushed_arcs) * kPushArc + static_cast<double>(receivers) * kPushRow);
}

double predict_recompute(std::uint64_t graph_arcs, std::uint64_t rows, std::uint64_t nodes, std::uint32_t columns,
                         std::size_t threads) {
  const double share = nodes == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(nodes);
  return per_column(columns, threads) *
         (static_cast<double>(graph_arcs) * share * kSweepArc + static_cast<double>(rows) * kSweepRow);
}

}  // namespace unweave
