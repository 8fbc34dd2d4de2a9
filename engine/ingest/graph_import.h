// engine/ingest/graph_import.h - the graph of an import: from edges to shards, by ids and then in
// an order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/arc_lists.h"
#include "engine/graph/graph.h"
#include "engine/ingest/arc_sort.h"
#include "engine/ingest/import_context.h"
#include "engine/ingest/name_table.h"
#include "engine/ingest/shard_builder.h"
#include "engine/resources/memory.h"
#include "storage/input/edges/edge_reader.h"
#include "storage/input/edges/named_edges.h"
#include "storage/io/types.h"

namespace unweave {

struct Manifest;

class GraphImport {
 public:
  explicit GraphImport(const ImportContext& context);

  /// Makes the number of nodes known from the edges alone, which are read for it.
  void count_nodes();
  /// Writes the shards and the order, and names them in the manifest. All ranks call it, once the
  /// number of nodes is known where there are others. Throws InputError and DataError for files,
  /// ResourceError.
  ArcCounts build();

  /// The position of each id; empty where it equals the id.
  [[nodiscard]] std::span<const NodeId> positions() const noexcept { return positions_; }
  /// What it took to compute the order.
  [[nodiscard]] double seconds_order() const noexcept { return seconds_order_; }

 private:
  ArcCounts build_by_ids(const std::filesystem::path& folder, Manifest& manifest);
  void settle_nodes(const ArcCounts& counts);
  /// Nodes of the graph, once those of users are known. Throws UsageError where they are too many.
  [[nodiscard]] NodeId graph_nodes() const;
  [[nodiscard]] const InputFile& file_of(NodeId copy) const;
  [[nodiscard]] std::string text_of_copy(NodeId copy) const;
  [[nodiscard]] std::string lighter(const std::string& otherwise) const;
  [[nodiscard]] RefuseWeights two_weights() const;
  [[nodiscard]] CheckLength weight_limit() const;
  [[nodiscard]] Edge shift(std::size_t file) const;
  void require_ids_of_types(std::span<const Edge> edges, std::size_t file) const;
  void look_at_ids(std::span<const Edge> edges, Edge shift);
  [[nodiscard]] ArcCounts by_users(ArcCounts counts) const;
  void require_known_nodes();
  void require_ids(const ArcCounts& counts) const;
  void remark_on_header(const ArcCounts& counts) const;
  /// `held`: the graph of edges that are held out of it; or null.
  void reorder(const Graph& graph, const Graph* held);
  [[nodiscard]] EdgeOptions edge_options(std::size_t file) const;
  [[nodiscard]] const EndTypes* ends_of(std::size_t file) const;
  [[nodiscard]] OpenedEdges opened_edges(std::size_t of) const;
  void collect_arcs(ArcSorter& sorter);
  void collect_arcs(std::size_t file, ArcSorter& sorter);
  ArcCounts build_subsets(const std::filesystem::path& folder, Manifest& manifest);
  /// The file of edges, or the first of several, for messages.
  [[nodiscard]] const InputFile& edges() const { return *files_.front(); }
  [[nodiscard]] const std::optional<StatedCount>& stated_edges(std::size_t file) const;
  void require_stated_edges(std::size_t file, std::uint64_t count, const std::string& place) const;

  const ImportOptions& options_;
  MemoryBudget& budget_;
  WorkMeter& meter_;
  Ranks& job_;
  NodeCount& nodes_;
  StoreBuilder& builder_;
  ImportReport& report_;
  const NodeNames* names_;               ///< or null
  std::vector<const InputFile*> files_;  ///< one of edges, or one a relation
  bool edges_tell_nodes_ = false;        ///< the file of edges says how many nodes there are
  std::unique_ptr<ArcSorter> held_;      ///< takes the edges that are held out of the graph, where some are
  Reservation memory_of_held_;
  std::optional<NameTable> name_table_;  ///< while edges are read, where the budget has room
  std::vector<NodeId> positions_;
  Reservation memory_of_positions_;
  double seconds_order_ = 0;
  std::optional<NodeId> smallest_user_, largest_user_;  ///< among the ends of arcs, where edges have directions
};

}  // namespace unweave
