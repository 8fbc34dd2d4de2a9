// engine/state/received_rows.h - the rows of one level as the next level has received them, of
// nodes whose rows may have changed since: what is needed to tell the next level of all changes at
// once.
//
// A row whose sums still lie in a partition is noted by its degree alone; others are copied as
// normalised sums. Copies lie in memory or, after spill(), in files. Tasks may note rows at once,
// as long as no two of them do so in one aligned block of 64 nodes (NodeMap::kPageNodes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "engine/graph/node_map.h"
#include "engine/resources/row_arena.h"
#include "engine/state/spooled_rows.h"
#include "engine/state/state_level.h"
#include "storage/formats/state_file.h"
#include "storage/io/types.h"

namespace unweave {

/// A row as it was received: normalised sums, or the sums and the degree that they follow from.
struct ReceivedRow {
  const std::int32_t* values = nullptr;  ///< one a column; null: see the others
  StateRow sums;
  std::uint32_t degree = 0;
};

class ReceivedRows {
 public:
  ReceivedRows(NodeId nodes, std::uint32_t columns);

  /// Where nothing is noted yet, takes the present partitions of `level` as those to which
  /// note_sums() may point. They stay open until clear(), so that files which are replaced
  /// meanwhile take room on the disk as long.
  void begin(const StateLevel& level);
  /// Notes that a node's row was received as its partition has it, with this degree. False, and
  /// nothing is noted, where its row lies elsewhere, or in another partition than begin() has seen.
  [[nodiscard]] bool note_sums(NodeId node, const StateLevel& level, std::uint32_t degree);
  /// Notes normalised sums, one a column. Throws std::bad_alloc.
  void note(NodeId node, const std::int32_t* values);

  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] bool contains(NodeId node) const noexcept { return rows_.find(node) != nullptr; }
  /// Nothing where the row has not changed. Throws FormatError for a damaged partition.
  [[nodiscard]] std::optional<ReceivedRow> find(NodeId node) const;
  /// Those of these nodes' rows that lie in a partition will be read soon.
  void read_ahead(NodeRange nodes) const noexcept;
  /// Their nodes, sorted.
  [[nodiscard]] std::vector<NodeId> nodes() const;
  void erase(NodeId node);
  void clear();

  /// Memory of so many rows at most, and that of those that there are.
  [[nodiscard]] static std::uint64_t most_bytes(std::uint64_t rows, std::uint32_t columns) noexcept {
    return rows * columns * sizeof(std::int32_t) + NodeMap<Row>::bytes(rows);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_in_memory() + rows_.value_bytes(); }
  /// Memory without rows.
  [[nodiscard]] static std::uint64_t map_bytes(NodeId nodes) noexcept { return NodeMap<Row>::empty_bytes(nodes); }
  /// What spill() would give back.
  [[nodiscard]] std::uint64_t bytes_in_memory() const noexcept { return arena_.bytes(); }
  /// Puts the copies that lie in memory into a file without a name in `folder`. Throws
  /// ResourceError, DataError; the rows are then as before.
  void spill(const std::filesystem::path& folder);

 private:
  /// One word: where normalised sums lie, or the degree of a row whose sums lie in its partition.
  class Row {
   public:
    Row() = default;
    explicit Row(std::uint32_t degree) noexcept : word_(std::uintptr_t{degree} << kBits | kDegree) {}
    Row(const std::int32_t* values, bool in_memory) noexcept
        : word_(reinterpret_cast<std::uintptr_t>(values) | (in_memory ? kInMemory : 0)) {}
    /// Null: the degree tells of the row.
    [[nodiscard]] const std::int32_t* values() const noexcept {
      return (word_ & kDegree) == 0 ? reinterpret_cast<const std::int32_t*>(word_ & ~kInMemory) : nullptr;
    }
    [[nodiscard]] std::uint32_t degree() const noexcept { return static_cast<std::uint32_t>(word_ >> kBits); }
    /// Whether the values lie in the arena.
    [[nodiscard]] bool in_memory() const noexcept { return (word_ & kInMemory) != 0; }

   private:
    static constexpr unsigned kBits = 2;  ///< those that are zero where values begin
    static constexpr std::uintptr_t kInMemory = 1, kDegree = 2;
    static_assert(sizeof(std::uintptr_t) >= 8 && alignof(std::int32_t) >= std::size_t{1} << kBits);
    std::uintptr_t word_ = kDegree;
  };
  NodeId nodes_;
  NodeId span_;
  std::uint32_t columns_;
  std::vector<std::shared_ptr<const StatePartition>> partitions_;
  NodeMap<Row> rows_;
  RowArena arena_;
  SpooledRows spools_;
};

}  // namespace unweave
