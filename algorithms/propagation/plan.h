// algorithms/propagation/plan.h - what a propagation keeps, sums and takes, known before it begins.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/propagation/level_form.h"
#include "engine/graph/contents.h"
#include "engine/graph/row_mask.h"
#include "engine/resources/memory.h"
#include "storage/types/propagation_spec.h"

namespace unweave {

class TargetGraph;

/// Rows that labelled targets read: masks [level - 1] of levels 1 .. L >= 1. One pass over the
/// graph a level but the last, or over `lists` for the last but one where these are there;
/// `counted` gets the number of readers of every node at levels L-1 .. 1 and may be empty. Takes a
/// bit a node for each mask and one more, charged by the caller, and 4 bytes a node.
[[nodiscard]] std::vector<RowMask> backward_cone(
    const Contents& contents, std::uint32_t levels,
    const std::function<void(std::uint32_t level, std::span<const std::uint32_t> counts)>& counted,
    const TargetGraph* lists = nullptr);

/// Arcs of some rows in sum, self loops included.
[[nodiscard]] std::uint64_t arcs_of_rows(const Graph& graph, const RowMask& rows);

/// What a propagation keeps, sums and takes: made once, before anything is summed, and followed as
/// it is.
struct PropagationPlan {
  std::vector<std::uint64_t> rows;  ///< rows kept at levels 1 .. L
  std::vector<std::uint64_t> arcs;  ///< arcs summed at levels 1 .. L, self loops included
  StatePlan state;
  std::uint64_t cone_bytes = 0;  ///< written beside the sums, at most: counts of readers, lists of few targets
  std::vector<RowMask> wanted;   ///< rows of levels 1 .. L, which sums are made of; empty where all are wanted
  Reservation masks;             ///< charged for `wanted`
  /// Standard errors of rows and arcs where these come from a sample (field_estimate.h); empty
  /// where they were counted.
  std::vector<double> rows_error, arcs_error;
};

/// Plans within what is left of `budget`. `counted`, `lists`: see backward_cone(). Throws
/// ResourceError where it cannot fit.
[[nodiscard]] PropagationPlan plan_propagation(
    const Contents& contents, const PropagationSpec& spec, MemoryBudget& budget,
    const std::function<void(std::uint32_t level, std::span<const std::uint32_t> counts)>& counted = {},
    const TargetGraph* lists = nullptr);

/// The plan with the rows of an estimate (field_estimate.h), which takes a second or two at any
/// size. What follows from the rows, as tiles, memory and disk, is what as many rows would take
/// that lie evenly among the nodes. `wanted` stays empty, so that nothing can be built by it.
/// Throws ResourceError, FormatError.
[[nodiscard]] PropagationPlan estimate_propagation(const Contents& contents, const PropagationSpec& spec,
                                                   MemoryBudget& budget);

/// The sweep that sums the rows in `wanted` of a propagation, which must outlive it.
[[nodiscard]] SweepSpec sweep_of(const Contents& contents, const PropagationSpec& spec,
                                 std::span<const RowMask> wanted = {});

}  // namespace unweave
