// tests/support/noisy_sgd_runs.h - the constants of the published runs of unlearning by noisy SGD.
#pragma once

#include <vector>

#include "algorithms/privacy/accounting/langevin.h"

namespace unweave::testing {

inline constexpr std::uint64_t kMnistRows = 11264, kCifarRows = 9728;  // 3 against 8; cat against ship

/// Logistic regression on unit rows with ridge 1e-6 n, step 1/L, M = 1; batch 0 stands for full
/// batches.
inline NoisySgdConstants published_constants(std::uint64_t rows, std::uint64_t batch) {
  const double ridge = 1e-6 * static_cast<double>(rows);
  NoisySgdConstants c;
  c.rows = rows;
  c.batch_rows = batch == 0 ? rows : batch;
  c.step_size = 1 / (0.25 + ridge);
  c.strong_convexity = ridge;
  c.smoothness = 0.25 + ridge;
  c.gradient_bound = 1;
  return c;
}

inline NoisySgd published_run(std::uint64_t rows, std::uint64_t batch) {
  return NoisySgd(published_constants(rows, batch));
}

inline NoisySgd projected_run(std::uint64_t rows, std::uint64_t batch, double radius = 100) {
  NoisySgdConstants c = published_constants(rows, batch);
  c.radius = radius;
  return NoisySgd(c);
}

/// Stationary distance of `rows` replaced rows at the worst places.
inline double worst_distance(const NoisySgd& sgd, std::uint64_t rows = 1) {
  return stationary_distance(sgd, packed_shift(sgd, rows, sgd.replaced_row_weight()));
}

/// Shift of one row that may be drawn at every iteration: it weighs in every batch, as in the
/// published runs of Figure 3b.
inline double every_iteration_shift(const NoisySgd& sgd, double weight) {
  std::vector<ChangedBatch> changes;
  for (std::uint64_t batch = 0; batch < sgd.batches(); ++batch) changes.push_back({batch, weight});
  return placed_shift(sgd, changes);
}

/// A bound as printed, for a start in the stationary law, at delta = 1/n.
inline LangevinAccountant converged(const NoisySgd& sgd, Decay decay,
                                    NoiseVariance variance = NoiseVariance::kPrinted) {
  return {sgd, {BurnIn::kNone, 0, decay, variance}, 1 / static_cast<double>(sgd.constants().rows)};
}

}  // namespace unweave::testing
