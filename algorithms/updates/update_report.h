// algorithms/updates/update_report.h - what bringing the embedding up to date has taken, or is
// going to, and in which way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/io/types.h"

namespace unweave {

struct UpdateReport {
  std::uint64_t rows_touched = 0;  ///< rows of sums written, over all levels
  std::uint64_t arcs_visited = 0;  ///< self loops included; by a sweep, all of them
  std::uint64_t arcs_summed = 0;   ///< those of rows that are kept: what had to be added
  std::uint64_t pushes = 0;        ///< rows pushed, over all levels
  std::vector<std::string> plan;   ///< push, recompute or (the last one) defer, one a level 1..L
  double seconds_predicted = 0;    ///< time of the plan that was chosen
  bool all_rows = false;           ///< every embedding row may have changed
  /// Otherwise the nodes whose embedding may have changed, sorted; left empty where the last level
  /// is put off.
  std::vector<NodeId> changed;

  /// Adds what was done besides; the plan stays.
  void add(const UpdateReport& more) {
    rows_touched += more.rows_touched;
    arcs_visited += more.arcs_visited;
    arcs_summed += more.arcs_summed;
    pushes += more.pushes;
    all_rows |= more.all_rows;
    if (more.changed.empty()) return;
    changed.insert(changed.end(), more.changed.begin(), more.changed.end());
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  }
};

/// How levels are brought up to date: by the planner, or always in one way.
enum class Plan { automatic, push, recompute };

struct LevelForecast {
  std::uint64_t rows = 0;        ///< rows of sums to write
  std::uint64_t arcs = 0;        ///< arcs to visit, self loops included
  double push_seconds = 0;       ///< not a number above a recomputed level: nobody asks
  double recompute_seconds = 0;  ///< for this level alone; above a recomputed level, the number of that one
  bool recompute = false;        ///< what Update is going to choose; else it pushes
};

/// The plan of a stream that is exact and brings all levels up to date with every batch. It leaves
/// out the stale rows of an earlier lazy stream, which the first batch publishes.
struct StreamPlan {
  std::vector<LevelForecast> levels;  ///< levels 1 .. L of one batch; empty before `propagate`
  double seconds = 0;                 ///< time predicted for them
  /// Memory beside the open store: rows changed by this batch and those before it, rows captured,
  /// rows to push, and what a recomputation takes of what these leave.
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;     ///< journal and new files of the checkpoint, without headers and checksums
  std::uint64_t written_bytes = 0;  ///< these files, and what batches write that the next ones replace
};

}  // namespace unweave
