// algorithms/live/export.h - contents of a store as NumPy files, in the user's ids.
//
// Files appear whole or not at all, and can be mapped by numpy.load; a stream has the same bytes as
// they come. Where the order of the store is not that of the ids, rows and edges are sorted within
// the store's budget, with temporary files beside the result.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/live/reports.h"
#include "storage/io/types.h"
#include "storage/npy/npy_target.h"
#include "storage/types/layers.h"

namespace unweave {

class LiveStore;

/// Rows of Z as float32 [rows, columns]: those of `nodes`, ids of the user, in their order, repeats
/// included, or those that there are, in the order of ids. `ids`: whose rows they are, int64
/// [rows], or lines in a file .txt. Throws UsageError when the number of weights is not L + 1,
/// DataError before `propagate`.
ExportedRows export_embeddings(const LiveStore& store, const std::optional<std::vector<NodeId>>& nodes,
                               std::span<const double> weights, const NpyTarget& target,
                               MissingRows missing = MissingRows::leave_out,
                               const std::optional<NpyTarget>& ids = std::nullopt);

/// Edges as int64 [m, 2], each once, u < v, sorted, those too that are held out of the graph, and
/// their weights as int64 [m], each 1 where edges have none. One of both targets may be missing.
/// `relation`: whose edges, which has to be said where there are some; else UsageError. `roles`:
/// the roles of their pairs, by their numbers (PairRole), as int64 [m], in a store that has some.
void export_edges(const LiveStore& store, const std::optional<NpyTarget>& target,
                  const std::optional<NpyTarget>& weights = std::nullopt, const std::string& relation = {},
                  const std::optional<NpyTarget>& roles = std::nullopt);
/// The edges of a relation as export_edges() has them, and those of a relation whose ends' types
/// are known as an import takes these: by ids that count from 0 within a type, the first node
/// first.
void export_relation(const LiveStore& store, const NpyTarget& target, const std::optional<NpyTarget>& weights,
                     const Relation& relation);
/// How many export_edges() writes.
[[nodiscard]] std::uint64_t count_edges(const LiveStore& store, const std::string& relation);

/// Classes of all nodes as int64 [nodes], -1 for none.
void export_labels(const LiveStore& store, const NpyTarget& target);
/// What users call the classes; empty where they have numbers alone.
[[nodiscard]] std::vector<std::string> class_names(const LiveStore& store);
/// The labels as text, by the names of classes, which there must be; -1 for none.
void export_label_names(const LiveStore& store, const NpyTarget& target);

/// The present names of all nodes, one a line in the order of ids, an empty line for a node without
/// one: what an import takes. Throws UsageError where nodes have numbers alone.
void export_names(const LiveStore& store, const NpyTarget& target);

/// What is to go when, as lines of requests `edge U V expires T` and the like, with their ids,
/// sorted.
void export_expiries(const LiveStore& store, const NpyTarget& target);

/// Numbers of the nodes' whole graphs, -1 for none: int64 [N]. Throws UsageError for a store
/// without graphs.
void export_graphs(const LiveStore& store, const NpyTarget& target);
/// Labels of whole graphs, -1 for none: int64 [graphs], or with `by_name` text of one name a line.
/// Throws UsageError for a store without them.
void export_graph_labels(const LiveStore& store, const NpyTarget& target, bool by_name = false);

/// Ids of the training nodes that have a label, ascending: those whose rows models are trained on.
[[nodiscard]] std::vector<NodeId> training_ids(const LiveStore& store);
/// They as int64.
void export_train(const LiveStore& store, const NpyTarget& target);

}  // namespace unweave
