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
Matrix loss_gradient(const TrainingSet& rows, Head head, std::span<const std::uint32_t> members,
                     const Matrix& weights) {
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
                                  slopes_in_place(head, slopes + i * classes, classes,
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

/// The step of one batch, before noise and projection.
void descend(const NoisySgdConstants& constants, const Matrix& gradient, Matrix& weights) {
  const double kept = 1 - constants.step_size * constants.strong_convexity;
  const double share = constants.step_size / static_cast<double>(constants.batch_rows);
  weights = kept * weights - share * gradient;
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

std::uint64_t slot_bytes(std::size_t slots) noexcept {
  // Nodes, places in the batches and first places are kept; places of rows and batches of rows come and go.
  return slots * (sizeof(NodeId) + sizeof(std::uint32_t) + 2 * sizeof(std::size_t) + sizeof(std::uint32_t));
}

Batches::Batches(const SlotRun& run, std::span<const NodeId> slots, const TrainingSet& rows) {
  const SlotOrder order(run);
  std::vector<std::uint32_t> batch_of_row;
  batch_of_row.reserve(rows.size());
  for (const std::size_t slot : slots_of(slots, rows.nodes()))
    batch_of_row.push_back(static_cast<std::uint32_t>(order.batch_of(slot)));
  first_.assign(run.padded_slots() / run.batch_rows + 1, 0);
  for (const std::uint32_t batch : batch_of_row) ++first_[batch + 1];
  for (std::size_t batch = 1; batch < first_.size(); ++batch) first_[batch] += first_[batch - 1];
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  rows_.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows_[next[batch_of_row[i]]++] = static_cast<std::uint32_t>(i);
}

std::vector<std::uint32_t> rows_of_slots(const SlotRun& run, std::span<const NodeId> slots, const TrainingSet& rows) {
  std::vector<std::uint32_t> row_of_slot(run.padded_slots(), kNoRow);
  std::uint32_t row = 0;
  for (const std::size_t slot : slots_of(slots, rows.nodes())) row_of_slot[slot] = row++;
  return row_of_slot;
}

void run_drawn_epochs(const DrawnRun& run, std::uint64_t epochs, RandomSource& random, Matrix& weights) {
  const NoisySgdConstants& constants = run.sgd.constants();
  std::vector<std::uint32_t> members;
  for (std::uint64_t step = 0; step < epochs * run.sgd.batches(); ++step) {
    members.clear();
    for (std::uint64_t draw = 0; draw < constants.batch_rows; ++draw) {
      const std::uint32_t row = run.row_of_slot[static_cast<std::size_t>(random.below(run.row_of_slot.size()))];
      if (row != kNoRow) members.push_back(row);
    }
    descend(constants, loss_gradient(run.rows, run.head, members, weights), weights);
    project(constants.radius, weights);
  }
}

void run_epochs(const NoisySgdRun& run, std::uint64_t epochs, RandomSource& random, Matrix& weights) {
  const NoisySgdConstants& constants = run.sgd.constants();
  const double noise = std::sqrt(2 * constants.step_size) * run.sigma;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch)
    for (std::uint64_t batch = 0; batch < run.sgd.batches(); ++batch) {
      descend(constants, loss_gradient(run.rows, run.head, run.batches.rows_of(batch), weights), weights);
      if (noise > 0) add_noise(noise, random, {weights.data(), size_of(weights.size())});
      project(constants.radius, weights);
    }
}

}  // namespace unweave
