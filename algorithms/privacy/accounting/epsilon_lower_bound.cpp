// algorithms/privacy/accounting/epsilon_lower_bound.cpp - exact binomial limits from Boost.Math.
#include "algorithms/privacy/accounting/epsilon_lower_bound.h"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>

#include "algorithms/privacy/accounting/require.h"
#include "algorithms/privacy/gaussian_mechanism.h"

namespace unweave {
namespace {

using Binomial = boost::math::binomial_distribution<double>;

void require_counts(EventCount count) {
  if (count.hits > count.trials) throw UsageError("an event cannot come up more often than it was tried");
}

/// Limits of the two probabilities that hold together with the confidence; nothing where the counts
/// say nothing.
struct Limits {
  double p = 0;  ///< below P(E)
  double q = 1;  ///< above Q(E)
};
Limits limits_of(EventCount of_p, EventCount of_q, double delta, double confidence) {
  require_delta(delta);
  if (!(confidence > 0) || !(confidence < 1)) throw UsageError("a confidence must lie strictly between 0 and 1");
  require_counts(of_p);
  require_counts(of_q);
  const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
  const double miss = (1 - confidence) / 2;
  Limits limits;
  if (of_p.hits > 0) limits.p = Binomial::find_lower_bound_on_p(number(of_p.trials), number(of_p.hits), miss);
  if (of_q.hits < of_q.trials) limits.q = Binomial::find_upper_bound_on_p(number(of_q.trials), number(of_q.hits), miss);
  return limits;
}

}  // namespace

double epsilon_lower_bound(EventCount of_p, EventCount of_q, double delta, double confidence) {
  const Limits limits = limits_of(of_p, of_q, delta, confidence);
  return limits.p > delta ? std::max(0.0, std::log((limits.p - delta) / limits.q)) : 0;
}

double gaussian_epsilon_lower_bound(EventCount of_p, EventCount of_q, double delta, double confidence) {
  const Limits limits = limits_of(of_p, of_q, delta, confidence);
  if (!(limits.p > limits.q)) return 0;  // also 0 and 1
  const boost::math::normal_distribution<double> normal;
  const double mu = boost::math::quantile(normal, limits.p) - boost::math::quantile(normal, limits.q);
  return epsilon_of(mu, 1, delta);
}

}  // namespace unweave
