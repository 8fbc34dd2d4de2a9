// algorithms/updates/changed_rows.h - the memory of what an embedding has changed and no manifest
// names yet: sums that differ from their partitions, stale rows, rows that the last level has not
// been told of.
//
// It is charged to the budget as it grows. When the budget gets short, rows go to files without
// names; when it is still short, because it takes memory to know where so many rows lie, sums
// become new partitions. What they hold stays the same, so that no result depends on the budget.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "algorithms/propagation/embedding.h"
#include "engine/resources/memory.h"
#include "engine/resources/memory_shares.h"

namespace unweave {

class ChangedRows {
 public:
  /// `fold` calls StateLevel::fold() with a folder of its choice; `spools` is where files without
  /// names go. `budget` must outlive this object.
  ChangedRows(MemoryBudget& budget, std::filesystem::path spools, std::function<void(StateLevel&)> fold);

  [[nodiscard]] MemoryBudget& budget() const noexcept { return budget_; }
  [[nodiscard]] const std::filesystem::path& spools() const noexcept { return spools_; }
  /// Charges what there is now.
  void charge(const Embedding& embedding);
  /// Bytes charged last.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Puts rows into files until `bytes` of the budget are available, as far as that helps. Throws
  /// ResourceError (disk), DataError.
  void make_room(Embedding& embedding, std::uint64_t bytes);
  /// Bytes that stay in memory after a batch; more become new partitions.
  [[nodiscard]] static std::uint64_t most_bytes(const MemoryBudget& budget) noexcept {
    return memory_shares::kChangedRows.of(budget);
  }
  /// Before the embedding goes.
  void release() noexcept;

 private:
  /// Each moves what gives back the most, and returns whether that is worth it.
  bool spill_most(Embedding& embedding);
  bool fold_most(Embedding& embedding);

  MemoryBudget& budget_;
  std::filesystem::path spools_;
  std::function<void(StateLevel&)> fold_;
  std::uint64_t bytes_ = 0;
  Reservation memory_;
};

}  // namespace unweave
