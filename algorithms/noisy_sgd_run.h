// algorithms/noisy_sgd_run.h - epochs of projected noisy SGD over slots: learning and unlearning run this same code.
//
//   W <- P_R(W - eta (G_j / b + lambda W) + sqrt(2 eta) sigma xi),   G_j the sum of batch j's loss gradients
//
// Batch by batch, in the order of the batches; gradients in float64, in parallel inside a large batch, equal to the bit
// for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/accounting/noisy_sgd.h"
#include "algorithms/head.h"
#include "algorithms/langevin_state.h"
#include "algorithms/matrix.h"
#include "algorithms/permutation.h"
#include "algorithms/random_source.h"
#include "algorithms/training_set.h"

namespace unweave {

/// Slot of each of the ascending `nodes`. Throws UsageError for a node without one.
[[nodiscard]] std::vector<std::size_t> slots_of(std::span<const NodeId> slots, std::span<const NodeId> nodes);

/// What slots and their batches take in memory, while they are made.
[[nodiscard]] std::uint64_t slot_bytes(std::size_t slots) noexcept;

/// The partition of the slots, drawn from the order key. It knows no rows.
class SlotOrder {
 public:
  explicit SlotOrder(const SlotRun& run) : places_(run.padded_slots(), run.order_key), batch_rows_(run.batch_rows) {}
  /// Of a slot below padded_slots().
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

struct NoisySgdRun {
  const NoisySgd& sgd;
  const TrainingSet& rows;
  const Batches& batches;
  Head head = Head::kLogistic;
  double sigma = 0;  ///< 0: without noise, for checks; `random` is not used then
};

/// The same steps without noise, each over `batch_rows` slots drawn uniformly and afresh, with replacement; as many an
/// epoch as there are batches. `row_of_slot` holds positions in `rows`, kNoRow for an empty slot.
struct DrawnRun {
  const NoisySgd& sgd;
  const TrainingSet& rows;
  std::span<const std::uint32_t> row_of_slot;
  Head head = Head::kLogistic;
};
inline constexpr std::uint32_t kNoRow = 0xffffffff;
/// One entry for each of the run's padded slots. Throws UsageError for a row whose node has no slot.
[[nodiscard]] std::vector<std::uint32_t> rows_of_slots(const SlotRun& run, std::span<const NodeId> slots,
                                                       const TrainingSet& rows);
void run_drawn_epochs(const DrawnRun& run, std::uint64_t epochs, RandomSource& random, Matrix& weights);

/// Runs whole epochs on `weights`, F x C.
void run_epochs(const NoisySgdRun& run, std::uint64_t epochs, RandomSource& random, Matrix& weights);

}  // namespace unweave
