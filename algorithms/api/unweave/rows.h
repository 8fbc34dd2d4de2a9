// algorithms/api/unweave/rows.h - what is read out of a store: embeddings, edges, labels, what a
// model says of nodes, requests to draw.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "algorithms/live/reports.h"
#include "storage/input/words/quoted_word.h"
#include "storage/npy/npy_target.h"
#include "storage/types/request.h"
#include "unweave/models.h"
#include "unweave/store.h"

namespace unweave {
inline namespace v0 {

/// Rows of Z as float32 [rows, columns]: those of `nodes`, in their order, or all that there are,
/// in the order of ids. `weights`: of the levels, L + 1; empty: as propagated. Throws UsageError,
/// DataError before a propagation.
ExportedRows export_embeddings(const Reader& reader, const std::optional<std::vector<NodeId>>& nodes,
                               const std::vector<double>& weights, const NpyTarget& target,
                               MissingRows missing = MissingRows::leave_out,
                               const std::optional<NpyTarget>& ids = std::nullopt);
/// Rows of the model's program (algorithms/rows), as they are before clip and intercept: float32
/// [nodes, ModelFacts::row_width] of `nodes`, in their order. Throws UsageError for one without a
/// row and for a model whose rows are not of nodes, DataError for a model of another propagation.
void export_rows(const Reader& reader, const StoredModel& model, const std::vector<NodeId>& nodes,
                 const NpyTarget& target);
/// Likewise, of all training rows of a model, in the order of their keys: those of pairs have no
/// ids.
void export_training_rows(const Reader& reader, const StoredModel& model, const NpyTarget& target);
/// How many rows that writes.
[[nodiscard]] std::uint64_t count_training_rows(const Reader& reader, const StoredModel& model);
/// Edges as int64 [m, 2], each once, u < v, sorted, and their weights as int64 [m], each 1 where
/// edges have none; arcs from u to v where they have directions. `relation`: whose edges, which has
/// to be said where there are some; else UsageError. `roles`: those of their pairs, int64 [m],
/// where links are predicted.
void export_edges(const Reader& reader, const NpyTarget& target, const std::optional<NpyTarget>& weights = std::nullopt,
                  const std::string& relation = {}, const std::optional<NpyTarget>& roles = std::nullopt);
/// How many export_edges() writes.
[[nodiscard]] std::uint64_t count_edges(const Reader& reader, const std::string& relation);
/// Their weights alone, in the order of the edges; float64 where they are real.
void export_edge_weights(const Reader& reader, const NpyTarget& weights, const std::string& relation = {});
/// Classes of all nodes as int64 [nodes], -1 for none.
void export_labels(const Reader& reader, const NpyTarget& target);
/// Numbers of whole graphs, 0 .. count_graphs() - 1; 0 in a store without graphs.
[[nodiscard]] std::uint32_t count_graphs(const Reader& reader);
/// Those that have nodes, ascending, and those of them that models are trained on.
[[nodiscard]] std::vector<NodeId> graphs_with_nodes(const Reader& reader);
[[nodiscard]] std::vector<NodeId> training_graphs(const Reader& reader);
/// The graph of each node as int64 [nodes], -1 for none; classes of graphs as int64
/// [count_graphs()], -1 for none. Throws UsageError for a store without these.
void export_graphs(const Reader& reader, const NpyTarget& target);
void export_graph_labels(const Reader& reader, const NpyTarget& target);
/// Names of all nodes, one a line, as an import takes them: a name may stand in quotes
/// (quoted_word.h). Throws UsageError where nodes have numbers alone.
void export_names(const Reader& reader, const NpyTarget& target);
/// Ids of the training nodes that have a label, ascending: those whose rows models are trained on.
[[nodiscard]] std::vector<NodeId> training_ids(const Reader& reader);
/// They as int64; where graphs have the classes, the training graphs.
void export_train(const Reader& reader, const NpyTarget& target);
/// The nodes of the split "train", "valid" or "test", ids ascending; none where the store has no
/// such split. Throws UsageError for another name.
[[nodiscard]] std::vector<NodeId> nodes_of_split(const Reader& reader, std::string_view split);
/// Whether the store was given a split of this name, which may be empty, or has nodes in it. Throws
/// UsageError for another name.
[[nodiscard]] bool has_split(const Reader& reader, std::string_view split);
/// All that the store holds, as files of a new or empty folder that an import takes back. Throws
/// UsageError for a folder that is not empty, and for a standardized store.
ExportedStore export_all(const Reader& reader, const std::filesystem::path& folder);
/// Published weights, and beside them, as F.jsonl, the public line of the newest certificate. The
/// name of the file says in which form: F.npz holds coef_ [classes, features], intercept_ [classes]
/// and classes_ as scikit-learn names them, F.safetensors the same weight and bias for a
/// torch.nn.Linear, both without the intercepts among the features; any other name one array,
/// float64 [features, classes], intercepts in the last row, of a network all parameters in one row.
/// Throws UsageError for a network in one of the former two.
void export_model(const StoredModel& model, const NpyTarget& target);

/// Requests drawn at random from what the store holds. Throws UsageError where there are not so
/// many.
[[nodiscard]] std::vector<Request> draw_requests(const Reader& reader, const DrawOptions& options);

/// How many nodes have an embedding. Throws UsageError before a propagation.
[[nodiscard]] std::uint64_t embedded_nodes(const Reader& reader);

/// Why the model does not stand on the store's present propagation; none where it does.
[[nodiscard]] std::optional<std::string> propagation_mismatch(const Reader& reader, const StoredModel& model);

/// Throws DataError where there is a mismatch.
void require_propagation(const Reader& reader, const StoredModel& model);

/// Hands over margins of `nodes`, in their order, or of all that have an embedding, by id. Throws
/// UsageError for a node without one before the first is handed over, and for a model whose rows
/// are not of nodes; DataError for a model of another propagation.
void score_nodes(const Reader& reader, const StoredModel& model, const std::optional<std::vector<NodeId>>& nodes,
                 const ScoreSink& sink);
/// Likewise of whole graphs, for a model whose rows are of these.
void score_graphs(const Reader& reader, const StoredModel& model, const std::optional<std::vector<NodeId>>& graphs,
                  const ScoreSink& sink);
/// Rows of Z that are not in a store, from a file as export_embeddings() writes it.
class RowFile {
 public:
  /// Throws DataError where the rows have another width than the model takes.
  RowFile(const std::string& file, const StoredModel& model, Resources& resources);
  RowFile(RowFile&&) noexcept;
  ~RowFile();

  [[nodiscard]] std::uint64_t rows() const noexcept;
  /// Hands over margins of all rows, whose ids are their numbers. Once. Throws InputError.
  void score(const ScoreSink& sink);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace unweave
