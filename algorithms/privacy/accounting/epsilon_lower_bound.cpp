// algorithms/privacy/accounting/epsilon_lower_bound.cpp - exact binomial limits from Boost.Math.
#include "algorithms/privacy/accounting/epsilon_lower_bound.h"

#include <boost/math/distributions/binomial.hpp>

#include "algorithms/privacy/accounting/require.h"

namespace unweave {
namespace {

using Binomial = boost::math::binomial_distribution<double>;

void require_counts(EventCount count) {
  if (count.hits > count.trials) throw UsageError("an event cannot come up more often than it was tried");
}

}  // namespace

double epsilon_lower_bound(EventCount of_p, EventCount of_q, double delta, double confidence) {
  require_delta(delta);
  if (!(confidence > 0) || !(confidence < 1)) throw UsageError("a confidence must lie strictly between 0 and 1");
  require_counts(of_p);
  require_counts(of_q);
  if (of_p.hits == 0 || of_q.trials == 0) return 0;
  const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
  const double miss = (1 - confidence) / 2;
  const double p = Binomial::find_lower_bound_on_p(number(of_p.trials), number(of_p.hits), miss);
  const double q =
      of_q.hits == of_q.trials ? 1 : Binomial::find_upper_bound_on_p(number(of_q.trials), number(of_q.hits), miss);
  return p > delta ? std::max(0.0, std::log((p - delta) / q)) : 0;
}

}  // namespace unweave
