// algorithms/updates/planner.cpp - the cost of a push, of a sweep and of counting receivers, by
// measured constants.
#include "algorithms/updates/planner.h"

#include <algorithm>
#include <cmath>

#include "storage/codec/gap_block.h"

namespace unweave {
namespace {

// Seconds on one thread, for an item and for each of its columns. They were fitted to graphs of
// 10^5 to 10^6 nodes with 16 to 128 columns, whose files lay in the page cache.
struct Cost {
  double item, column;
  [[nodiscard]] double of(double items, std::uint32_t columns) const { return items * (item + columns * column); }
};
constexpr Cost kChanged{2e-6, 4.8e-8};   // capturing what a row has published, mending its sums
constexpr double kChangedPage = 3.2e-6;  // mapping and checking the pages of its features and sums
constexpr double kPushArc = 3e-8;        // decoding, ordering by receiver, adding
constexpr double kPassArc = 1e-8;        // decoding, once more for each further slice of the receivers
constexpr double kLookUpArc = 1e-8;      // decoding, looking for its end among the sources, adding
constexpr Cost kInFile{3.6e-7, 6e-9};    // rounding a row, storing it in memory
constexpr double kFilePage = 1.8e-6;     // mapping and checking a page of such rows
constexpr Cost kInMemory{2e-8, 2.2e-9};  // changing a row

// Seconds of reading lists, which may have to come from a disk, without adding.
constexpr double kScanArc = 2.5e-9;  // decoded, and looked up among the sources
constexpr double kFindArc = 1e-8;    // decoded, and sorted by receiver
constexpr double kFindList = 2e-6;   // found, and its block decoded

// Seconds of reading lists only to count receivers, which may take a small share of the time of a
// sweep.
constexpr double kCountList = 4e-6;  // where blocks are compressed by zstd too
constexpr double kCountArc = 5e-9;
constexpr double kCountShare = 0.04;

// Seconds of a sweep, which takes so many columns at a time.
constexpr std::uint32_t kTileColumns = 32;
constexpr double kDecodeArc = 2.3e-9;
constexpr double kSumArc = 2.7e-9;
constexpr double kChangedArc = 2.3e-7;  // merging it into its decoded list
constexpr double kFillValue = 1e-9;     // rounding a value of the level below
constexpr double kFileValue = 2.5e-9;   // in addition, where that are features or sums in files
constexpr double kNewValue = 2.5e-9;    // room for a sum in memory that was never touched, or in a file
constexpr double kPushArcBytes = 24;  // memory that an arc takes while it is sorted to its receiver, a slice at a time

double parallel(double seconds, const LevelWork& work) {
  return seconds / static_cast<double>(std::max<std::size_t>(1, work.threads));
}

/// Seconds of memory that was never touched, for so many values.
double new_values(const LevelWork& work, double values) {
  return values * std::max(parallel(kNewValue, work), work.cold.room_seconds * sizeof(std::int32_t));
}

/// Seconds that the memory of a push takes longer than the costs of rows and arcs say, which know
/// of memory as it mostly is: for rows that lie in files now, arcs that are sorted, and rows that a
/// delivery forms before it pushes them.
double push_room(const LevelWork& work, double in_files) {
  const double rows = in_files + (work.changed == 0 ? static_cast<double>(work.sources) : 0);
  const double arcs = work.scan_arcs > 0 ? 0 : static_cast<double>(work.arcs) / static_cast<double>(work.slices);
  const double values = rows * work.columns + arcs * kPushArcBytes / sizeof(std::int32_t);
  return new_values(work, values) - values * parallel(kNewValue, work);
}

/// The part of the seconds of new memory that a level is charged with: half of it for a batch, as
/// later ones find it made; a delivery or a flush may be the last to use it.
double charged_room(const LevelWork& work) {
  return work.changed > 0 ? 0.5 : 1;
}

/// Pages of the level's file that hold some of `rows` rows, which lie anywhere, and none of those
/// in memory.
double new_pages(const LevelWork& work, double rows) {
  constexpr double kPageBytes = 4096;
  if (work.rows == 0 || work.columns == 0 || work.is_resident) return 0;
  const double pages = static_cast<double>(work.rows) * work.columns * sizeof(std::int32_t) / kPageBytes;
  return -pages * std::exp(-static_cast<double>(work.rows_in_memory) / pages) * std::expm1(-rows / pages);
}

/// Seconds of reading what a push touches from a disk: lists of the sources and of changed nodes,
/// rows of the level and the features of changed nodes, each on a page of its own, but for lists
/// that are read from end to end.
double cold_push(const LevelWork& work, double in_files) {
  constexpr double kPageBytes = 4096;
  const ColdReads& cold = work.cold;
  const auto pages_of = [](double bytes, double touched) {
    const double pages = bytes / kPageBytes;
    return pages <= 0 ? 0 : -pages * std::expm1(-touched / pages);
  };
  const auto changed = static_cast<double>(work.changed), sources = static_cast<double>(work.sources);
  const double row_pages = std::max(1.0, static_cast<double>(work.columns * sizeof(std::int32_t)) / kPageBytes);
  double seconds = pages_of(cold.graph_bytes, work.scan_arcs > 0 ? changed : sources + changed) * cold.graph;
  if (work.rows > 0 && !work.is_resident) {
    const double level_bytes = static_cast<double>(work.rows) * work.columns * sizeof(std::int32_t);
    seconds += pages_of(level_bytes, (in_files + changed) * row_pages) * cold.level;
  }
  if (!work.is_below_resident) seconds += pages_of(cold.below_bytes, changed * row_pages) * cold.below;
  seconds *= cold.page_seconds;
  if (work.scan_arcs > 0) seconds += cold.list_bytes * cold.lists * cold.byte_seconds;
  return seconds;
}

/// A sweep over the graph without what room for its sums costs, and that.
struct Sweep {
  double sums, room;
};

Sweep predict_sweep(const LevelWork& work) {
  const double tiles = std::ceil(static_cast<double>(work.columns) / kTileColumns);
  const auto rows = static_cast<double>(work.rows), nodes = static_cast<double>(work.nodes);
  const double share = work.nodes == 0 ? 0 : rows / nodes;
  const double blocks = 1 - std::pow(1 - share, kBlockNodes);  // that hold a row, if rows lie anywhere
  const double arcs = static_cast<double>(work.graph_arcs) * (blocks * kDecodeArc + share * kSumArc) +
                      static_cast<double>(work.changed_arcs + work.changed) * kChangedArc;
  const double value = work.is_below_resident ? kFillValue : kFillValue + kFileValue;
  const ColdReads& cold = work.cold;
  const double reads = (cold.graph_bytes * cold.graph + (work.is_below_resident ? 0 : cold.below_bytes * cold.below)) *
                       cold.byte_seconds;
  return {std::max(parallel(tiles * arcs + nodes * work.columns * value, work), reads),
          work.is_resident ? 0 : new_values(work, rows * work.columns)};
}

}  // namespace

bool list_scan_pays(std::uint64_t list_arcs, std::uint64_t sources, std::uint64_t pushed_arcs) {
  return static_cast<double>(list_arcs) * kScanArc <
         static_cast<double>(sources) * kFindList + static_cast<double>(pushed_arcs) * kFindArc;
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
  const double all =
      parallel(static_cast<double>(sources) * kCountList + static_cast<double>(work.arcs) * kCountArc, work);
  const double most = kCountShare * predict_recompute(work);
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

double predict_push(const LevelWork& work, const Receivers& receivers) {
  const auto changed = static_cast<double>(work.changed);
  const double passes = static_cast<double>(work.slices - 1);
  const double arcs = work.scan_arcs > 0 ? static_cast<double>(work.scan_arcs) * kLookUpArc
                                         : static_cast<double>(work.arcs) * (kPushArc + passes * kPassArc);
  return parallel(kChanged.of(changed, work.columns) + kChangedPage * new_pages(work, changed) + arcs +
                      kInFile.of(receivers.in_files, work.columns) + kFilePage * new_pages(work, receivers.in_files) +
                      kInMemory.of(receivers.in_memory, work.columns),
                  work) +
         push_room(work, receivers.in_files) + cold_push(work, receivers.in_files);
}

double predict_recompute(const LevelWork& work) {
  const Sweep sweep = predict_sweep(work);
  return sweep.sums + sweep.room;
}

LevelChoice choose(const LevelWork& work, const std::function<Receivers()>& count_receivers) {
  const Sweep sweep = predict_sweep(work);
  const LevelChoice anew{true, sweep.sums + sweep.room};
  const double recompute = sweep.sums + charged_room(work) * sweep.room;
  const auto charged = [&](const Receivers& receivers) {
    return predict_push(work, receivers) - (1 - charged_room(work)) * push_room(work, receivers.in_files);
  };
  if (charged({0, static_cast<double>(work.least_receivers)}) >= recompute) return anew;
  const bool is_clear = charged(most_receivers(work)) <= recompute;
  const Receivers receivers = is_clear ? scattered_receivers(work) : count_receivers();
  return charged(receivers) > recompute ? anew : LevelChoice{false, predict_push(work, receivers)};
}

}  // namespace unweave
