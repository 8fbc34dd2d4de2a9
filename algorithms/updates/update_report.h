// algorithms/updates/update_report.h - what bringing the embedding up to date has taken, and in which way it was done.
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
  /// Otherwise the nodes whose embedding may have changed, sorted; left empty where the last level is put off.
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

}  // namespace unweave
