// algorithms/privacy/discrete_gaussian.cpp - rational coins, discrete Laplace, discrete Gaussian by
// rejection.
#include "algorithms/privacy/discrete_gaussian.h"

#include <cmath>

#include "algorithms/random/lazy_uniform.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

using Uniform = LazyUniform<RandomSource>;

/// True with probability exp(-x), of a uniform x (von Neumann): draws numbers while each is below
/// the one before, x the first. k of them are so with probability x^k / k!; true when the first
/// that is not is an odd one.
bool exp_coin(RandomSource& random, Uniform& x) {
  Uniform odd(random);
  if (!odd.below(x)) return true;
  for (;;) {
    Uniform even(random);
    if (!even.below(odd)) return false;
    odd = Uniform(random);
    if (!odd.below(even)) return true;
  }
}

/// True with probability exp(-1): the first number is below 1.
bool exp_one_coin(RandomSource& random) {
  Uniform first(random);
  return !exp_coin(random, first);
}

std::uint64_t floor_root(std::uint64_t x) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(x)));
  while (root * root > x) --root;
  while ((root + 1) * (root + 1) <= x) ++root;
  return root;
}

}  // namespace

bool bernoulli_exp(RandomSource& random, Wide numerator, Wide denominator) {
  for (; numerator > denominator; numerator -= denominator)
    if (!exp_one_coin(random)) return false;
  Uniform first(random);
  return !first.below(numerator, denominator) || !exp_coin(random, first);
}

std::int64_t discrete_laplace(RandomSource& random, std::uint64_t scale) {
  constexpr std::uint64_t kMostTurns = 4096;  // exceeded with probability e^-4096: bounds the products of the caller
  for (;;) {
    // An exponential variable is the number of rejected x and the x accepted after them;
    // floor(scale of it) is geometric.
    std::uint64_t turns = 0;
    Uniform x(random);
    for (; !exp_coin(random, x); x = Uniform(random))
      if (++turns == kMostTurns) throw ResourceError("a coin of probability e^-4096 came up; the randomness is broken");
    const auto magnitude = static_cast<std::int64_t>(scale * turns + x.times(scale));
    const bool negative = random.coin();
    if (negative && magnitude == 0) continue;
    return negative ? -magnitude : magnitude;
  }
}

std::int64_t discrete_gaussian(RandomSource& random, std::uint64_t variance) {
  if (variance < 1 || variance > kMostDiscreteVariance)
    throw UsageError("the variance of discrete Gaussian noise must lie between 1 and 2^50 grid steps squared");
  const std::uint64_t scale = floor_root(variance) + 1;
  const Wide denominator = static_cast<Wide>(2) * variance * scale * scale;  // < 2^102
  for (;;) {
    // Accept with exp(-(|y| - variance/scale)^2 / (2 variance)), numerator and denominator times
    // scale^2.
    const std::int64_t sample = discrete_laplace(random, scale);
    const Wide magnitude = static_cast<Wide>(sample < 0 ? -sample : sample) * scale;  // < 2^64
    const Wide distance = magnitude > variance ? magnitude - variance : variance - magnitude;
    if (bernoulli_exp(random, distance * distance, denominator)) return sample;
  }
}

}  // namespace unweave
