// storage/run_file.h - what a checkpoint adds to immutable base files, always in absolute values, so that reading it twice
// does no harm (FORMAT.md, "Runs").
//
//   changes   edges and cleared nodes that differ from shards, features, labels and splits
//   run       rows of one level that differ from its partitions, and reference counts that differ from its counts file
//   counts    u32 for each node: references from the level above
//   stale     rows whose published density lags behind, as packed differences
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "storage/sealed_file.h"
#include "storage/types.h"

namespace unweave {

struct Changes {
  std::vector<Edge> removed;    ///< u < v, sorted; edges of the shards that are gone
  std::vector<Edge> inserted;   ///< u < v, sorted; edges that the shards lack
  std::vector<NodeId> cleared;  ///< sorted; nodes without features, label and split

  friend bool operator==(const Changes&, const Changes&) = default;
};

FileEntry write_changes(const std::filesystem::path& store, const Changes& changes);
/// Throws DataError, FormatError.
[[nodiscard]] Changes read_changes(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes);

/// Rows of one level, `columns` sums each.
struct Run {
  std::vector<NodeId> narrow_nodes;  ///< sorted
  std::vector<std::int32_t> narrow_rows;
  std::vector<NodeId> wide_nodes;  ///< sorted, distinct from narrow_nodes
  std::vector<std::int64_t> wide_rows;
  std::vector<NodeId> dropped;  ///< sorted; rows of the partitions that left the cone
  std::vector<NodeId> count_nodes;
  std::vector<std::uint32_t> count_values;

  [[nodiscard]] bool empty() const noexcept {
    return narrow_nodes.empty() && wide_nodes.empty() && dropped.empty() && count_nodes.empty();
  }
};

FileEntry write_run(const std::filesystem::path& store, std::uint32_t level, std::uint32_t columns, const Run& run);
[[nodiscard]] Run read_run(const std::filesystem::path& store, const FileEntry& entry, std::uint32_t level,
                           std::uint32_t columns, NodeId nodes);

FileEntry write_counts(const std::filesystem::path& store, std::uint32_t level, std::span<const std::uint32_t> counts);

/// Packed stale rows in node order: bytes a value (1, 2 or 4) and little-endian values.
struct StaleRow {
  NodeId node = 0;
  std::uint8_t width = 4;
  std::span<const std::byte> values;
};

FileEntry write_stale(const std::filesystem::path& store, std::uint32_t level, std::uint32_t columns,
                      std::span<const StaleRow> rows);
/// The rows point into `holder`, which receives the file.
[[nodiscard]] std::vector<StaleRow> read_stale(const std::filesystem::path& store, const FileEntry& entry,
                                               std::uint32_t level, std::uint32_t columns, NodeId nodes,
                                               std::vector<SealedFile>& holder);

}  // namespace unweave
