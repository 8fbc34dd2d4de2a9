// algorithms/export.h - contents of a store as NumPy files, in the user's ids.
//
// Files appear whole or not at all, and can be mapped by numpy.load. Where the order of the store is not that of the
// ids, rows and edges are sorted within the store's budget, with temporary files beside the result.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/live_store.h"
#include "storage/types.h"

namespace unweave {

/// Rows of Z as float32 [rows, columns]: those of `nodes`, ids of the user, in their order, repeats included, or of all nodes. Throws
/// UsageError when a node has no embedding or the number of weights is not L + 1, DataError before `propagate`.
void export_embeddings(const LiveStore& store, const std::optional<std::vector<NodeId>>& nodes,
                       std::span<const double> weights, const std::filesystem::path& file);

/// Edges as int64 [m, 2], each once, u < v, sorted.
void export_edges(const LiveStore& store, const std::filesystem::path& file);

/// Classes of all nodes as int64 [nodes], -1 for none.
void export_labels(const LiveStore& store, const std::filesystem::path& file);

/// Ids of the training nodes that have a label, ascending, as int64: those whose rows models are trained on.
void export_train(const LiveStore& store, const std::filesystem::path& file);

}  // namespace unweave
