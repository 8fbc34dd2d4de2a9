// algorithms/langevin_state.h - constants of runs over slots, and what a model of `langevin` or `langevin-full` holds
// beside its weights.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/types.h"

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

struct LangevinConstants : SlotRun {
  double sigma = 0;  ///< sqrt(2 eta) sigma is added to every coordinate at every step
  friend bool operator==(const LangevinConstants&, const LangevinConstants&) = default;
};

/// The account of requests, private: it is a noiseless function of removed data.
struct LangevinState {
  LangevinConstants constants;
  std::vector<NodeId> slots;       ///< ascending node of each slot, kNoNode where the row has left
  double distance = 0;             ///< Z from which the last request started; 0 after training
  std::uint64_t last_epochs = 0;   ///< K of it; 0 after training
  bool adaptive_requests = false;  ///< one since training may have been chosen after seeing a release
  /// A batch since training had a threshold, or the last before it: what later replaces stale rows is not accounted for.
  bool lazy_rows = false;
};

}  // namespace unweave
