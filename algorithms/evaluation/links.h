// algorithms/evaluation/links.h - what a model of links says of pairs of nodes, and how good it is.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/pair_units.h"
#include "storage/io/types.h"
#include "storage/types/pair_rules.h"

namespace unweave {

class LiveStore;

/// Throws UsageError where rows of this model are not of pairs.
void require_links(const ModelRecord& record);

/// Hands over these pairs of users' ids, in their order and with repeats: the source first, where
/// edges have directions.
void score_links(const LiveStore& store, const ModelRecord& record, std::span<const Edge> pairs, const LinkSink& sink);

/// Hands over, for each of these nodes in their order, the `top` best pairs with another node that
/// has anything, and that it has no edge to, neither in the graph nor held out of it; those of
/// equal scores by the smaller id. Where edges have directions these nodes are sources. The rows of
/// all nodes are read once for so many queries as fit the memory, 64 at most.
void best_links(const LiveStore& store, const ModelRecord& record, std::span<const NodeId> nodes, std::size_t top,
                const LinkSink& sink);

/// The figures of a role's pairs. `given`: other pairs of users' ids, in the place of those that
/// the store draws; or null.
[[nodiscard]] LinkFigures link_figures(const PairUnits& units, const ModelRecord& record, PairRole role,
                                       const std::vector<Edge>* given);

}  // namespace unweave
