// algorithms/solvers/exact/pair.h - a number of about 106 bits as the unevaluated sum of two
// float64. pairs-inl.h has the same for whole vectors, and proves the bounds.
#pragma once

#include <cmath>

namespace unweave {

/// A factor that pays for rounding in error bounds themselves, which are sums of nonnegative
/// numbers.
inline constexpr double kBoundSlack = 1.01;

struct Pair {
  double high = 0, low = 0;
};

/// high + low = a + b exactly.
[[nodiscard]] inline Pair two_sum(double a, double b) noexcept {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// high + low = a b exactly, while neither underflows.
[[nodiscard]] inline Pair two_product(double a, double b) noexcept {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

/// Errs by 3.1 u^2 (|x| + |y|) at most.
[[nodiscard]] inline Pair add(Pair x, Pair y) noexcept {
  const Pair sum = two_sum(x.high, y.high);
  return two_sum(sum.high, sum.low + (x.low + y.low));
}

/// Adds x to the sum (high, low). Where all terms are multiples of a unit and no partial sum
/// exceeds 2^105 units, the sum stays exact: both low words are multiples of the unit of at most
/// 2^52 units. Otherwise a step errs by 2.2 u^2 times the largest partial sum.
inline void accumulate(double& high, double& low, double x) noexcept {
  const Pair sum = two_sum(high, x);
  const Pair next = two_sum(sum.high, low + sum.low);
  high = next.high;
  low = next.low;
}

}  // namespace unweave
