// engine/ingest/import_report.h - counts what an import tells of its edges and classes.
#pragma once

#include <cstdint>
#include <span>

#include "storage/types/import_report.h"

namespace unweave {

struct ArcCounts;
class MemoryBudget;

/// Sets one_way_edges of a graph of `edges` distinct edges.
void count_one_way_edges(const ArcCounts& counts, std::uint64_t edges, ImportReport& report);

/// Sets the empty classes among [0, classes), if a bit for each class fits the budget.
void count_empty_classes(std::span<const std::int32_t> labels, std::uint32_t classes, MemoryBudget& budget,
                         ImportReport& report);

}  // namespace unweave
