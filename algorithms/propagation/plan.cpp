// algorithms/propagation/plan.cpp - marks the receptive field level by level, and plans the sweep
// over it.
#include "algorithms/propagation/plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/propagation/field_estimate.h"
#include "engine/state/cone.h"
#include "engine/state/level_indexes.h"
#include "engine/state/target_graph.h"

namespace unweave {

std::vector<RowMask> backward_cone(
    const Contents& contents, std::uint32_t levels,
    const std::function<void(std::uint32_t level, std::span<const std::uint32_t> counts)>& counted,
    const TargetGraph* lists) {
  const NodeId nodes = contents.num_nodes();
  std::vector<RowMask> masks(levels, RowMask(nodes));
  std::vector<bool> readers(nodes);
  for (NodeId node = 0; node < nodes; ++node) {
    readers[node] = contents.label(node) != kNoLabel;
    if (readers[node]) masks[levels - 1].insert(node);
  }
  for (std::uint32_t level = levels - 1; level >= 1; --level) {
    const std::vector<std::uint32_t> counts =
        level + 1 == levels && lists != nullptr ? count_readers(*lists) : count_readers(contents, readers);
    if (counted) counted(level, counts);
    for (NodeId node = 0; node < nodes; ++node) {
      readers[node] = counts[node] > 0;
      if (readers[node]) masks[level - 1].insert(node);
    }
  }
  return masks;
}

std::uint64_t arcs_of_rows(const Graph& graph, const RowMask& rows) {
  std::uint64_t arcs = 0;
  for (NodeId node = 0; node < rows.rows(); ++node)
    if (rows.contains(node)) arcs += graph.num_terms(node);
  return arcs;
}

SweepSpec sweep_of(const Contents& contents, const PropagationSpec& spec, std::span<const RowMask> wanted) {
  SweepSpec sweep;
  sweep.levels = spec.levels;
  sweep.columns = {0, contents.features().columns()};
  sweep.scale_bits = spec.scale_bits;
  sweep.wanted = wanted;
  return sweep;
}

namespace {

/// What is written, and the tiles and buffers for it: of a plan whose rows and arcs are known, as
/// those that are wanted.
void plan_files(const Contents& contents, const PropagationSpec& spec, std::span<const RowMask> wanted,
                const MemoryBudget& budget, PropagationPlan& plan) {
  if (spec.kept.has_sums() && !spec.all_rows) {
    plan.cone_bytes =
        (spec.levels - 1) * sealed_file_bytes(sizeof(std::uint32_t) * std::uint64_t{contents.num_nodes()});
    const std::uint64_t targets = plan.rows.back(), arcs = plan.arcs.back() - targets;
    plan.cone_bytes += LevelIndexes::most_bytes(contents, spec, static_cast<NodeId>(targets), arcs);
  }
  const SweepSpec sweep = sweep_of(contents, spec, wanted);
  plan.state = form_of(contents, spec, sweep)->plan(budget.available()).require();
}

}  // namespace

PropagationPlan plan_propagation(
    const Contents& contents, const PropagationSpec& spec, MemoryBudget& budget,
    const std::function<void(std::uint32_t level, std::span<const std::uint32_t> counts)>& counted,
    const TargetGraph* lists) {
  PropagationPlan plan;
  if (spec.levels == 0 && spec.kept.keep != Keep::embedding) return plan;
  const NodeId nodes = contents.num_nodes();
  if (spec.levels == 0) {  // every node has a row of the features
    plan_files(contents, spec, {}, budget, plan);
    return plan;
  }
  if (!spec.all_rows) {
    plan.masks = budget.reserve((std::uint64_t{spec.levels} + 1) * (nodes / 8 + 1), "masks of the rows to keep");
    plan.wanted = backward_cone(contents, spec.levels, counted, lists);
  }
  for (std::uint32_t l = 0; l < spec.levels; ++l) {
    plan.rows.push_back(spec.all_rows ? nodes : plan.wanted[l].size());
    plan.arcs.push_back(spec.all_rows ? contents.graph().num_terms() : arcs_of_rows(contents.graph(), plan.wanted[l]));
  }
  plan_files(contents, spec, plan.wanted, budget, plan);
  return plan;
}

namespace {

/// A set of `rows` of the nodes, spread evenly: it stands for rows of which only the number is
/// known.
RowMask even_rows(NodeId nodes, std::uint64_t rows) {
  RowMask mask(nodes);
  for (std::uint64_t i = 0; i < rows; ++i) mask.insert(static_cast<NodeId>(i * nodes / rows));
  return mask;
}

}  // namespace

PropagationPlan estimate_propagation(const Contents& contents, const PropagationSpec& spec, MemoryBudget& budget) {
  if (spec.levels == 0 || spec.all_rows) return plan_propagation(contents, spec, budget);
  PropagationPlan plan;
  const NodeId nodes = contents.num_nodes();
  plan.masks = budget.reserve((std::uint64_t{spec.levels} + 1) * (nodes / 8 + 1), "masks of the rows to keep");
  const FieldEstimate field = estimate_field(contents, spec.levels);
  plan.rows_error = field.rows_error;
  plan.arcs_error = field.arcs_error;
  std::vector<RowMask> even;
  for (std::uint32_t l = 0; l < spec.levels; ++l) {
    const auto whole = [](double value) { return static_cast<std::uint64_t>(std::llround(value)); };
    plan.rows.push_back(std::min<std::uint64_t>(nodes, whole(field.rows[l])));
    plan.arcs.push_back(std::min(contents.graph().num_terms(), whole(field.arcs[l])));
    even.push_back(even_rows(nodes, plan.rows.back()));
  }
  plan_files(contents, spec, even, budget, plan);
  return plan;
}

}  // namespace unweave
