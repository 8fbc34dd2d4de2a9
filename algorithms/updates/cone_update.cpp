// algorithms/updates/cone_update.cpp - walks the levels from the last to the first and counts
// readers that come and go.
#include "algorithms/updates/cone_update.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "engine/resources/look_ahead.h"

namespace unweave {
namespace {

bool holds(const std::vector<NodeId>& sorted, NodeId node) {
  return std::binary_search(sorted.begin(), sorted.end(), node);
}

std::vector<NodeId> merged(const std::vector<NodeId>& a, const std::vector<NodeId>& b) {
  std::vector<NodeId> out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

}  // namespace

MovedTargets moved_targets(const Contents& contents, const BatchChanges& changes) {
  MovedTargets targets;
  for (const NodeChange& change : changes.nodes) {
    const std::int32_t label = contents.label(change.node);
    const bool before = label != kNoLabel, after = change.label_after(label) != kNoLabel;
    if (before && !after) targets.lost.push_back(change.node);
    if (!before && after) targets.gained.push_back(change.node);
  }
  return targets;
}

ConeChange update_cone(Cone& cone, const Contents& contents, const BatchChanges& changes, MovedTargets targets,
                       std::uint32_t levels) {
  ConeChange result;
  result.left.resize(levels + std::size_t{1});
  result.entered.resize(levels + std::size_t{1});
  if (cone.all_rows()) return result;
  result.left[levels] = std::move(targets.lost);
  result.entered[levels] = std::move(targets.gained);

  std::vector<NodeId> changed_nodes;
  for (const NodeChange& change : changes.nodes) changed_nodes.push_back(change.node);
  const NodeChange none;
  NeighbourList now;
  for (std::uint32_t level = levels; level > 1; --level) {
    // Readers of level - 1 are the rows of this level; only rows that changed or whose lists
    // changed move a count.
    std::map<NodeId, std::int64_t> steps;
    const std::vector<NodeId> moved = merged(result.left[level], result.entered[level]);
    LookAhead ahead(0, moved.size(), [&](std::size_t i) { contents.graph().read_ahead(moved[i]); });
    std::size_t turn = 0;
    for (const NodeId u : merged(changed_nodes, moved)) {
      if (turn < moved.size() && moved[turn] == u) ahead.at(turn++);
      const auto at = std::lower_bound(changed_nodes.begin(), changed_nodes.end(), u);
      const bool changed = at != changed_nodes.end() && *at == u;
      const NodeChange& change = changed ? changes.nodes[static_cast<std::size_t>(at - changed_nodes.begin())] : none;
      const bool after = cone.contains(level, u);
      const bool before = (after && !holds(result.entered[level], u)) || holds(result.left[level], u);
      if (before && after) {
        for (const auto& [v, weight] : change.removed) steps[v] -= weight;
        for (const auto& [v, weight] : change.inserted) steps[v] += weight;
      } else if (before || after) {
        contents.graph().neighbours(u, now);
        const std::int64_t step = after ? 1 : -1;
        for_neighbours(now.view(), [&](NodeId v, std::uint32_t weight) { steps[v] += step * weight; });
        steps[u] += step;
        if (before) {  // it read its former list
          for (const auto& [v, weight] : change.removed) steps[v] -= weight;
          for (const auto& [v, weight] : change.inserted) steps[v] += weight;
        }
      }
    }
    for (const auto& [node, step] : steps) {
      if (step == 0) continue;
      const bool before = cone.count(level - 1, node) > 0;
      cone.add(level - 1, node, step);
      const bool after = cone.count(level - 1, node) > 0;
      if (before && !after) result.left[level - 1].push_back(node);
      if (!before && after) result.entered[level - 1].push_back(node);
    }
  }
  return result;
}

}  // namespace unweave
