// engine/state_level.h - the exact sums S of one level: immutable partitions under an overlay of dirty rows, or, after a
// recomputation that fitted the budget, all rows in memory.
//
// A row is kept in 32 bits where all its sums fit and in 64 bits else: a function of its present value. Reads may run on
// any number of threads at once. Writes: prepare() the rows one after the other, then store() distinct prepared rows on
// any number of threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/resident_rows.h"
#include "engine/row_table.h"
#include "storage/manifest.h"
#include "storage/run_file.h"
#include "storage/state_file.h"
#include "storage/types.h"

namespace unweave {

class StateLevel {
 public:
  /// Opens the partitions of `level` (1 .. L) and takes the rows of its run. Throws DataError, FormatError.
  StateLevel(const std::filesystem::path& folder, const Manifest& manifest, std::uint32_t level, const Run& run);

  [[nodiscard]] std::uint32_t columns() const noexcept { return columns_; }
  [[nodiscard]] bool contains(NodeId node) const noexcept;
  /// The row of a node as 64-bit sums into out[columns]; returns false when it has none.
  bool load(NodeId node, std::int64_t* out) const;
  /// The row in the form it is kept in; empty when it has none.
  [[nodiscard]] StateRow row(NodeId node) const;

  /// Asks for a row that will be read soon, where it lies in memory.
  void prefetch(NodeId node) const noexcept {
    if (resident_) resident_->prefetch(node);
  }

  /// Makes room in the overlay for a row that will be stored.
  void prepare(NodeId node);
  /// Replaces a prepared row.
  void store(NodeId node, const std::int64_t* sums);
  /// Removes the row of a node that left the cone.
  void drop(NodeId node);

  [[nodiscard]] std::uint64_t overlay_bytes() const noexcept;

  /// Room in memory for all rows, to be filled by a recomputation, if the budget has it to spare; else null. The rows
  /// there were are forgotten.
  ResidentRows* recompute_in_memory(MemoryBudget& budget);
  /// Takes all rows into memory once many of them are dirty, if the budget has room to spare: later batches then write
  /// in place. A copy of n rows, paid for by the dirty rows that led to it.
  void settle_in_memory(MemoryBudget& budget);
  /// Takes new partitions, one a span, written from a sweep; the overlay is forgotten.
  void replace(const std::filesystem::path& folder, const std::vector<FileEntry>& partitions);
  /// Makes files of the present contents: partitions with many dirty rows (with any, when `fold` is set) are written
  /// anew, other dirty rows are added to the run. Returns the partitions. The object goes on unchanged.
  [[nodiscard]] std::vector<FileEntry> checkpoint(const std::filesystem::path& folder, bool fold, Run& run) const;
  [[nodiscard]] const std::vector<FileEntry>& entries() const noexcept { return entries_; }
  [[nodiscard]] const std::vector<StatePartition>& partitions() const noexcept { return partitions_; }

 private:
  static constexpr std::size_t kSlabRows = 1024;
  static constexpr std::uint32_t kDropped = 0xFFFF'FFFEU;  ///< in table_: the row left the cone
  [[nodiscard]] std::int32_t* slot_row(std::uint32_t slot) const noexcept {
    return slabs_[slot / kSlabRows].get() + (slot % kSlabRows) * columns_;
  }
  [[nodiscard]] bool fits_in_memory(const MemoryBudget& budget) const noexcept;
  void forget_overlay();
  FileEntry rewrite(const std::filesystem::path& folder, const StatePartition& partition) const;

  std::uint32_t level_;
  std::uint32_t columns_;
  NodeId nodes_;
  NodeId span_;
  std::vector<FileEntry> entries_;
  std::vector<StatePartition> partitions_;
  std::unique_ptr<ResidentRows> resident_;  ///< holds every row when set
  bool recomputed_ = false;                 ///< resident rows owe nothing to the partitions
  RowTable table_;                          ///< dirty rows of the partitions
  std::vector<std::unique_ptr<std::int32_t[]>> slabs_;
  std::uint32_t slots_ = 0;
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint8_t> is_wide_;                 ///< one a slot: the row is in wide_ instead
  std::map<NodeId, std::vector<std::int64_t>> wide_;  ///< dirty rows that do not fit 32 bits
  mutable std::mutex wide_mutex_;                     ///< guards wide_ against concurrent store()
};

}  // namespace unweave
