// algorithms/solvers/langevin/langevin_state.h - what a model of `langevin` or `langevin-full`
// holds beside its weights.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/sgd/slot_run.h"
#include "algorithms/unlearning/model.h"
#include "storage/io/types.h"

namespace unweave {

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
  /// A batch since training had a threshold, or the last before it: what later replaces stale rows
  /// is not accounted for.
  bool lazy_rows = false;

  /// Whether the account covers no request until the next training: each then runs as many epochs
  /// as any start needs.
  [[nodiscard]] bool from_anywhere() const noexcept { return adaptive_requests || lazy_rows; }
};

/// Throws UsageError when the model holds no such state, or one that contradicts itself.
[[nodiscard]] LangevinState langevin_state(const Model& model);
void keep_state(const LangevinState& state, Model& model);

}  // namespace unweave
