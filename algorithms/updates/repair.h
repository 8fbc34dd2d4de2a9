// algorithms/updates/repair.h - the changed nodes of a batch: what they had published before it,
// and mending their sums.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/propagation/embedding.h"
#include "algorithms/updates/cone_update.h"
#include "algorithms/updates/requests.h"
#include "engine/resources/memory.h"
#include "engine/sweep/fingerprint.h"
#include "storage/io/spool_file.h"

namespace unweave {

class Repair {
 public:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  /// `changes` must outlive this object.
  explicit Repair(const BatchChanges& changes, std::uint32_t levels);
  /// Keeps what the changed nodes have published at levels 0 .. L-1, and its fingerprints for one
  /// factor a column: in memory where that leaves as much again, else in a file without a name in
  /// `folder`. Before the changes are applied. Throws ResourceError, DataError.
  void capture(const Embedding& embedding, const ColumnFactors& factors, MemoryBudget& budget,
               const std::filesystem::path& folder);
  /// Takes from the sums of the changed node at `changed` what former neighbours had told it, adds
  /// what new ones had told theirs. `sums` are those of `level` (1 .. L), one a column. Returns the
  /// fingerprint of what it adds.
  [[nodiscard]] std::uint64_t mend(std::uint32_t level, const Embedding& embedding, std::size_t changed,
                                   const ColumnFactors& factors, std::int64_t* sums) const;

  [[nodiscard]] const BatchChanges& changes() const noexcept { return *changes_; }
  [[nodiscard]] const std::vector<NodeId>& nodes() const noexcept { return nodes_; }  ///< changed, sorted
  /// Where a node lies in nodes(); kNone if it did not change.
  [[nodiscard]] std::size_t index(NodeId node) const {
    const auto it = std::lower_bound(nodes_.begin(), nodes_.end(), node);
    return it != nodes_.end() && *it == node ? static_cast<std::size_t>(it - nodes_.begin()) : kNone;
  }
  /// What the changed node at `index` had published: one value a column.
  [[nodiscard]] const std::int32_t* captured(std::uint32_t level, std::size_t index) const {
    return &rows_[(level * nodes_.size() + index) * columns_];
  }
  [[nodiscard]] std::uint64_t captured_fingerprint(std::uint32_t level, std::size_t index) const {
    return fingerprints_[level][index];
  }

  ConeChange cone;

 private:
  const BatchChanges* changes_;
  std::uint32_t levels_;
  std::uint32_t columns_ = 0;
  std::vector<NodeId> nodes_;
  [[nodiscard]] std::uint64_t row_bytes() const noexcept {
    return (levels_ + std::uint64_t{1}) * nodes_.size() * columns_ * sizeof(std::int32_t);
  }
  void put(std::uint32_t level, std::size_t index, std::span<const std::int32_t> row);
  /// [level 0..L], nodes x columns: level L is what it had received of level L-1.
  const std::int32_t* rows_ = nullptr;
  std::vector<std::int32_t> in_memory_;
  std::optional<MappedSpool> in_file_;                    ///< or there
  std::vector<std::vector<std::uint64_t>> fingerprints_;  ///< one for each of these rows
  Reservation memory_;                                    ///< charged for them
};

}  // namespace unweave
