// algorithms/evaluation/canary.h - removals that should be hardest to hide, and what they do to the
// training rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/evaluation/audit.h"
#include "algorithms/evaluation/reports.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/models/model_record.h"
#include "engine/resources/memory.h"

namespace unweave {

/// The worst that a store holds, of each kind at most one:
///   hub       the node with the most edges, removed
///   bridge    the edge of a training node that hangs on it alone (of a training node with the
///             fewest edges, where there is no such edge), the one with the largest gradient
///   gradient  the training node whose row has the largest gradient at the model's published
///             weights, removed
/// Flat data has no hub and no bridge. Where rows are of whole graphs:
///   hub       the training graph with the most nodes, removed
///   bridge    an edge of the smallest training graph that has one, removed
///   gradient  the training graph whose row has the largest gradient at the model's published
///             weights, removed
///   planted   the training graph and the class that the model finds least likely: the graph is
///             learnt with this wrong class, and removed
/// Where rows are of pairs of nodes:
///   hub       the node with the most edges, removed with them
///   bridge    the training edge whose ends have the fewest edges, removed
///   gradient  the training edge with the largest gradient, removed
///   planted   the pair of no edge, of the role of training edges, that the model finds least
///             likely to be one: the edge is inserted, learnt, and removed
/// Throws what TrainingRows throws.
[[nodiscard]] std::vector<CanaryRequests> find_canaries(const LiveStore& store, const ModelRecord& record,
                                                        MemoryBudget& budget);

/// The removal, together, of the `count` training nodes, graphs or edges whose rows have the
/// largest gradients at the model's published weights, or of all but one where there are no more.
/// Throws what TrainingRows throws.
[[nodiscard]] CanaryRequests steepest_rows(const LiveStore& store, const ModelRecord& record, std::uint64_t count,
                                           MemoryBudget& budget);

/// Applies the requests to a reader of the store, which then stands after them. At most `most_rows`
/// training rows take part: those that leave first, then those that move farthest, then others
/// evenly; a claim holds for every data set, hence for this part too. Rows of whole graphs and of
/// pairs are numbered anew, and their change begins anew, as in a stream. Throws UsageError where
/// the requests change no training row.
[[nodiscard]] Canary release_canary(const CanaryRequests& of, StoreReader& store, const ModelRecord& record,
                                    std::uint64_t most_rows, MemoryBudget& budget);

/// How far a row pulls at the model with this label: the norm of the gradient of its loss for
/// linear models; for networks, of the gradient by its margins, times that of the row.
[[nodiscard]] double gradient_norm(const TrainingSet& rows, std::size_t i, const Model& model, ClassId label);
/// Those of all rows, with their own labels.
[[nodiscard]] std::vector<double> gradient_norms(const TrainingSet& rows, const Model& model);

/// The part of each of the three above for rows of whole graphs and of pairs
/// (unit_canary.cpp).
namespace of_units {
std::vector<CanaryRequests> find_canaries(const LiveStore& store, const ModelRecord& record, MemoryBudget& budget);
CanaryRequests steepest_rows(const LiveStore& store, const ModelRecord& record, std::uint64_t count,
                             MemoryBudget& budget);
Canary release_canary(const CanaryRequests& of, StoreReader& store, const ModelRecord& record, std::uint64_t most_rows,
                      MemoryBudget& budget);
}  // namespace of_units

}  // namespace unweave
