// algorithms/privacy/accounting/langevin.cpp - the bounds as one number mu, and their inverses.
#include "algorithms/privacy/accounting/langevin.h"

#include <algorithm>
#include <cmath>

#include "algorithms/privacy/accounting/renyi.h"
#include "algorithms/privacy/accounting/require.h"
#include "algorithms/privacy/accounting/search.h"
#include "algorithms/privacy/gaussian_mechanism.h"

namespace unweave {
namespace {

/// Pays for the roundings of mu: a product of powers of the contraction, each exp(k ln c) off by
/// 745 times the six roundings of its exponent at most, as smaller powers are 0.
constexpr double kMuRoundedUp = 1 + 0x1p-39;

}  // namespace

LangevinAccountant::LangevinAccountant(const NoisySgd& sgd, const LangevinBound& bound, double delta)
    : sgd_(sgd), bound_(bound), delta_(delta) {
  require_delta(delta);
  if (exact() && weak_triangle()) throw UsageError("the weak triangle inequality bounds Renyi divergences alone");
  if (bound.burn_in == BurnIn::kNone) return;
  require_count(bound.learning_epochs, "the number of learning epochs");
  if (!std::isfinite(sgd.diameter())) throw UsageError("a bound with learning epochs needs a finite radius R");
}

// kAligned along a sequence, D_s the data and K_s the epochs of request s: the retraining on D_s is
// coupled with the last T epochs of the run, which start within 2R of its start. T - K_s epochs
// later, where request s begins, the two are within
//   2R c^{(T - K_s)N} + sum over q <= s of own_q c^{(K_q + ... + K_{s-1})N},
// as the rows of request q differ until it begins and are equal from then on. The sum is
// following_distance's, and a cap of it at 2R holds where it is taken. After that both run on D_s,
// which is Lemma 3.4.
double LangevinAccountant::mu(double distance, std::uint64_t epochs) const {
  require_not_negative(distance, "the distance");
  require_count(epochs, "the number of epochs");
  const double diameter = sgd_.diameter();
  const std::uint64_t learnt = bound_.learning_epochs;
  const auto from_start = [&](std::uint64_t run) {
    return std::min(diameter, diameter * sgd_.power(sgd_.iterations(run)) + distance);
  };
  double effect = 0;
  switch (bound_.burn_in) {
    case BurnIn::kNone:
      effect = std::min(diameter, distance) * sgd_.root_decay(bound_.decay, epochs);
      break;
    case BurnIn::kWeakTriangle:
      effect = std::hypot(diameter * sgd_.root_decay(bound_.decay, learnt),
                          from_start(learnt) * sgd_.root_decay(bound_.decay, epochs));
      break;
    case BurnIn::kAligned: {
      const std::uint64_t shared = std::min(epochs, learnt);
      effect = from_start(learnt - shared) * sgd_.root_decay(bound_.decay, shared);
      break;
    }
  }
  const double step = sgd_.constants().step_size;
  return effect / std::sqrt(bound_.variance == NoiseVariance::kActual ? 2 * step : step) * kMuRoundedUp;
}

double LangevinAccountant::renyi(double alpha, double distance, std::uint64_t epochs, double sigma) const {
  require_positive(sigma, "sigma");
  if (!(alpha > 1) || !std::isfinite(alpha)) throw UsageError("a Renyi order must be finite and above 1");
  const double m = mu(distance, epochs) / sigma;
  const double gaussian = alpha * m * m / 2;
  return weak_triangle() ? (alpha - 0.5) / (alpha - 1) * 2 * gaussian : gaussian;
}

double LangevinAccountant::epsilon(double distance, std::uint64_t epochs, double sigma) const {
  require_positive(sigma, "sigma");
  const double m = mu(distance, epochs) / sigma;
  if (exact() && std::isfinite(m)) return epsilon_of(m, 1, delta_);
  return weak_triangle() ? weak_triangle_epsilon(m, delta_) : gaussian_epsilon(m, delta_);
}

double LangevinAccountant::smallest_sigma(double distance, std::uint64_t epochs, double epsilon) const {
  require_positive(epsilon, "epsilon");
  const double target = weak_triangle() ? weak_triangle_mu(epsilon, delta_)
                        : exact()       ? 1 / sigma_of(1, epsilon, delta_)
                                        : gaussian_mu(epsilon, delta_);
  double sigma = representable_sigma(mu(distance, epochs) / target);
  for (double raise = 0x1p-52; this->epsilon(distance, epochs, sigma) > epsilon; raise *= 2) sigma *= 1 + raise;
  return sigma;
}

std::uint64_t LangevinAccountant::fewest_epochs(double distance, double sigma, double epsilon) const {
  require_positive(epsilon, "epsilon");
  const bool aligned = bound_.burn_in == BurnIn::kAligned;
  const std::uint64_t most = aligned ? std::min(bound_.learning_epochs, kMostCount) : kMostCount;
  const auto epochs =
      fewest(most, [&](std::uint64_t count) { return this->epsilon(distance, count, sigma) <= epsilon; });
  if (!epochs)
    throw UsageError("no number of epochs reaches epsilon " + shown(epsilon) + " with sigma " + shown(sigma) +
                     "; the least is " + shown(this->epsilon(distance, most, sigma)) +
                     ": raise sigma or the learning epochs");
  return *epochs;
}

}  // namespace unweave
