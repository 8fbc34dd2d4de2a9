// algorithms/sgd/slot_weights.h - what one batch of requests does to the slots of a run: which, and
// by how much at most.
#pragma once

#include <span>
#include <vector>

#include "algorithms/learning/head.h"
#include "algorithms/learning/training_set.h"
#include "algorithms/privacy/accounting/noisy_sgd.h"
#include "algorithms/sgd/slot_run.h"

namespace unweave {

/// A slot and a bound of the change of its row's loss gradient, anywhere in the ball.
struct SlotWeight {
  std::size_t slot = 0;
  double weight = 0;
  bool removed = false;  ///< the slot falls empty; else its row has another embedding
};

/// Slots are those before the batch, rows of norm at most 1. Throws UsageError for a node without a
/// slot.
[[nodiscard]] std::vector<SlotWeight> weights_of(std::span<const NodeId> slots, const NoisySgd& sgd, Head head,
                                                 const BatchChange& change);

/// What an epoch over these changes adds to the distance of two runs: placed_shift() of their
/// batches.
[[nodiscard]] double shift_of(const NoisySgd& sgd, const SlotRun& run, std::span<const SlotWeight> changes);

}  // namespace unweave
