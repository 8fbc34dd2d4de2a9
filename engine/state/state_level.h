// engine/state/state_level.h - the exact sums S of one level: immutable partitions under an overlay
// of dirty rows, or, after a recomputation that fitted the budget, all rows in memory.
//
// A row is kept in 32 bits where all its sums fit and in 64 bits else: a function of its present
// value. Reads may run on any number of threads at once, and so may store(), as long as no two
// tasks write into one aligned block of 64 nodes (NodeMap::kPageNodes).
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/graph/node_map.h"
#include "engine/graph/resident_rows.h"
#include "engine/resources/memory.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/row_arena.h"
#include "engine/state/spooled_rows.h"
#include "storage/formats/manifest.h"
#include "storage/formats/run_file.h"
#include "storage/formats/state_file.h"
#include "storage/io/types.h"

namespace unweave {

/// How many partitions are written side by side.
class PartitionWriters {
 public:
  static constexpr std::uint64_t kBytes = std::uint64_t{4} << 20;  ///< buffers of each

  /// Four, or as many as the budget has a share for, and one at least; one where there is one
  /// thread. Gives memory that is free back to the system where their buffers would be too much.
  explicit PartitionWriters(MemoryBudget& budget);
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  std::size_t count_ = 1;
  Reservation memory_;
};

class StateLevel {
 public:
  /// Opens the partitions of `level` (1 .. L) and the rows of its run, which stay in their file
  /// until they change. Throws DataError, FormatError.
  StateLevel(const std::filesystem::path& folder, const Manifest& manifest, std::uint32_t level, const StoredRun& run)
      : StateLevel(folder, manifest, level, run, {0, manifest.features}) {}
  /// Columns `part` of these rows, which are all that this object knows of: what it writes itself
  /// has no others.
  StateLevel(const std::filesystem::path& folder, const Manifest& manifest, std::uint32_t level, const StoredRun& run,
             ColumnRange part);

  [[nodiscard]] std::uint32_t columns() const noexcept { return columns_; }
  [[nodiscard]] bool contains(NodeId node) const noexcept;
  /// How many nodes have a row.
  [[nodiscard]] std::uint64_t num_rows() const;
  /// The row of a node as 64-bit sums into out[columns]; returns false when it has none.
  bool load(NodeId node, std::int64_t* out) const;
  /// The row in the form it is kept in; empty when it has none.
  [[nodiscard]] StateRow row(NodeId node) const;

  /// The rows of these nodes will be read soon: asks the disk for them.
  void read_ahead(NodeRange nodes) const noexcept;
  /// The row will be read next: asks memory for it.
  void prefetch(NodeId node) const;

  /// Replaces a row, or adds one.
  void store(NodeId node, const std::int64_t* sums);
  void store(NodeId node, const std::int32_t* sums);
  /// Removes the row of a node that left the receptive field.
  void drop(NodeId node);

  /// Memory of a level without dirty rows, and of so many rows of a run.
  [[nodiscard]] static std::uint64_t map_bytes(NodeId nodes) noexcept { return NodeMap<DirtyRow>::empty_bytes(nodes); }
  [[nodiscard]] static std::uint64_t run_bytes(std::uint64_t narrow, std::uint64_t wide, std::uint64_t dropped,
                                               std::uint32_t columns) noexcept {
    return NodeMap<DirtyRow>::bytes(narrow + wide + dropped) + wide * columns * sizeof(std::int64_t);
  }
  /// Memory of so many rows that differ from the partitions, and are not of a run; wide ones take
  /// twice as much.
  [[nodiscard]] static std::uint64_t overlay_bytes(std::uint64_t rows, std::uint32_t columns) noexcept {
    return rows * columns * sizeof(std::int32_t) + NodeMap<DirtyRow>::bytes(rows);
  }
  /// Memory of the rows that differ at present; 0 when all rows lie in memory.
  [[nodiscard]] std::uint64_t overlay_bytes() const noexcept;
  /// What spill() would give back of it.
  [[nodiscard]] std::uint64_t spillable_bytes() const noexcept { return resident_ ? 0 : narrow_.bytes(); }
  /// Puts the rows of 32 bits that differ and lie in memory into a file without a name in `folder`,
  /// at times with those of earlier files; where they lie stays in memory. Throws ResourceError,
  /// DataError, std::bad_alloc; the rows are then as before. Rows that are read from there later
  /// are compared with what was written: row() throws DataError.
  void spill(const std::filesystem::path& folder);
  /// Whether a checkpoint writes a partition anew, rather than what differs beside it.
  [[nodiscard]] bool is_written_anew(std::size_t partition, bool fold) const;
  /// True when a row of the span differs from its partition, or may.
  [[nodiscard]] bool has_changes(NodeRange span) const;
  /// Sets the bit of every node of `range` whose row may differ from that of a level which lies in
  /// these partitions and in the run that this object was opened with; bit 0 of `words` is
  /// range.first.
  void mark_changed(NodeRange range, const std::vector<FileEntry>& partitions, std::span<std::uint64_t> words) const;
  /// The nodes of a range whose rows lie in memory or in a run, and do not stand in the partitions
  /// as they are.
  void visit_overlay(NodeRange range, const std::function<void(NodeId)>& use) const {
    dirty_.for_each(range, [&](NodeId node, const DirtyRow&) { use(node); });
  }
  [[nodiscard]] bool is_in_partition(NodeId node) const noexcept { return partitions_[node / span_]->contains(node); }
  /// True when all rows lie in memory, after a recomputation.
  [[nodiscard]] bool is_resident() const noexcept { return resident_ != nullptr; }
  /// Rows that do not stand in the partitions as they are, those that left the receptive field
  /// included; all where all lie in memory.
  [[nodiscard]] std::uint64_t overlay_rows() const noexcept { return resident_ ? nodes_ : dirty_.size(); }
  [[nodiscard]] bool in_overlay(NodeId node) const noexcept { return resident_ || dirty_.find(node) != nullptr; }
  /// How many of them can be read without read_ahead(), at least.
  [[nodiscard]] std::uint64_t rows_at_hand() const noexcept {
    return resident_ ? nodes_ : dirty_.size() - std::min<std::uint64_t>(dirty_.size(), run_.narrow_nodes.size());
  }
  /// Whether the row of a node can be read without read_ahead(), which rows of partitions and runs
  /// may have to wait for.
  [[nodiscard]] bool is_at_hand(NodeId node) const noexcept {
    if (resident_) return true;
    const DirtyRow* const dirty = dirty_.find(node);
    return dirty != nullptr && !(dirty->narrow() != nullptr && is_of_run(dirty->narrow()));
  }

