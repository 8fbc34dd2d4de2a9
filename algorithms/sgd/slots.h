// algorithms/sgd/slots.h - the places of training rows in a run: fixed at training, emptied when a
// row leaves, never refilled.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/learning/training_set.h"
#include "algorithms/random/permutation.h"
#include "algorithms/sgd/slot_run.h"

namespace unweave {

/// Slot of each of the ascending `nodes`. Throws UsageError for a node without one.
[[nodiscard]] std::vector<std::size_t> slots_of(std::span<const NodeId> slots, std::span<const NodeId> nodes);
/// Whether all of these nodes, ascending, have one.
[[nodiscard]] bool have_slots(std::span<const NodeId> slots, std::span<const NodeId> nodes);

/// What slots and their batches take in memory, while they are made.
[[nodiscard]] std::uint64_t slot_bytes(std::size_t slots) noexcept;

/// The partition of the slots, drawn from the order key. It knows no rows.
class SlotOrder {
 public:
  explicit SlotOrder(const SlotRun& run) : places_(run.padded_slots(), run.order_key), batch_rows_(run.batch_rows) {}
  /// The batch of a slot below padded_slots().
  [[nodiscard]] std::uint64_t batch_of(std::size_t slot) const { return places_.at(slot) / batch_rows_; }

 private:
  Permutation places_;
  std::uint64_t batch_rows_;
};

/// Rows of each batch, empty slots left out. 4 bytes a row and 8 a batch.
class Batches {
 public:
  /// Throws UsageError for a row whose node has no slot.
  Batches(const SlotRun& run, std::span<const NodeId> slots, const TrainingSet& rows);
  /// Ascending positions in the training set.
  [[nodiscard]] std::span<const std::uint32_t> rows_of(std::uint64_t batch) const {
    return std::span(rows_).subspan(first_[batch], first_[batch + 1] - first_[batch]);
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> rows_;
};

/// The row of an empty slot.
inline constexpr std::uint32_t kNoRow = 0xffffffff;
/// One entry for each of the run's padded slots. Throws UsageError for a row whose node has no
/// slot.
[[nodiscard]] std::vector<std::uint32_t> rows_of_slots(const SlotRun& run, std::span<const NodeId> slots,
                                                       const TrainingSet& rows);

/// Empties the slots of nodes that have no row any more; `present` ascends.
void empty_departed(std::vector<NodeId>& slots, std::span<const NodeId> present);

}  // namespace unweave
