// engine/ingest/import_report.cpp - counts edges that were given one way only, and classes without
// nodes.
#include "engine/ingest/import_report.h"

#include <algorithm>

#include "engine/graph/arc_lists.h"
#include "engine/resources/memory.h"

namespace unweave {

void count_one_way_edges(const ArcCounts& counts, std::uint64_t edges, ImportReport& report) {
  const std::uint64_t given = counts.edges_read - counts.self_loops;
  const std::uint64_t both_ways = std::min({given - edges, counts.upward, given - counts.upward, edges});
  report.one_way_edges = edges - both_ways;
  report.one_way_exact = both_ways == 0;
}

void count_empty_classes(std::span<const std::int32_t> labels, std::uint32_t classes, MemoryBudget& budget,
                         ImportReport& report) {
  const std::uint64_t bytes = std::uint64_t{classes} / 8 + 1;
  if (bytes > budget.available()) return;
  const Reservation memory = budget.reserve(bytes, "classes that have nodes");
  std::vector<bool> seen(classes);
  std::uint64_t empty = classes;
  for (const std::int32_t label : labels) {
    if (label < 0 || seen[static_cast<std::size_t>(label)]) continue;
    seen[static_cast<std::size_t>(label)] = true;
    --empty;
  }
  report.empty_classes = empty;
  for (std::uint32_t one = 0;
       one < classes && report.first_empty_classes.size() < std::min<std::size_t>(kNamedClasses, empty); ++one)
    if (!seen[one]) report.first_empty_classes.push_back(one);
}

}  // namespace unweave
