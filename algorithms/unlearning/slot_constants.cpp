// algorithms/unlearning/slot_constants.cpp - bounds of the heads, and the constants of runs from
// them.
#include "algorithms/unlearning/slot_constants.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "algorithms/learning/training_set.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kLeastBatch = 32, kMostBatches = 1024;

}  // namespace

void require_patience(std::uint64_t passes, std::string_view unit, std::string_view remedy) {
  if (passes > kMostPasses)
    throw UsageError("so weak a lambda asks for " + std::to_string(passes) + " " + std::string(unit) + "; " +
                     std::string(remedy));
}

double row_norm_bound(const SolverOptions& options) noexcept {
  return RowForm(1, options.intercept).norm_bound();
}

LossConstants loss_constants(const SolverOptions& options, double radius, std::size_t classes) {
  const PublicConstants given{
      .row_norm = row_norm_bound(options), .radius = radius, .lambda = options.lambda, .classes = classes};
  return loss_constants(options.head, given);
}

double minimiser_radius(const SolverOptions& options, std::size_t classes) {
  return std::sqrt(2 * loss_constants(options, 0, classes).loss_at_zero / options.lambda);
}

std::uint64_t default_batch_rows(std::uint64_t rows) {
  if (rows <= kLeastBatch) return std::max<std::uint64_t>(1, rows);
  std::uint64_t batch = kLeastBatch;
  while (rows / batch > kMostBatches) batch *= 2;
  return batch;
}

NoisySgd noisy_sgd_of(const SlotRun& run, const SolverOptions& options, std::size_t classes) {
  const LossConstants loss = loss_constants(options, run.radius, classes);
  NoisySgdConstants of;
  of.rows = run.padded_slots();
  of.batch_rows = run.batch_rows;
  of.step_size = run.step_size;
  of.strong_convexity = options.lambda;
  of.smoothness = loss.smoothness;
  of.row_norm = row_norm_bound(options);
  of.gradient_bound = loss.data_gradient;
  of.radius = run.radius;
  return NoisySgd(of);
}

}  // namespace unweave
