// algorithms/planner.h - push or recompute: the predicted cost of one level of an update.
//
// Pure functions: the choice depends on the contents alone, not on the machine or its load.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unweave {

/// Seconds for pushing rows with `pushed_arcs` arcs in sum (self loops included) to so many distinct receivers.
[[nodiscard]] double predict_push(std::uint64_t pushed_arcs, std::uint64_t receivers, std::uint32_t columns,
                                  std::size_t threads);

/// Whether the receivers of a push are found sooner in the lists of all rows that may receive, which have `list_arcs` in
/// sum and lie side by side, than in those of the sources, which lie anywhere.
[[nodiscard]] bool list_scan_pays(std::uint64_t list_arcs, std::uint64_t sources, std::uint64_t pushed_arcs);

/// Seconds for a sweep over a graph of `graph_arcs` arcs (self loops included) that keeps `rows` of `nodes` rows.
[[nodiscard]] double predict_recompute(std::uint64_t graph_arcs, std::uint64_t rows, std::uint64_t nodes,
                                       std::uint32_t columns, std::size_t threads);

}  // namespace unweave
