// algorithms/privacy/accounting/noisy_sgd.cpp - powers of the contraction through logarithms,
// distances of coupled chains.
#include "algorithms/privacy/accounting/noisy_sgd.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/privacy/accounting/require.h"

namespace unweave {
namespace {

NoisySgdConstants checked(const NoisySgdConstants& c) {
  require_count(c.rows, "the number of rows");
  require_count(c.batch_rows, "the batch size");
  if (c.rows % c.batch_rows != 0)
    throw UsageError("the batch size must divide the number of rows; drop or pad the last " +
                     std::to_string(c.rows % c.batch_rows));
  require_positive(c.smoothness, "the smoothness L");
  require_not_negative(c.strong_convexity, "the strong convexity m");
  if (c.strong_convexity > c.smoothness) throw UsageError("the strong convexity m must be at most the smoothness L");
  require_positive(c.step_size, "the step size");
  if (c.step_size > 1 / c.smoothness) throw UsageError("the step size must be at most 1/L");
  require_positive(c.gradient_bound, "the gradient bound M");
  require_positive(c.row_norm, "the bound X of rows");
  if (!(c.radius > 0)) throw UsageError("the radius R must be above 0, or infinite for no projection");
  return c;
}

}  // namespace

NoisySgd::NoisySgd(const NoisySgdConstants& constants)
    : constants_(checked(constants)),
      batches_(constants.rows / constants.batch_rows),
      log_contraction_(std::log1p(-std::min(1.0, constants.step_size * constants.strong_convexity))) {}

double NoisySgd::power(double k) const {
  return k == 0 ? 1 : std::exp(k * log_contraction_);
}

double NoisySgd::one_minus_power(double k) const {
  return k == 0 ? 0 : -std::expm1(k * log_contraction_);
}

double NoisySgd::power_sum(double k) const {
  return log_contraction_ == 0 ? k : one_minus_power(k) / one_minus_power(1);
}

double NoisySgd::root_decay(Decay decay, std::uint64_t epochs) const {
  require_count(epochs, "the number of epochs");
  const double k = iterations(epochs);
  if (log_contraction_ == 0) return 1 / std::sqrt(k);
  const double kept = power(k);
  return decay == Decay::kLoose ? kept : kept * std::sqrt(one_minus_power(2) / one_minus_power(2 * k));
}

double moved_row_weight(const NoisySgd& sgd, double curvature, double distance) {
  require_not_negative(curvature, "the curvature");
  require_not_negative(distance, "the distance that a row moved");
  if (distance == 0) return 0;
  const NoisySgdConstants& of = sgd.constants();
  const double slope_change = curvature == 0 ? 0 : curvature * of.row_norm * of.radius;
  return std::min(sgd.replaced_row_weight(), (of.gradient_bound / of.row_norm + slope_change) * distance);
}

double packed_shift(const NoisySgd& sgd, std::uint64_t rows, double weight) {
  require_not_negative(weight, "a row's weight");
  if (rows > sgd.constants().rows) throw UsageError("more rows are changed than there are");
  const std::uint64_t batch = sgd.constants().batch_rows;
  const std::uint64_t full_batches = rows / batch;
  const auto full = static_cast<double>(full_batches);
  const auto rest = static_cast<double>(rows % batch) / static_cast<double>(batch);
  return sgd.constants().step_size * weight * (sgd.power_sum(full) + rest * sgd.power(full));
}

double packed_shift(const NoisySgd& sgd, std::span<const double> weights) {
  if (weights.size() > sgd.constants().rows) throw UsageError("more rows are changed than there are");
  for (const double weight : weights) require_not_negative(weight, "a row's weight");
  std::vector<double> heaviest_first(weights.begin(), weights.end());
  std::sort(heaviest_first.begin(), heaviest_first.end(), std::greater<>());
  const std::uint64_t batch = sgd.constants().batch_rows;
  double sum = 0;
  for (std::size_t i = 0; i < heaviest_first.size(); ++i) {
    const std::uint64_t later = i / batch;
    sum += heaviest_first[i] * sgd.power(static_cast<double>(later));
  }
  return sgd.constants().step_size / static_cast<double>(batch) * sum;
}

double placed_shift(const NoisySgd& sgd, std::span<const ChangedBatch> changes) {
  double sum = 0;
  for (const ChangedBatch& change : changes) {
    require_not_negative(change.weight, "a batch's weight");
    if (change.batch >= sgd.batches())
      throw UsageError("batch " + std::to_string(change.batch) + " is not below " + std::to_string(sgd.batches()));
    sum += change.weight * sgd.power(static_cast<double>(sgd.batches() - 1 - change.batch));
  }
  return sgd.constants().step_size / static_cast<double>(sgd.constants().batch_rows) * sum;
}

double burn_in_distance(const NoisySgd& sgd, double shift, std::uint64_t epochs) {
  require_not_negative(shift, "a shift");
  require_count(epochs, "the number of epochs");
  const double epochs_worth = sgd.power_sum(sgd.iterations(epochs)) / sgd.power_sum(sgd.iterations(1));
  return std::min(shift * epochs_worth, sgd.diameter());
}

double stationary_distance(const NoisySgd& sgd, double shift) {
  require_not_negative(shift, "a shift");
  if (shift == 0) return 0;
  return std::min(shift / sgd.one_minus_power(sgd.iterations(1)), sgd.diameter());
}

double following_distance(const NoisySgd& sgd, double before, std::uint64_t epochs, double own) {
  require_not_negative(before, "the distance before");
  require_not_negative(own, "the distance of a request");
  require_count(epochs, "the number of epochs");
  return std::min(sgd.power(sgd.iterations(epochs)) * before + own, sgd.diameter());
}

double resolvable_sigma(double step_size, double largest_parameter) {
  require_positive(step_size, "the step size");
  require_positive(largest_parameter, "the largest parameter");
  const double least_noise = std::ldexp(1, 20 - 52 + std::ilogb(largest_parameter));
  return representable_sigma(least_noise / std::sqrt(2 * step_size));
}

void require_resolvable(double sigma, double step_size, double largest_parameter) {
  require_positive(sigma, "sigma");
  const double least = resolvable_sigma(step_size, largest_parameter);
  if (!(sigma >= least))
    throw UsageError("sigma is " + shown(sigma) + ", too small for float64 beside parameters of size " +
                     shown(largest_parameter) + "; use at least " + shown(least));
}

}  // namespace unweave
