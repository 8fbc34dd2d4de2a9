// algorithms/solvers/langevin/langevin_constants.cpp - bounds of the heads, and constants from them.
#include "algorithms/solvers/langevin/langevin_constants.h"

#include <algorithm>
#include <cmath>

#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kStartForgotten = 1e-3;
constexpr std::uint64_t kMostEpochs = std::uint64_t{1} << 30;
constexpr std::uint64_t kLeastBatch = 32, kMostBatches = 1024;

std::uint64_t learning_epochs(const NoisySgd& sgd, double sigma, const SolverOptions& options) {
  const bool paper = options.bound == BoundRule::kPaper;
  const LangevinBound bound{BurnIn::kNone, 0, paper ? Decay::kLoose : Decay::kSharp,
                            paper ? NoiseVariance::kPrinted : NoiseVariance::kActual};
  const LangevinAccountant from_anywhere(sgd, bound, options.delta);
  const std::uint64_t enough = from_anywhere.fewest_epochs(sgd.diameter(), sigma, options.epsilon);
  const double an_epoch =
      static_cast<double>(sgd.iterations(1)) * std::log1p(-sgd.constants().step_size * options.lambda);
  const double forgotten = std::ceil(std::log(kStartForgotten) / an_epoch);
  const std::uint64_t start =
      forgotten < static_cast<double>(kMostEpochs) ? static_cast<std::uint64_t>(forgotten) : kMostEpochs;
  const std::uint64_t epochs = std::max<std::uint64_t>({2 * enough, start, 1});
  require_patience(epochs, "epochs of learning", "raise --lambda, or choose --set epochs=...");
  return epochs;
}

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
  if (options.head == Head::kLogistic) return logistic_constants(given);
  if (options.head == Head::kSoftmax) return softmax_constants(given);
  return least_squares_constants(given, std::sqrt(static_cast<double>(classes)));  // targets are +1 or -1
}

std::uint64_t default_batch_rows(std::uint64_t rows) {
  if (rows <= kLeastBatch) return std::max<std::uint64_t>(1, rows);
  std::uint64_t batch = kLeastBatch;
  while (rows / batch > kMostBatches) batch *= 2;
  return batch;
}

LangevinConstants choose_constants(bool full_batches, std::size_t rows, std::size_t classes,
                                   const SolverOptions& options) {
  const LossConstants loss = loss_constants(options, 0, classes);
  const std::uint64_t all = std::max<std::size_t>(1, rows);
  LangevinConstants constants;
  constants.slots = rows;
  constants.batch_rows =
      count_setting(options, "batch-rows", all).value_or(full_batches ? all : default_batch_rows(rows));
  constants.step_size = positive_setting(options, "step-size").value_or(1 / loss.smoothness);
  constants.radius = positive_setting(options, "radius").value_or(std::sqrt(2 * loss.loss_at_zero / options.lambda));
  constants.sigma = positive_setting(options, "sigma").value_or(kMarginNoise * std::sqrt(options.lambda));
  constants.order_key = count_setting(options, "order-key").value_or(1);
  if (constants.sigma < resolvable_sigma(constants.step_size, constants.radius))
    throw UsageError(
        "the noise of langevin is so small that float64 could not tell it from rounding: raise --lambda, or sigma "
        "where it was set");
  const NoisySgd sgd = noisy_sgd_of(constants, options, classes);
  const std::optional<std::uint64_t> epochs = count_setting(options, "epochs", kMostEpochs);
  constants.epochs = epochs ? *epochs : learning_epochs(sgd, constants.sigma, options);
  return constants;
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

std::optional<std::uint64_t> request_epochs(const LangevinConstants& constants, const LangevinAccountant& accountant,
                                            double distance, double epsilon) {
  if (accountant.epsilon(distance, constants.epochs, constants.sigma) > epsilon) return std::nullopt;
  const std::uint64_t epochs = accountant.fewest_epochs(distance, constants.sigma, epsilon);
  return epochs < constants.epochs ? std::optional(epochs) : std::nullopt;
}

LangevinAccountant accountant_of(const LangevinConstants& constants, const NoisySgd& sgd,
                                 const SolverOptions& options) {
  if (options.bound == BoundRule::kPaper)
    return {sgd, {BurnIn::kWeakTriangle, constants.epochs, Decay::kLoose, NoiseVariance::kPrinted}, options.delta};
  return {sgd, {BurnIn::kAligned, constants.epochs, Decay::kSharp, NoiseVariance::kActual}, options.delta};
}

double removed_row_weight(const NoisySgd& sgd, const SolverOptions& options) {
  return options.bound == BoundRule::kPaper ? sgd.replaced_row_weight() : sgd.zeroed_row_weight();
}

}  // namespace unweave
