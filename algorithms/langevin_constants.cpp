// algorithms/langevin_constants.cpp - bounds of the heads, and constants from them.
#include "algorithms/langevin_constants.h"

#include <algorithm>
#include <cmath>

#include "algorithms/accounting/head_constants.h"
#include "storage/error.h"

namespace unweave {
namespace {

constexpr double kMarginNoise = 0.1;
constexpr double kStartForgotten = 1e-3;
constexpr std::uint64_t kLeastBatch = 32, kMostBatches = 1024;
constexpr std::uint64_t kOrderKey = 1;

LossConstants loss_of(Head head, const PublicConstants& given) {
  if (head == Head::kLogistic) return logistic_constants(given);
  if (head == Head::kSoftmax) return softmax_constants(given);
  return least_squares_constants(given, std::sqrt(static_cast<double>(given.classes)));  // targets are +1 or -1
}

std::uint64_t batch_rows_of(bool full_batches, std::uint64_t rows) {
  if (full_batches || rows <= kLeastBatch) return std::max<std::uint64_t>(1, rows);
  std::uint64_t batch = kLeastBatch;
  while (rows / batch > kMostBatches) batch *= 2;
  return batch;
}

std::uint64_t learning_epochs(const NoisySgd& sgd, double sigma, const SolverOptions& options) {
  const LangevinAccountant from_anywhere(sgd, {BurnIn::kNone, 0, Decay::kSharp, NoiseVariance::kActual}, options.delta);
  const std::uint64_t enough = from_anywhere.fewest_epochs(sgd.diameter(), sigma, options.epsilon);
  const double forgotten = std::ceil(std::log(kStartForgotten) / std::log(sgd.power(sgd.iterations(1))));
  return std::max(2 * enough, static_cast<std::uint64_t>(forgotten));
}

}  // namespace

LangevinConstants choose_constants(bool full_batches, std::size_t rows, std::size_t classes,
                                   const SolverOptions& options) {
  const LossConstants loss = loss_of(options.head, {.lambda = options.lambda, .classes = classes});
  LangevinConstants constants;
  constants.slots = rows;
  constants.batch_rows = batch_rows_of(full_batches, rows);
  constants.step_size = 1 / loss.smoothness;
  constants.radius = std::sqrt(2 * loss.loss_at_zero / options.lambda);
  constants.sigma = kMarginNoise * std::sqrt(options.lambda);
  constants.order_key = kOrderKey;
  if (constants.sigma < resolvable_sigma(constants.step_size, constants.radius))
    throw UsageError(
        "--lambda is too small for the noise of langevin, which float64 could not tell from rounding; raise it");
  const NoisySgd sgd = noisy_sgd_of(constants, options.head, options.lambda, classes);
  constants.epochs = learning_epochs(sgd, constants.sigma, options);
  return constants;
}

NoisySgd noisy_sgd_of(const LangevinConstants& constants, Head head, double lambda, std::size_t classes) {
  const LossConstants loss = loss_of(head, {.radius = constants.radius, .lambda = lambda, .classes = classes});
  NoisySgdConstants of;
  of.rows = constants.padded_slots();
  of.batch_rows = constants.batch_rows;
  of.step_size = constants.step_size;
  of.strong_convexity = lambda;
  of.smoothness = loss.smoothness;
  of.gradient_bound = loss.data_gradient;
  of.radius = constants.radius;
  return NoisySgd(of);
}

LangevinAccountant accountant_of(const LangevinConstants& constants, const NoisySgd& sgd, double delta) {
  return {sgd, {BurnIn::kAligned, constants.epochs, Decay::kSharp, NoiseVariance::kActual}, delta};
}

double moved_weight(const NoisySgd& sgd, Head head, double distance) {
  return moved_row_weight(sgd, smoothness(head).curvature, distance);
}

}  // namespace unweave
