// engine/ingest/whole_graph_import.h - to which whole graph each node of an import belongs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/graph/node_count.h"
#include "engine/ingest/import_context.h"
#include "engine/resources/memory.h"
#include "storage/io/types.h"

namespace unweave {

/// Takes the numbers of nodes' whole graphs from their file to the store. Labels and splits of
/// graphs are a LabelImport's.
class WholeGraphImport {
 public:
  explicit WholeGraphImport(const ImportContext& context);

  /// The number of graphs, as far as it is known.
  [[nodiscard]] NodeCount& count() noexcept { return count_; }
  /// Reads the file, once the sources of count() have been asked. Throws InputError and DataError
  /// for a file, ResourceError.
  void read();
  /// Whether every edge stays inside a graph, or outside all. `positions`: that of each id; empty
  /// where it equals the id. The manifest names the shards already. Throws InputError for one that
  /// does not.
  void require_inside(std::span<const NodeId> positions) const;
  /// Writes what read() has read, and frees it.
  void write(std::span<const NodeId> positions);

 private:
  const ImportOptions& options_;
  MemoryBudget& budget_;
  WorkMeter& meter_;
  NodeCount& nodes_;
  StoreBuilder& builder_;
  ImportReport& report_;
  const NodeNames* names_;  ///< or null
  NodeCount count_;
  std::vector<std::int32_t> graphs_;  ///< by id
  Reservation memory_;
};

}  // namespace unweave
