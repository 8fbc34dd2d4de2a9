// algorithms/privacy/discrete_gaussian.h - exact samples of the discrete Gaussian in integer
// arithmetic.
//
// P[X = x] proportional to exp(-x^2 / (2 s)) over the integers, s = sigma^2 an integer. No floating
// point touches the law: every coin is a comparison of integers. Canonne, Kamath, Steinke: The
// Discrete Gaussian for Differential Privacy, NeurIPS 2020, Algorithm 3; the coins and the Laplace
// law that it asks for by von Neumann's comparisons of uniform numbers (Various techniques used in
// connection with random digits, 1951). Running time leaks the sample's order of magnitude.
#pragma once

#include <cstdint>

#include "algorithms/random/random_source.h"

namespace unweave {

inline constexpr std::uint64_t kMostDiscreteVariance = std::uint64_t{1} << 50;  ///< keeps every product in 128 bits

/// True with probability exp(-numerator / denominator), exactly. denominator >= 1, below 2^120.
[[nodiscard]] bool bernoulli_exp(RandomSource& random, Wide numerator, Wide denominator);

/// P[X = x] proportional to exp(-|x| / scale), exactly. scale in [1, 2^26].
[[nodiscard]] std::int64_t discrete_laplace(RandomSource& random, std::uint64_t scale);

/// One sample of variance parameter `variance` in [1, 2^50]; UsageError outside.
[[nodiscard]] std::int64_t discrete_gaussian(RandomSource& random, std::uint64_t variance);

}  // namespace unweave
