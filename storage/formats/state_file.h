// storage/formats/state_file.h - the exact sums S of one level for one span of nodes (FORMAT.md,
// "State partitions").
//
// Sealed file of kind "state"; parameters: level, first node, nodes of the span, rows stored,
// columns, wide rows.
//   members   one bit a node of the span, u64 words; absent when every node has a row
//   rows      i32, stored rows x columns, row-major, in node order; a wide row holds zeros here
//   wide      u32 node of each wide row (a row with a sum outside 32 bits), padding to 8, then i64
//             rows
#pragma once

#include <algorithm>
#include <bit>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"

namespace unweave {

/// Where the parts of a partition's payload lie.
struct StateLayout {
  NodeRange range;
  std::uint32_t columns = 0;
  std::uint64_t rows = 0;

  [[nodiscard]] std::uint64_t member_words() const noexcept {
    return rows == range.size() ? 0 : (std::uint64_t{range.size()} + 63) / 64;
  }
  /// Where rows begin: those of 2^k bytes, up to a chunk, do not cross from one chunk to the next.
  [[nodiscard]] std::uint64_t rows_at() const noexcept {
    const std::uint64_t unit =
        std::clamp<std::uint64_t>(std::bit_ceil(4 * std::uint64_t{columns}), 64, kSealedChunkBytes);
    return (kSealedHeaderBytes + 8 * member_words() + unit - 1) / unit * unit - kSealedHeaderBytes;
  }
  [[nodiscard]] std::uint64_t wide_nodes_at() const noexcept { return rows_at() + rows * columns * 4; }
  [[nodiscard]] std::uint64_t wide_rows_at(std::uint64_t wide) const noexcept {
    return (wide_nodes_at() + 4 * wide + 7) / 8 * 8;
  }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t wide) const noexcept {
    return wide_rows_at(wide) + 8 * wide * columns;
  }
};

/// Name and kind of the file of one partition.
[[nodiscard]] SealedName state_name(const std::filesystem::path& store, std::uint32_t level, NodeId first);

/// Counts of the members before every eighth word, to count those before a node.
class MemberRanks {
 public:
  MemberRanks() = default;
  explicit MemberRanks(std::span<const std::uint64_t> members);
  /// Members below bit `position`; `members` as given to the constructor.
  [[nodiscard]] std::uint64_t before(std::span<const std::uint64_t> members, NodeId position) const noexcept;
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  /// How many nodes before a node of `range`, or before its end, have one of the `rows` rows of a
  /// file: all nodes have one, or none, where there are no members.
  [[nodiscard]] std::uint64_t index(std::span<const std::uint64_t> members, NodeRange range, std::uint64_t rows,
                                    NodeId node) const noexcept {
    const NodeId local = node - range.first;
    if (members.empty()) return rows == 0 ? 0 : local;
    return local == range.size() ? rows : before(members, local);
  }

 private:
  std::vector<std::uint32_t> ranks_;
  std::uint64_t total_ = 0;
};

/// Writes one partition, rows in node order.
class StatePartitionWriter {
 public:
  /// `members` has one bit a node of the range, or is empty when every node has a row.
  StatePartitionWriter(const std::filesystem::path& store, std::uint32_t level, NodeRange range, std::uint32_t columns,
                       std::span<const std::uint64_t> members);
  /// Consecutive narrow rows, `columns` values each.
  void add(std::span<const std::int32_t> rows);
  /// One row whose sums need 64 bits.
  void add_wide(NodeId node, std::span<const std::int64_t> row);
  FileEntry finish();

 private:
  SealedWriter writer_;
  std::uint32_t level_;
  NodeRange range_;
  std::uint32_t columns_;
  std::uint64_t rows_ = 0;
  std::vector<NodeId> wide_nodes_;
  std::vector<std::int64_t> wide_rows_;
};

/// One row of sums: exactly one of the two is set.
struct StateRow {
  const std::int32_t* narrow = nullptr;
  const std::int64_t* wide = nullptr;

  [[nodiscard]] bool exists() const noexcept { return narrow != nullptr || wide != nullptr; }
};

/// Columns [first, first + count) of rows.
struct ColumnRange {
  std::uint32_t first = 0, count = 0;
};

/// Read-only view of a partition. Const members may run on any number of threads at once.
class StatePartition {
 public:
  /// Throws DataError, FormatError.
  StatePartition(const std::filesystem::path& store, const FileEntry& entry, std::uint32_t level, NodeRange range,
                 std::uint32_t columns)
      : StatePartition(store, entry, level, range, columns, {0, columns}) {}
  /// Rows of a file of `columns` columns, and `part` of each: all that row() gives.
  StatePartition(const std::filesystem::path& store, const FileEntry& entry, std::uint32_t level, NodeRange range,
                 std::uint32_t columns, ColumnRange part);
  [[nodiscard]] NodeRange range() const noexcept { return layout_.range; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return layout_.rows; }
  [[nodiscard]] bool contains(NodeId node) const noexcept;
  /// The rows of nodes of the range will be read soon.
  void read_ahead(NodeRange nodes) const noexcept;
  /// The row of a node of the range, checked; an empty row when it has none.
  [[nodiscard]] StateRow row(NodeId node) const;
  /// Checks checksums, that wide rows are wide and ordered; throws FormatError.
  void verify() const;

 private:
  [[nodiscard]] std::uint64_t index(NodeId node) const noexcept;  ///< index of its row: how many lower nodes have one
  SealedFile file_;
  StateLayout layout_;
  ColumnRange part_;
  std::span<const std::uint64_t> members_;  ///< empty when every node has a row
  MemberRanks ranks_;
  std::span<const NodeId> wide_nodes_;
  std::uint64_t wide_at_ = 0;
};

}  // namespace unweave
