// algorithms/discrete_gaussian.cpp - rational coins, discrete Laplace, discrete Gaussian by rejection.
#include "algorithms/discrete_gaussian.h"

#include <cmath>

#include "storage/error.h"

namespace unweave {
namespace {

/// exp(-numerator/denominator) for numerator <= denominator: the parity of the first failure in a row of coins with
/// probabilities gamma/1, gamma/2, gamma/3, ...
bool bernoulli_exp_below_one(RandomSource& random, Wide numerator, Wide denominator) {
  for (unsigned k = 1;; ++k) {
    if (random.below(denominator * k) >= numerator) return k % 2 == 1;
    if (k == 255) throw ResourceError("a coin of probability below 1/255! came up; the randomness is broken");
  }
}

std::uint64_t floor_root(std::uint64_t x) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(x)));
  while (root * root > x) --root;
  while ((root + 1) * (root + 1) <= x) ++root;
  return root;
}

}  // namespace

bool bernoulli_exp(RandomSource& random, Wide numerator, Wide denominator) {
  while (numerator > denominator) {
    if (!bernoulli_exp_below_one(random, 1, 1)) return false;
    numerator -= denominator;
  }
  return bernoulli_exp_below_one(random, numerator, denominator);
}

std::int64_t discrete_laplace(RandomSource& random, std::uint64_t scale) {
  constexpr std::uint64_t kMostTurns = 4096;  // exceeded with probability e^-4096: bounds the products of the caller
  for (;;) {
    const auto rest = static_cast<std::uint64_t>(random.below(scale));
    if (!bernoulli_exp(random, rest, scale)) continue;
    std::uint64_t turns = 0;
    while (bernoulli_exp(random, 1, 1))
      if (++turns == kMostTurns) throw ResourceError("a coin of probability e^-4096 came up; the randomness is broken");
    const auto magnitude = static_cast<std::int64_t>(rest + scale * turns);
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
    // Accept with exp(-(|y| - variance/scale)^2 / (2 variance)), numerator and denominator times scale^2.
    const std::int64_t sample = discrete_laplace(random, scale);
    const Wide magnitude = static_cast<Wide>(sample < 0 ? -sample : sample) * scale;  // < 2^64
    const Wide distance = magnitude > variance ? magnitude - variance : variance - magnitude;
    if (bernoulli_exp(random, distance * distance, denominator)) return sample;
  }
}

}  // namespace unweave
