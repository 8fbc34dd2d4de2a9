// algorithms/privacy/accounting/chernoff.cpp - Chernoff's bound of a geometrically weighted sum.
#include "algorithms/privacy/accounting/chernoff.h"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>

#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kChord = 0.01;     // width of a chord in ln w
constexpr double kNegligible = 30;  // terms further down in ln w are e^-30 of the sum: ln(1 + p (e^y - 1)) >= p y
constexpr double kTailRounding = 1 + 1e-11;

/// ln(1 + p (e^x - 1)).
double log_moment(double p, double x) {
  return x < 500 ? std::log1p(p * std::expm1(x)) : x + std::log(p + (1 - p) * std::exp(-x));
}

/// sum of w_k for k < terms, with the first weight 1.
double weight_sum(double terms, double decay) {
  return decay * terms < 1e-18 ? terms : std::min(terms, std::expm1(-decay * terms) / std::expm1(-decay));
}

/// kTailRounding times it is >= sum over k of ln(1 + p (e^(x w_k) - 1)).
double sum_log_moment(const WeightedSum& sum, double x) {
  if (sum.decay == 0) return static_cast<double>(sum.terms) * log_moment(sum.mean, x);
  const double width = std::max(1.0, std::floor(kChord / sum.decay));
  const double terms = static_cast<double>(sum.terms);
  double total = 0, done = 0, left_end = log_moment(sum.mean, x);
  while (done < terms && sum.decay * done < kNegligible) {
    const double count = std::min(width, terms - done);
    const double right_end = log_moment(sum.mean, x * std::exp(-sum.decay * (done + count)));
    total += count * left_end - (left_end - right_end) * (count - 1) / 2;
    left_end = right_end;
    done += count;
  }
  return total;
}

}  // namespace

double tail_bound(const WeightedSum& sum, double failure) {
  if (!(sum.decay >= 0) || !std::isfinite(sum.decay)) throw UsageError("a decay must be finite and at least 0");
  if (!(sum.mean >= 0) || !(sum.mean <= 1)) throw UsageError("a mean of values in [0, 1] must lie there too");
  if (sum.draws == 0) throw UsageError("a batch must hold at least one row");
  if (!(failure > 0) || !(failure < 1)) throw UsageError("a probability of failure must lie strictly between 0 and 1");
  if (sum.terms == 0 || sum.mean == 0) return 0;
  const double draws = static_cast<double>(sum.draws), cost = -std::log(failure);
  const double largest = kTailRounding * draws * weight_sum(static_cast<double>(sum.terms), sum.decay);
  const auto bound = [&](double log_x) {
    const double x = std::exp(log_x);
    return kTailRounding * (draws * sum_log_moment(sum, x) + cost) / x;
  };
  // With x below 1e-12 only cost / x would fall, with x above 1e6 only what lies between the bound
  // and `largest`. Whatever point the search ends at, its value is a bound.
  constexpr int kBits = std::numeric_limits<double>::digits / 2;  // ln x needs no more: a minimum is flat
  const auto [log_x, least] = boost::math::tools::brent_find_minima(bound, std::log(1e-12), std::log(1e6), kBits);
  return std::min(largest, least);
}

}  // namespace unweave
