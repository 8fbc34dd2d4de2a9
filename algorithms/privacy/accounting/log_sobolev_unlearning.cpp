// algorithms/privacy/accounting/log_sobolev_unlearning.cpp - minima over the order alpha = 1 + excess.
#include "algorithms/privacy/accounting/log_sobolev_unlearning.h"

#include <cmath>

#include "algorithms/privacy/accounting/require.h"
#include "algorithms/privacy/accounting/search.h"

namespace unweave {
namespace {

/// eps_0(alpha) = alpha start_at_one(...) / sigma^2.
double start_at_one(const NoisySgd& sgd, std::uint64_t rows) {
  const NoisySgdConstants& c = sgd.constants();
  if (c.batch_rows != c.rows) throw UsageError("the log-Sobolev analysis is of full batches");
  require_positive(c.strong_convexity, "the strong convexity m");
  if (rows < 1 || rows > c.rows) throw UsageError("the number of replaced rows must lie in [1, n]");
  const double root = 2 * (static_cast<double>(rows) / static_cast<double>(c.rows)) * c.gradient_bound;
  return root * root / c.strong_convexity;
}

double rate(const NoisySgd& sgd) {
  return sgd.constants().step_size * sgd.constants().strong_convexity;
}

/// eps_s(1 + excess) for s = epochs.size(), from the innermost request, whose order is the largest, outwards.
double sequence_curve(double excess, double start, double rate_of_epoch, const std::vector<std::uint64_t>& epochs) {
  double alpha = std::ldexp(1 + excess, static_cast<int>(epochs.size()) - 1);
  double value = start * alpha;
  for (std::size_t s = 0; s < epochs.size(); ++s) {
    if (s > 0) {
      value += start * alpha;  // both at 2 alpha
      alpha /= 2;
      const double above_one = s + 1 == epochs.size() ? excess : alpha - 1;
      value *= (alpha - 0.5) / above_one;
    }
    value *= std::exp(-rate_of_epoch * static_cast<double>(epochs[s]) / alpha);
  }
  return value;
}

double best_epsilon(double start, double rate_of_epoch, const std::vector<std::uint64_t>& epochs, double delta) {
  if (!std::isfinite(start)) return start;
  const double log_inverse = -std::log(delta);
  const auto at = [&](double log_excess) {
    const double excess = std::exp(log_excess);
    return sequence_curve(excess, start, rate_of_epoch, epochs) + log_inverse / excess;
  };
  return minimise(at, 0);
}

}  // namespace

double log_sobolev_epsilon(const NoisySgd& sgd, std::uint64_t rows, std::uint64_t epochs, double sigma, double delta) {
  require_positive(sigma, "sigma");
  require_count(epochs, "the number of epochs");
  require_delta(delta);
  return best_epsilon(start_at_one(sgd, rows) / sigma / sigma, rate(sgd), {epochs}, delta);
}

double log_sobolev_sigma(const NoisySgd& sgd, std::uint64_t rows, std::uint64_t epochs, double epsilon, double delta) {
  const double start = start_at_one(sgd, rows);
  require_count(epochs, "the number of epochs");
  require_positive(epsilon, "epsilon");
  require_delta(delta);
  // An order with ln(1/delta)/(alpha - 1) < epsilon allows sigma^2 = eps(alpha at sigma 1) / (epsilon - that); the part
  // of the excess above ln(1/delta)/epsilon is the variable.
  const double least_excess = -std::log(delta) / epsilon;
  const auto square_at = [&](double log_part) {
    const double part = std::exp(log_part), excess = least_excess + part;
    return sequence_curve(excess, start, rate(sgd), {epochs}) / epsilon * (excess / part);
  };
  double sigma = representable_sigma(std::sqrt(minimise(square_at, std::log(least_excess))));
  for (double raise = 0x1p-52; log_sobolev_epsilon(sgd, rows, epochs, sigma, delta) > epsilon; raise *= 2)
    sigma *= 1 + raise;
  return sigma;
}

std::vector<std::uint64_t> log_sobolev_epochs(const NoisySgd& sgd, std::uint64_t rows, std::uint64_t requests,
                                              double sigma, double epsilon, double delta) {
  require_positive(sigma, "sigma");
  require_positive(epsilon, "epsilon");
  require_delta(delta);
  const double start = start_at_one(sgd, rows) / sigma / sigma;
  std::vector<std::uint64_t> epochs;
  for (std::uint64_t s = 0; s < requests; ++s) {
    epochs.push_back(1);
    const auto least = fewest(kMostCount, [&](std::uint64_t count) {
      epochs.back() = count;
      return best_epsilon(start, rate(sgd), epochs, delta) <= epsilon;
    });
    if (!least) throw UsageError("request " + std::to_string(s + 1) + " needs more than 2^53 epochs");
    epochs.back() = *least;
  }
  return epochs;
}

}  // namespace unweave
