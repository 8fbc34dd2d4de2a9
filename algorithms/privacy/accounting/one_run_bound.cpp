// algorithms/privacy/accounting/one_run_bound.cpp - the binomial tail of fair coins, in logarithms,
// and the two bounds.
#include "algorithms/privacy/accounting/one_run_bound.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "algorithms/privacy/gaussian_mechanism.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

void require_levels(double delta, double confidence) {
  if (!(delta >= 0) || !(delta < 1)) throw UsageError("delta must lie in [0, 1)");
  if (!(confidence > 0) || !(confidence < 1)) throw UsageError("a confidence must lie strictly between 0 and 1");
}

}  // namespace

double log_chance(CoinGuesses guesses) {
  if (guesses.right > guesses.made) throw UsageError("no more guesses can be right than were made");
  const auto n = static_cast<double>(guesses.made), first = static_cast<double>(guesses.right);
  // The terms in units of the first one; beyond the middle each is smaller than the one before.
  double sum = 0, term = 1;
  for (double k = first; k <= n; ++k) {
    sum += term;
    term *= (n - k) / (k + 1);
    if (term < 1e-18 * sum && 2 * k > n) break;
    if (!std::isfinite(term)) return 0;  // far below the middle, where the chance is 1 to all digits
  }
  const double log_first = std::lgamma(n + 1) - std::lgamma(first + 1) - std::lgamma(n - first + 1) - n * std::log(2.0);
  return std::min(0.0, log_first + std::log(sum));
}

double one_run_lower_bound(CoinGuesses guesses, double delta, double confidence) {
  require_levels(delta, confidence);
  const double chance = log_chance(guesses), miss = 1 - confidence - delta;
  return miss > 0 ? std::max(0.0, std::log(miss) - chance) : 0;
}

double gaussian_one_run_lower_bound(CoinGuesses guesses, double delta, double confidence) {
  require_levels(delta, confidence);
  constexpr double kLeastChance = 1e-300;  // a larger chance tells less
  const double chance = std::max(kLeastChance, std::exp(log_chance(guesses))), miss = 1 - confidence;
  if (!(chance < miss)) return 0;
  const boost::math::normal_distribution<double> normal;
  return epsilon_of(boost::math::quantile(normal, miss) - boost::math::quantile(normal, chance), 1, delta);
}

}  // namespace unweave
