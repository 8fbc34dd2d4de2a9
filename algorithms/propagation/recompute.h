// algorithms/propagation/recompute.h - sums of an embedding computed again: whole levels by a
// sweep, or a few rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "algorithms/propagation/embedding.h"
#include "engine/graph/contents.h"
#include "engine/resources/memory.h"

namespace unweave {

struct RecomputePlan {
  std::uint64_t memory_bytes = 0;   ///< memory of the budget
  std::uint64_t disk_bytes = 0;     ///< new partitions at a time; in memory: those that a checkpoint writes
  std::uint64_t written_bytes = 0;  ///< bytes of these partitions in all, with spooled tiles
  bool in_memory = false;
  std::string lack{};  ///< why the budget does not do; empty: it does
  [[nodiscard]] bool fits() const noexcept { return lack.empty(); }
};

/// What recompute_levels() is going to take beside levels that lie in memory already.
[[nodiscard]] RecomputePlan plan_recompute(const Contents& contents, const Embedding& embedding, MemoryBudget& budget,
                                           std::uint32_t first, std::uint32_t last);

/// Sums levels [first, last] from what level first - 1 publishes, as deltas of its stale rows say;
/// the levels between publish everything. In memory where the budget has room, else into new
/// partitions of the folder `store`. Returns the rows that were summed. Throws ResourceError,
/// DataError.
std::uint64_t recompute_levels(const Contents& contents, Embedding& embedding, MemoryBudget& budget,
                               const std::filesystem::path& store, std::uint32_t first, std::uint32_t last);

/// Sums a few rows of `level` from what the level below publishes. Returns the terms that were
/// added, self loops included. Throws DataError.
std::uint64_t recompute_rows(const Contents& contents, Embedding& embedding, std::uint32_t level,
                             std::span<const NodeId> rows);

}  // namespace unweave
