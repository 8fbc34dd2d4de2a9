// algorithms/sgd/sgd_run.h - plain SGD over fixed slots, the learner of `hessian-free`.
//
//   w_{t+1} = w_t - (eta_t / |B_t|) sum over the filled slots i of B_t of grad l_i(w_t),   l_i = loss + lambda |w|^2 / 2
//
// from Network::initial. The divisor stays |B_t| when a slot is emptied, and the row takes its
// share of lambda with it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/learning/network.h"
#include "algorithms/sgd/sgd_schedule.h"
#include "algorithms/sgd/slots.h"

namespace unweave {

struct SgdRun {
  const Network& network;
  const TrainingSet& rows;
  const SgdSchedule& schedule;
  std::vector<std::uint32_t> row_of_place;  ///< position in the training set, or kNoRow
  double lambda = 0;

  /// `slots` holds the ascending node of each slot, kNoNode where it is empty. Throws UsageError
  /// for a row without slot.
  SgdRun(const Network& of, const TrainingSet& set, const SgdSchedule& steps, std::span<const NodeId> slots,
         double regularisation);

  [[nodiscard]] Vector initial() const { return network.initial(schedule.constants().order_key); }
};

/// The filled slots of one step.
struct SgdBatch {
  SgdBatch(const SgdRun& run, std::uint64_t step);

  std::vector<std::uint32_t> places;
  std::vector<std::uint32_t> rows;  ///< their positions in the training set
  double share = 0;                 ///< eta_t / |B_t|, |B_t| with empty slots
};

/// Steps [first, last) on `weights`, with a call of `finish`, which may be empty, after each.
void sgd_steps(const SgdRun& run, std::uint64_t first, std::uint64_t last, Vector& weights,
               const std::function<void()>& finish = {});

struct SgdEnd {
  Vector weights;
  double largest_norm = 0;  ///< largest norm of the weights at any step
};
/// All steps. Throws UsageError when the weights leave the range in which statistics add up
/// exactly.
[[nodiscard]] SgdEnd end_of_run(const SgdRun& run);

/// Weights of every step, from some that are kept and the steps between, made again. Wiped on
/// destruction.
class Trajectory {
 public:
  /// Runs all steps. Keeps all weights where `bytes` hold them, else about the square root of their
  /// number.
  Trajectory(const SgdRun& run, std::size_t bytes);
  Trajectory(const Trajectory&) = delete;
  Trajectory& operator=(const Trajectory&) = delete;
  ~Trajectory();

  /// w_t, 0 <= step <= steps(); descending steps cost one further run in all. Valid until the next
  /// call.
  [[nodiscard]] const Vector& at(std::uint64_t step);

 private:
  const SgdRun& run_;
  std::uint64_t stride_;
  std::vector<Vector> kept_;     // w_0, w_stride, ...
  std::vector<Vector> segment_;  // from one of these to the next
  std::uint64_t segment_at_;
};

}  // namespace unweave
