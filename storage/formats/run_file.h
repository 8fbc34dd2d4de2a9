// storage/formats/run_file.h - what a checkpoint adds to immutable base files, always in absolute
// values, so that reading it twice does no harm (FORMAT.md, "Runs").
//
//   changes   edges, cleared nodes, rows of features, labels and splits that differ from the files
//             of these, names that are lost
//   run       rows of one level that differ from its partitions, and reference counts that differ
//             from its counts file
//   counts    u32 for each node: references from the level above
//   stale     rows whose published normalised sums lag behind, as packed differences
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "storage/formats/sealed_file.h"
#include "storage/formats/state_file.h"
#include "storage/io/types.h"
#include "storage/types/changes.h"

namespace unweave {

/// The words of a row that was set (SetRow), and its values, one a column.
[[nodiscard]] std::vector<std::uint32_t> pack_row(std::span<const float> row);
/// Columns [first, first + out.size()) of a row whose words are sound.
void unpack_row(std::span<const std::uint32_t> words, std::uint32_t columns, std::uint32_t first, std::span<float> out);

/// What a store's changes may speak of.
struct ChangesScope {
  NodeId nodes = 0;
  std::uint32_t columns = 0;
  std::uint32_t classes = 0;
  std::uint32_t max_weight = 1;           ///< how many units an edge may have
  bool lost_names = false;                ///< whether nodes have names, which some may have lost
  std::optional<std::uint32_t> graphs{};  ///< how many whole graphs there are; none in a store without
  bool with_units = false;                ///< as write_changes() was told
};

/// `with_graphs`: whether the store has whole graphs; `with_units`: whether weights are real, where
/// units stand beside the edges, which else stand there as often as they have units.
FileEntry write_changes(const std::filesystem::path& store, const Changes& changes, bool with_graphs = false,
                        bool with_units = false);
/// Edges that are held out of the graph, and nothing else.
FileEntry write_held_changes(const std::filesystem::path& store, const Changes& changes, bool with_units = false);
/// Throws DataError, FormatError.
[[nodiscard]] Changes read_changes(const std::filesystem::path& store, const FileEntry& entry,
                                   const ChangesScope& scope);

/// How many things of each kind a file of changes names, from its header; nobody has checked them
/// yet.
struct ChangesCounts {
  std::uint64_t edges = 0;
  std::uint64_t labels = 0;
  std::uint64_t splits = 0;
  std::uint64_t graphs = 0;  ///< what is said of whole graphs, their labels and splits
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;  ///< what their words take, at most
};
[[nodiscard]] ChangesCounts count_changes(const std::filesystem::path& store, const FileEntry& entry,
                                          bool with_graphs = false, bool with_units = false);

/// What a checkpoint says of one level, its rows apart.
struct Run {
  std::vector<NodeId> narrow_nodes;  ///< sorted; rows of 32-bit sums
  std::vector<NodeId> wide_nodes;    ///< sorted, distinct from narrow_nodes; rows of 64-bit sums
  std::vector<NodeId> dropped;       ///< sorted; rows of the partitions that left the receptive field
  std::vector<NodeId> count_nodes;   ///< sorted
  std::vector<std::uint32_t> count_values;

  [[nodiscard]] bool empty() const noexcept {
    return narrow_nodes.empty() && wide_nodes.empty() && dropped.empty() && count_nodes.empty();
  }
};

/// row(node) gives the row of `columns` sums of a node that the run names, in the width under which
/// it does.
FileEntry write_run(const std::filesystem::path& store, std::uint32_t level, std::uint32_t columns, const Run& run,
                    const std::function<StateRow(NodeId)>& row);

/// A run as its file has it. Nothing of it is copied to memory.
struct StoredRun {
  std::shared_ptr<const SealedFile> file;  ///< which all of the rest points into; null where there is no run
  std::span<const NodeId> narrow_nodes, wide_nodes, dropped, count_nodes;
  std::span<const std::uint32_t> count_values;
  /// narrow_nodes x columns: nearly all of the file, which a command that changes little would read
  /// for nothing. Whoever uses a part of them calls check_values() before.
  std::span<const std::int32_t> narrow_rows;
  std::span<const std::int64_t> wide_rows;  ///< wide_nodes x columns

  /// Throws FormatError where this part of narrow_rows is damaged.
  void check_values(std::span<const std::int32_t> part) const { file->check(offset(part), part.size_bytes()); }
  /// Lets the system read this part of narrow_rows in the background.
  void read_ahead(std::span<const std::int32_t> part) const noexcept {
    file->read_ahead(offset(part), part.size_bytes());
  }

 private:
  [[nodiscard]] std::uint64_t offset(std::span<const std::int32_t> part) const noexcept {
    return static_cast<std::uint64_t>(std::as_bytes(part).data() - file->data());
  }
};

/// All of the file is checked but its narrow rows. Throws DataError, FormatError.
[[nodiscard]] StoredRun read_run(const std::filesystem::path& store, const FileEntry& entry, std::uint32_t level,
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
