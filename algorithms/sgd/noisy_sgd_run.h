// algorithms/sgd/noisy_sgd_run.h - epochs of projected noisy SGD over slots: learning and
// unlearning run this same code.
//
//   W <- P_R(W - eta (G_j / b + lambda W) + sqrt(2 eta) sigma xi),   G_j the sum of batch j's loss gradients
//
// Batch by batch, in the order of the batches; gradients in float64, in parallel inside a large
// batch, equal to the bit for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/learning/head.h"
#include "algorithms/learning/training_set.h"
#include "algorithms/numerics/matrix.h"
#include "algorithms/privacy/accounting/noisy_sgd.h"
#include "algorithms/random/random_source.h"
#include "algorithms/sgd/slots.h"

namespace unweave {

struct NoisySgdRun {
  const NoisySgd& sgd;
  const TrainingSet& rows;
  const Batches& batches;
  Head head = Head::kLogistic;
  double sigma = 0;  ///< 0: without noise, for checks; `random` is not used then
};

/// Steps as above without noise, each over `batch_rows` slots drawn uniformly and afresh, with
/// replacement; an epoch has as many steps as there are batches. `row_of_slot` holds positions in
/// `rows`, kNoRow for an empty slot.
struct DrawnRun {
  const NoisySgd& sgd;
  const TrainingSet& rows;
  std::span<const std::uint32_t> row_of_slot;
  Head head = Head::kLogistic;
};
void run_drawn_epochs(const DrawnRun& run, std::uint64_t epochs, RandomSource& random, Matrix& weights);

/// Runs whole epochs on `weights`, F x C.
void run_epochs(const NoisySgdRun& run, std::uint64_t epochs, RandomSource& random, Matrix& weights);

}  // namespace unweave
