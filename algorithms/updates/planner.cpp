// algorithms/updates/planner.cpp - the cost of a push, of a sweep and of counting receivers, by the
// table of costs.
#include "algorithms/updates/planner.h"

#include <algorithm>
#include <cmath>

#include "engine/resources/cost.h"
#include "storage/codec/gap_block.h"

namespace unweave {
namespace {

constexpr double kPageBytes = 4096;
constexpr double kPushArcBytes = 24;  // memory that an arc takes while it is sorted to its receiver, a slice at a time
constexpr double kCountShare = 0.04;  // the part of a sweep that counting receivers may take

double parallel(double seconds, const LevelWork& work) {
  return seconds / static_cast<double>(std::max<std::size_t>(1, work.threads));
}

/// Seconds of so many bytes of memory that were never touched.
double new_bytes(const LevelWork& work, double bytes) {
  return bytes * std::max(parallel(cost::kNewByte, work), work.cold.room_seconds);
}

/// Seconds that the memory of a push takes longer than the costs of rows and arcs say, which know
/// of memory as it mostly is: for rows that lie in files now, arcs that are sorted, and rows that a
/// delivery forms before it pushes them.
double push_room(const LevelWork& work, double in_files) {
  const double rows = in_files + (work.changed == 0 ? static_cast<double>(work.sources) : 0);
  const double arcs = work.scan_arcs > 0 ? 0 : static_cast<double>(work.arcs) / static_cast<double>(work.slices);
  const double bytes = rows * work.columns * sizeof(std::int32_t) + arcs * kPushArcBytes;
  return new_bytes(work, bytes) - bytes * parallel(cost::kNewByte, work);
}

/// The part of the seconds of new memory that a level is charged with: half of it for a batch, as
/// later ones find it made; a delivery or a flush may be the last to use it.
double charged_room(const LevelWork& work) {
  return work.changed > 0 ? 0.5 : 1;
}

/// Pages of so many bytes that are touched, if `touches` go anywhere.
double touched_pages(double bytes, double touches) {
  const double pages = bytes / kPageBytes;
  return pages <= 0 ? 0 : -pages * std::expm1(-touches / pages);
}

double level_bytes(const LevelWork& work) {
  return work.is_resident ? 0 : static_cast<double>(work.rows) * work.columns * sizeof(std::int32_t);
}

/// Seconds of mapping and checking the pages of the level's file that hold some of `rows` rows,
/// which lie anywhere, and none of those in memory.
double map_pages(const LevelWork& work, double rows) {
  const double bytes = level_bytes(work);
  if (bytes <= 0) return 0;
  return std::exp(-static_cast<double>(work.rows_in_memory) * kPageBytes / bytes) * touched_pages(bytes, rows) *
         kPageBytes * cost::kMappedByte;
}

/// Seconds of reading what a push touches from a disk: lists of the sources and of changed nodes,
/// rows of the level and the features of changed nodes, each on a page of its own, but for lists
/// that are read from end to end.
double cold_push(const LevelWork& work, double in_files) {
  const ColdReads& cold = work.cold;
  const auto changed = static_cast<double>(work.changed), sources = static_cast<double>(work.sources);
  const double row_pages = std::max(1.0, static_cast<double>(work.columns * sizeof(std::int32_t)) / kPageBytes);
  double seconds = touched_pages(cold.graph_bytes, work.scan_arcs > 0 ? changed : sources + changed) * cold.graph +
                   touched_pages(level_bytes(work), (in_files + changed) * row_pages) * cold.level;
  if (!work.is_below_resident) seconds += touched_pages(cold.below_bytes, changed * row_pages) * cold.below;
  seconds *= cold.page_seconds;
  if (work.scan_arcs > 0) seconds += cold.list_bytes * cold.lists * cold.byte_seconds;
  return seconds;
}

/// A sweep over the graph without what room for its sums costs, and that.
struct Sweep {
  double sums, room;
};

Sweep predict_sweep(const LevelWork& work) {
  const double tiles = std::ceil(static_cast<double>(work.columns) / cost::kTileColumns);
  const auto rows = static_cast<double>(work.rows), nodes = static_cast<double>(work.nodes);
  const double share = work.nodes == 0 ? 0 : rows / nodes;
  const double blocks = 1 - std::pow(1 - share, kBlockNodes);  // that hold a row, if rows lie anywhere
  const double arcs = static_cast<double>(work.graph_arcs) * (blocks * cost::kDecodedArc + share * cost::kSummedArc) +
                      static_cast<double>(work.changed_arcs + work.changed) * cost::kMergedArc;
  const double filled = cost::kLevel0Value + (work.is_below_resident ? 0 : sizeof(std::int32_t) * cost::kMappedByte);
  const ColdReads& cold = work.cold;
  const double reads = (cold.graph_bytes * cold.graph + (work.is_below_resident ? 0 : cold.below_bytes * cold.below)) *
                       cold.byte_seconds;
  return {std::max(parallel(tiles * arcs + (nodes * filled + rows * cost::kSumValue) * work.columns, work), reads),
          work.is_resident ? 0 : new_bytes(work, rows * work.columns * sizeof(std::int32_t))};
}

}  // namespace

bool list_scan_pays(std::uint64_t list_arcs, std::uint64_t sources, std::uint64_t pushed_arcs) {
  return static_cast<double>(list_arcs) * cost::kScannedArc <
         static_cast<double>(sources) * cost::kFoundList + static_cast<double>(pushed_arcs) * cost::kGatheredArc;
}

Receivers most_receivers(const LevelWork& work) {
  const auto most = static_cast<double>(std::min(work.arcs, work.rows));
  return work.is_resident ? Receivers{0, most} : Receivers{most, 0};
}

Receivers any_receivers(const LevelWork& work, double count) {
  if (work.rows == 0) return {};
  const double in_memory =
      count * std::min(1.0, static_cast<double>(work.rows_in_memory) / static_cast<double>(work.rows));
  return {count - in_memory, in_memory};
}

Receivers scattered_receivers(const LevelWork& work) {
  const auto rows = static_cast<double>(work.rows);
  // Rows that are kept have more arcs than others: the share of the arcs that end there lies
  // between that of the nodes and 1.
  const double share = work.nodes == 0 ? 1 : std::sqrt(std::min(1.0, rows / static_cast<double>(work.nodes)));
  return any_receivers(work, -rows * std::expm1(-share * static_cast<double>(work.arcs) / rows));
}

std::size_t count_stride(const LevelWork& work, std::size_t sources) {
  const double all = parallel(
      static_cast<double>(sources) * cost::kFoundList + static_cast<double>(work.arcs) * cost::kScannedArc, work);
  const double most = kCountShare * forecast_recompute(work);
  return all <= most ? 1 : static_cast<std::size_t>(std::min(all / most, static_cast<double>(sources)));
}

double extrapolate_receivers(const LevelWork& work, double found, double some) {
  if (some >= static_cast<double>(work.arcs)) return found;
  // The fewer nodes there are to an arc, the smaller the share of arcs that find a node of their
  // own.
  double low = some / static_cast<double>(work.nodes), high = std::max(low, some / found);  // arcs a node
  for (int step = 0; step < 60; ++step) {
    const double density = (low + high) / 2;
    (-std::expm1(-density) / density > found / some ? low : high) = density;
  }
  return -some / high * std::expm1(-static_cast<double>(work.arcs) / some * high);
}

double forecast_push(const LevelWork& work, const Receivers& receivers) {
  const auto changed = static_cast<double>(work.changed);
  const double spooled = work.slices > 1 ? cost::kSpooledArc : 0;
  const double arcs = work.scan_arcs > 0 ? static_cast<double>(work.scan_arcs) * cost::kScannedArc
                                         : static_cast<double>(work.arcs) * (cost::kPushedArc + spooled);
  return parallel(cost::kChangedRow.of(changed, work.columns) + 2 * map_pages(work, changed) + arcs +
                      cost::kFileRow.of(receivers.in_files, work.columns) + map_pages(work, receivers.in_files) +
                      cost::kMemoryRow.of(receivers.in_memory, work.columns),
                  work) +
         push_room(work, receivers.in_files) + cold_push(work, receivers.in_files);
}

double forecast_recompute(const LevelWork& work) {
  const Sweep sweep = predict_sweep(work);
  return sweep.sums + sweep.room;
}

LevelChoice choose(const LevelWork& work, const std::function<Receivers()>& count_receivers) {
  const Sweep sweep = predict_sweep(work);
  const LevelChoice anew{true, sweep.sums + sweep.room};
  const double recompute = sweep.sums + charged_room(work) * sweep.room;
  const auto charged = [&](const Receivers& receivers) {
    return forecast_push(work, receivers) - (1 - charged_room(work)) * push_room(work, receivers.in_files);
  };
  if (charged({0, static_cast<double>(work.least_receivers)}) >= recompute) return anew;
  const bool is_clear = charged(most_receivers(work)) <= recompute;
  const Receivers receivers = is_clear ? scattered_receivers(work) : count_receivers();
  return charged(receivers) > recompute ? anew : LevelChoice{false, forecast_push(work, receivers)};
}

}  // namespace unweave
