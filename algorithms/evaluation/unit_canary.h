// algorithms/evaluation/unit_canary.h - canaries of models whose rows are of whole graphs or of
// pairs of nodes.
//
// Canaries of graphs:
//   hub       the training graph with the most nodes, removed
//   bridge    an edge of the smallest training graph that has one, removed
//   gradient  the training graph whose row has the largest gradient at the model's published
//             weights, removed
//   planted   the training graph and the class that the model finds least likely: the graph is
//             learnt with this wrong class, and removed
// Canaries of pairs:
//   hub       the node with the most edges, removed with them
//   bridge    the training edge whose ends have the fewest edges, removed
//   gradient  the training edge with the largest gradient, removed
//   planted   the pair of no edge, of the role of training edges, that the model finds least likely
//             to be one: the edge is inserted, learnt, and removed
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/evaluation/audit.h"
#include "algorithms/evaluation/reports.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/models/model_record.h"
#include "engine/resources/memory.h"

namespace unweave {

/// How far a row pulls at the model with this label: the norm of the gradient of its loss for
/// linear models; for networks, of the gradient by its margins, times that of the row.
[[nodiscard]] double gradient_norm(const TrainingSet& rows, std::size_t i, const Model& model, ClassId label);
/// Those of all rows, with their own labels.
[[nodiscard]] std::vector<double> gradient_norms(const TrainingSet& rows, const Model& model);

/// As find_canaries(), steepest_rows() and release_canary() (canary.h), which call these. `store`:
/// as it is before the removal.
[[nodiscard]] std::vector<CanaryRequests> find_unit_canaries(const LiveStore& store, const ModelRecord& record,
                                                             MemoryBudget& budget);
[[nodiscard]] CanaryRequests steepest_units(const LiveStore& store, const ModelRecord& record, std::uint64_t count,
                                            MemoryBudget& budget);
[[nodiscard]] Canary release_unit_canary(const CanaryRequests& of, StoreReader& store, const ModelRecord& record,
                                         std::uint64_t most_rows, MemoryBudget& budget);

}  // namespace unweave
