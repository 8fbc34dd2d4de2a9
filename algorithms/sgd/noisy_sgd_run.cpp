// algorithms/sgd/noisy_sgd_run.cpp - sums the gradients of batches, and steps, projects and adds
// noise.
#include "algorithms/sgd/noisy_sgd_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/numerics/blas.h"
#include "algorithms/numerics/row_sweep.h"
#include "algorithms/sgd/descent.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// `sum` becomes the sum of the loss gradients of these rows, F x C. Steps pass the same matrix:
/// fresh memory for each would cost the kernel as long as the products.
void loss_gradient(const TrainingSet& rows, Head head, std::span<const std::uint32_t> members, const Matrix& weights,
                   Matrix& sum) {
  const std::size_t features = rows.features(), classes = rows.classes();
  const auto load = [&](std::size_t first, std::size_t count) -> const double* {
    double* const block = block_buffer<double, BlockUse::rows>(count * features);
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const float> row = rows.row(members[first + i]);
      std::copy(row.begin(), row.end(), block + i * features);
    }
    return block;
  };
  sum.setZero(weights.rows(), weights.cols());
  sum =
      sweep_blocks<double>(members.size(), features, std::move(sum), load,
                           [&](const double* block, std::size_t first, std::size_t count, Matrix& part) {
                             double* const slopes = block_buffer<double, BlockUse::margins>(count * classes);
                             multiply(block, weights.data(), slopes, count, features, classes, false);
                             for (std::size_t i = 0; i < count; ++i)
                               slopes_in_place(head, slopes + i * classes, classes, rows.labels()[members[first + i]]);
                             multiply_transposed(block, slopes, part.data(), features, count, classes, true);
                           });
}

void add_noise(double scale, RandomSource& random, std::span<double> weights) {
  double* const noise = block_buffer<double, BlockUse::product>(weights.size());
  random.gaussians({noise, weights.size()});
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += scale * noise[i];
  wipe(noise, weights.size() * sizeof(double));
}

void project(double radius, Matrix& weights) {
  const double norm = weights.norm();
  if (norm > radius) weights *= radius / norm;
}

/// Whole epochs over the rows that members(step) names, with `noise` times a Gaussian after each
/// step.
template <class Members>
void project_and_descend(const NoisySgd& sgd, const TrainingSet& rows, Head head, std::uint64_t epochs, double noise,
                         RandomSource& random, Matrix& weights, const Members& members) {
  const NoisySgdConstants& constants = sgd.constants();
  const double decay = 1 - constants.step_size * constants.strong_convexity;
  const double share = constants.step_size / static_cast<double>(constants.batch_rows);
  Matrix gradient;
  descend(
      0, epochs * sgd.batches(), weights,
      [&](std::uint64_t step) -> DescentStep {
        return {members(step), decay, share};
      },
      [&](std::span<const std::uint32_t> some, const Matrix& at) -> const Matrix& {
        loss_gradient(rows, head, some, at, gradient);
        return gradient;
      },
      [&](const DescentStep&) {
        if (noise > 0) add_noise(noise, random, {weights.data(), size_of(weights.size())});
        project(constants.radius, weights);
        advance_watched(1);
      });
}

}  // namespace

void run_drawn_epochs(const DrawnRun& run, std::uint64_t epochs, RandomSource& random, Matrix& weights) {
  std::vector<std::uint32_t> members;
  project_and_descend(run.sgd, run.rows, run.head, epochs, 0, random, weights, [&](std::uint64_t) {
    members.clear();
    for (std::uint64_t draw = 0; draw < run.sgd.constants().batch_rows; ++draw) {
      const std::uint32_t row = run.row_of_slot[static_cast<std::size_t>(random.below(run.row_of_slot.size()))];
      if (row != kNoRow) members.push_back(row);
    }
    return std::span<const std::uint32_t>(members);
  });
}

void run_epochs(const NoisySgdRun& run, std::uint64_t epochs, RandomSource& random, Matrix& weights) {
  const double noise = std::sqrt(2 * run.sgd.constants().step_size) * run.sigma;
  project_and_descend(run.sgd, run.rows, run.head, epochs, noise, random, weights,
                      [&](std::uint64_t step) { return run.batches.rows_of(step % run.sgd.batches()); });
}

}  // namespace unweave
