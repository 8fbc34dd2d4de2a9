// algorithms/noisy_sgd_run.cpp - batches of slots, gradients of batches, steps.
#include "algorithms/noisy_sgd_run.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "algorithms/blas.h"
#include "algorithms/row_sweep.h"
#include "storage/error.h"

namespace unweave {
namespace {

/// Sum of the loss gradients of these rows, F x C.
Matrix loss_gradient(const NoisySgdRun& run, std::span<const std::uint32_t> members, const Matrix& weights) {
  const TrainingSet& rows = run.rows;
  const std::size_t features = rows.features(), classes = rows.classes();
  const auto load = [&](std::size_t first, std::size_t count) -> const double* {
    double* const block = block_buffer<double, BlockUse::rows>(count * features);
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const float> row = rows.row(members[first + i]);
      std::copy(row.begin(), row.end(), block + i * features);
    }
    return block;
  };
  const Matrix zero = Matrix::Zero(weights.rows(), weights.cols());
  return sweep_blocks<double>(members.size(), features, zero, load,
                              [&](const double* block, std::size_t first, std::size_t count, Matrix& sum) {
                                double* const slopes = block_buffer<double, BlockUse::margins>(count * classes);
                                multiply(block, weights.data(), slopes, count, features, classes, false);
                                for (std::size_t i = 0; i < count; ++i)
                                  slopes_in_place(run.head, slopes + i * classes, classes,
                                                  rows.labels()[members[first + i]]);
                                multiply_transposed(block, slopes, sum.data(), features, count, classes, true);
                              });
}

void add_noise(double scale, RandomSource& random, std::span<double> weights) {
  double* const noise = block_buffer<double, BlockUse::product>(weights.size());
  random.gaussians({noise, weights.size()});
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += scale * noise[i];
}

void project(double radius, Matrix& weights) {
  const double norm = weights.norm();
  if (norm > radius) weights *= radius / norm;
}

}  // namespace

std::vector<std::size_t> slots_of(std::span<const NodeId> slots, std::span<const NodeId> nodes) {
  std::vector<std::size_t> found;
  found.reserve(nodes.size());
  std::size_t at = 0;
  for (const NodeId node : nodes) {
    while (at < slots.size() && (slots[at] == kNoNode || slots[at] < node)) ++at;
    if (at == slots.size() || slots[at] != node)
      throw UsageError("the training row at position " + std::to_string(node) +
                       " has no slot in the model; train the model again");
    found.push_back(at);
  }
  return found;
}

Batches::Batches(const LangevinState& state, const TrainingSet& rows) {
  const SlotOrder order(state.constants);
  std::vector<std::uint32_t> batch_of_row;
  batch_of_row.reserve(rows.size());
  for (const std::size_t slot : slots_of(state.slots, rows.nodes()))
    batch_of_row.push_back(static_cast<std::uint32_t>(order.batch_of(slot)));
  first_.assign(state.constants.padded_slots() / state.constants.batch_rows + 1, 0);
  for (const std::uint32_t batch : batch_of_row) ++first_[batch + 1];
  for (std::size_t batch = 1; batch < first_.size(); ++batch) first_[batch] += first_[batch - 1];
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  rows_.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows_[next[batch_of_row[i]]++] = static_cast<std::uint32_t>(i);
}

void run_epochs(const NoisySgdRun& run, std::uint64_t epochs, RandomSource& random, Matrix& weights) {
  const NoisySgdConstants& constants = run.sgd.constants();
  const double step = constants.step_size;
  const double kept = 1 - step * constants.strong_convexity;
  const double share = step / static_cast<double>(constants.batch_rows);
  const double noise = std::sqrt(2 * step) * run.sigma;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch)
    for (std::uint64_t batch = 0; batch < run.sgd.batches(); ++batch) {
      weights = kept * weights - share * loss_gradient(run, run.batches.rows_of(batch), weights);
      if (noise > 0) add_noise(noise, random, {weights.data(), size_of(weights.size())});
      project(constants.radius, weights);
    }
}

}  // namespace unweave
