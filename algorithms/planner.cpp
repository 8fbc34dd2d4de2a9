#include "algorithms/planner.h"

#include <algorithm>
#include <cmath>

#include "storage/gap_block.h"

namespace unweave {
namespace {

// Seconds for one column of one arc or row on one thread.
constexpr double kDecodeArc = 6e-11;   // its block is read and decoded once for 32 columns
constexpr double kSweepArc = 2.7e-10;  // one gathered value of a tile in memory
constexpr double kFillRow = 1.5e-9;    // rounding one value of the tile, in memory that was not touched before
constexpr double kSweepRow = 1.5e-9;   // packing and writing one value
constexpr double kPushArc = 2.5e-10;   // one value of a pushed row, from a small tile
constexpr double kPushRow = 2e-8;      // reading, rounding and storing one value of a receiver

// Seconds for one arc or list on one thread.
constexpr double kScanArc = 2.5e-9;  // decoded, and looked up among the sources
constexpr double kFindArc = 1e-8;    // decoded, and sorted by receiver
constexpr double kFindList = 2e-6;   // found, and its block decoded

double per_column(std::uint32_t columns, std::size_t threads) {
  return static_cast<double>(columns) / static_cast<double>(std::max<std::size_t>(1, threads));
}

}  // namespace

double predict_push(std::uint64_t pushed_arcs, std::uint64_t receivers, std::uint32_t columns, std::size_t threads) {
  return per_column(columns, threads) *
         (static_cast<double>(pushed_arcs) * kPushArc + static_cast<double>(receivers) * kPushRow);
}

bool list_scan_pays(std::uint64_t list_arcs, std::uint64_t sources, std::uint64_t pushed_arcs) {
  return static_cast<double>(list_arcs) * kScanArc <
         static_cast<double>(sources) * kFindList + static_cast<double>(pushed_arcs) * kFindArc;
}

double predict_recompute(std::uint64_t graph_arcs, std::uint64_t rows, std::uint64_t nodes, std::uint32_t columns,
                         std::size_t threads) {
  const double share = nodes == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(nodes);
  const double blocks = 1 - std::pow(1 - share, kBlockNodes);  // that hold a row, if rows lie anywhere
  return per_column(columns, threads) * (static_cast<double>(graph_arcs) * (blocks * kDecodeArc + share * kSweepArc) +
                                         static_cast<double>(nodes) * kFillRow + static_cast<double>(rows) * kSweepRow);
}

}  // namespace unweave
