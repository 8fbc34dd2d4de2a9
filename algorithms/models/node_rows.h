// algorithms/models/node_rows.h - rows of a model's program for nodes that users name.
#pragma once

#include <span>
#include <string_view>

#include "storage/io/types.h"
#include "storage/npy/npy_target.h"

namespace unweave {

class LiveStore;
struct ModelRecord;

/// Throws UsageError for the first of these ids of the user that has no row. `without`: what
/// follows for such a node, such as "nothing can be said of it".
void require_rows(const LiveStore& store, const ModelRecord& record, std::span<const NodeId> nodes,
                  std::string_view without);

/// Rows of the program of a model, as RowMaker forms them from the present moment of the store,
/// before clip and intercept: float32 [nodes, width], of `nodes`, ids of the user, in their order
/// and with repeats. Some at a time are in memory. Throws UsageError for a node without a row, and
/// for a model whose rows are not of nodes; ResourceError.
void export_rows(const LiveStore& store, const ModelRecord& record, std::span<const NodeId> nodes,
                 const NpyTarget& target);

/// Rows of all training units of a model, in the order of their keys: those of pairs have no ids.
void export_training_rows(const LiveStore& store, const ModelRecord& record, const NpyTarget& target);

}  // namespace unweave
