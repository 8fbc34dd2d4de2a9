// algorithms/sgd/slot_run.h - public constants of runs over slots.
#pragma once

#include <cstdint>

namespace unweave {

/// Public constants of projected SGD over fixed slots (accounting/noisy_sgd.h), fixed at training.
struct SlotRun {
  std::uint64_t slots = 0;       ///< training rows at training; with the padding, the n of the mean
  std::uint64_t batch_rows = 1;  ///< b
  std::uint64_t epochs = 0;      ///< T of learning
  double step_size = 0;          ///< eta
  double radius = 0;             ///< R of the ball |W|_F <= R
  std::uint64_t order_key = 0;   ///< draws the batches

  /// n: the slots, padded to whole batches.
  [[nodiscard]] std::uint64_t padded_slots() const noexcept {
    return batch_rows * ((slots + batch_rows - 1) / batch_rows + (slots == 0 ? 1 : 0));
  }
  friend bool operator==(const SlotRun&, const SlotRun&) = default;
};

}  // namespace unweave
