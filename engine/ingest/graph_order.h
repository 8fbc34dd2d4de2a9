// engine/ingest/graph_order.h - orders of nodes that make neighbour lists short to write and their
// rows near to each other, and the graph rebuilt in such an order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/io/types.h"
#include "storage/types/file_entry.h"

namespace unweave {

/// Names of the orders besides "none", for messages: "degree, ...".
[[nodiscard]] std::string order_names();
/// Whether this names an order; "none" does.
[[nodiscard]] bool is_order(std::string_view name);

/// The position of every node of `graph` under an order other than "none". For "auto", which
/// chooses one of the others (order_choice.h), `reason`, unless it is null, becomes a sentence that
/// says which and why; otherwise it stays as it is. It depends on the graph alone, not on the
/// number of threads. Reads the graph block by block and holds a few words a node, charged to the
/// budget; the positions, 4 bytes a node, are the caller's to charge. Throws UsageError for an
/// unknown name, ResourceError.
[[nodiscard]] std::vector<NodeId> compute_order(std::string_view name, const Graph& graph, MemoryBudget& budget,
                                                WorkMeter& meter, std::string* reason);

/// Memory that it takes besides the positions, but for the decoded lists of a few blocks.
[[nodiscard]] std::uint64_t order_bytes(std::string_view name, std::uint64_t nodes, std::uint64_t arcs) noexcept;

/// Writes the shards of `graph` with every node at its position. There may be more positions than
/// nodes: whoever comes behind them has no edges. Arcs are sorted in a part of the budget and
/// temporary files inside `store`.
[[nodiscard]] std::vector<FileEntry> build_reordered_shards(const std::filesystem::path& store, const Graph& graph,
                                                            const std::vector<NodeId>& positions, MemoryBudget& budget,
                                                            WorkMeter& meter, ShardOf of = ShardOf::nodes);

}  // namespace unweave
