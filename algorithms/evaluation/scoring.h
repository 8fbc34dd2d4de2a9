// algorithms/evaluation/scoring.h - what a model says of the nodes of a store, in the order of the
// users' ids.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "algorithms/evaluation/reports.h"
#include "storage/io/types.h"

namespace unweave {

class LiveStore;
struct ModelRecord;

/// Hands over every node that has an embedding, by id, some at a time. Where the order of the store
/// is not that of the ids, margins are sorted within the store's budget, with temporary files.
/// Throws UsageError, ResourceError.
void score_all(const LiveStore& store, const ModelRecord& record, const ScoreSink& sink);

/// Hands over `nodes`, which are ids of the user, in their order and with repeats. Throws
/// UsageError for a node without an embedding, before the first is handed over.
void score_some(const LiveStore& store, const ModelRecord& record, std::span<const NodeId> nodes,
                const ScoreSink& sink);

/// Hands over whole graphs, by their numbers, in their order and with repeats, of a model whose
/// rows are of these. Throws UsageError for one without nodes.
void score_graphs(const LiveStore& store, const ModelRecord& record, std::span<const NodeId> graphs,
                  const ScoreSink& sink);

}  // namespace unweave