  /// Whether a recomputation keeps `bytes` of rows in memory when `available` are free.
  [[nodiscard]] static bool has_room(std::uint64_t bytes, std::uint64_t available) noexcept {
    return bytes <= memory_shares::kResidentLevel.of(available);
  }
  /// Room in memory for all rows, to be filled by a recomputation, if the budget has it to spare;
  /// else null. The rows there were are forgotten.
  ResidentRows* recompute_in_memory(MemoryBudget& budget);
  /// Forgets the rows that differ from the partitions: a recomputation is going to replace them
  /// all.
  void forget_overlay();
  /// Puts what is in memory into new partitions in `folder`, not yet durable. The rows stay the
  /// same. Throws ResourceError, DataError.
  void fold(const std::filesystem::path& folder, MemoryBudget& budget);
  /// Takes new partitions, one a span, written from a sweep; the overlay is forgotten.
  void replace(const std::filesystem::path& folder, const std::vector<FileEntry>& partitions);
  /// Writes a partition with the rows that differ from it, not yet durable. The object goes on
  /// unchanged. Throws ResourceError, DataError.
  [[nodiscard]] FileEntry rewrite(const std::filesystem::path& folder, std::size_t partition) const;
  /// Takes partitions some of which rewrite() has made: all rows are the same, and those of a run
  /// stay there.
  void renew(const std::filesystem::path& folder, const std::vector<FileEntry>& partitions);
  /// Makes files of the present contents: partitions with many dirty rows (with any, when `fold` is
  /// set) are written anew, of other dirty rows the nodes are added to the run. Returns the
  /// partitions. The object goes on unchanged.
  [[nodiscard]] std::vector<FileEntry> checkpoint(const std::filesystem::path& folder, bool fold, Run& run,
                                                  MemoryBudget& budget) const;
  [[nodiscard]] const std::vector<FileEntry>& entries() const noexcept { return entries_; }
  /// Shared with whoever needs the rows of a partition after this level has a newer one.
  [[nodiscard]] const std::vector<std::shared_ptr<const StatePartition>>& partitions() const noexcept {
    return partitions_;
  }

 private:
  /// Where the values of a dirty row lie; nowhere when the row left the receptive field. There may
  /// be as many of these in memory as a level has rows, so that each is one word.
  class DirtyRow {
   public:
    DirtyRow() = default;
    explicit DirtyRow(std::int32_t* narrow) noexcept : word_(reinterpret_cast<std::uintptr_t>(narrow)) {}
    explicit DirtyRow(std::int64_t* wide) noexcept : word_(reinterpret_cast<std::uintptr_t>(wide) | kWide) {}
    [[nodiscard]] bool exists() const noexcept { return word_ != 0; }
    /// A row of narrow_, or of the run's file or a spooled one and never written; null where its
    /// sums do not fit 32 bits.
    [[nodiscard]] std::int32_t* narrow() const noexcept {
      return (word_ & kWide) == 0 ? reinterpret_cast<std::int32_t*>(word_) : nullptr;
    }
    /// A row of wide_; null where its sums fit 32 bits.
    [[nodiscard]] std::int64_t* wide() const noexcept {
      return (word_ & kWide) != 0 ? reinterpret_cast<std::int64_t*>(word_ - kWide) : nullptr;
    }

   private:
    static constexpr std::uintptr_t kWide = 1;  ///< no values begin at an odd address
    std::uintptr_t word_ = 0;
  };
  [[nodiscard]] bool is_of_run(const std::int32_t* row) const noexcept;
  /// Whether a row lies in memory of narrow_, where it may be written.
  [[nodiscard]] bool is_in_arena(const std::int32_t* row) const noexcept {
    return row != nullptr && !is_of_run(row) && !spools_.holds(row);
  }
  void check_spooled(NodeId node, const std::int32_t* row) const;
  void give_back(DirtyRow& row);
  void open(const std::filesystem::path& folder, const std::vector<FileEntry>& partitions, std::uint32_t columns,
            ColumnRange part);

  std::uint32_t level_;
  std::uint32_t columns_;
  NodeId nodes_;
  NodeId span_;
  std::vector<FileEntry> entries_;
  std::vector<std::shared_ptr<const StatePartition>> partitions_;
  std::unique_ptr<ResidentRows> resident_;  ///< every row, after a recomputation; then nothing else counts
  StoredRun run_;                           ///< that some dirty rows may lie in
  NodeMap<DirtyRow> dirty_;                 ///< rows that differ from the partitions
  RowArena narrow_, wide_;
  SpooledRows spools_;  ///< rows of dirty_ that had no room in narrow_, each with a checksum behind it
};

}  // namespace unweave
