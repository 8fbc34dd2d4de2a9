// algorithms/solvers/exact/exact_slopes.h - slopes and curvatures of rows from margins in pairs,
// with proved error bounds.
//
// A pair is a number of about 106 bits: the exact sum high + low of two float64 (pairs-inl.h). u =
// 2^-53.
#pragma once

#include <cstddef>

#include "algorithms/learning/head.h"
#include "algorithms/numerics/rows.h"

namespace unweave {

/// Arrays of pairs, and of curvatures, have room for this many more entries, of any value: kernels
/// work on whole vectors.
inline constexpr std::size_t kPairSlack = 16;

/// Whether the slopes of a head are known in pairs. Another head needs a kernel in
/// exact_slopes.cpp, and a bound.
[[nodiscard]] bool has_exact_slopes(Head head) noexcept;

/// Margins, rows x classes, of consecutive rows.
struct PairBlock {
  Head head = Head::kLogistic;
  const ClassId* labels = nullptr;
  std::size_t count = 0;
  std::size_t classes = 0;
  double* high = nullptr;
  double* low = nullptr;
};

/// Numbers that slopes_in_pairs() works on beside the margins.
[[nodiscard]] constexpr std::size_t slope_scratch(std::size_t count, std::size_t classes) noexcept {
  return 2 * (count * classes + kPairSlack);
}

/// Margins become slopes dl/dm. `errors` gets a bound of what is wrong with them, given exact
/// margins: of one-vs-rest heads for each entry (rows x classes), of softmax for each row in 2-norm
/// (rows).
///   logistic       2^-91 |r| + 2^-126
///   least squares  3.1 u^2 (|m| + 1)
///   softmax        2 (2^-92 + 6.2 u^2 max_c |m_c|) + (3.1 C + 27) u^2 + C 2^-126
void slopes_in_pairs(const PairBlock& block, double* scratch, double* errors);

/// Float64 margins, rows x classes, become curvatures, those of softmax probabilities: relative
/// error of at most 16 u, of softmax (C + 16) u and what differences of margins round, 2 u max_c
/// |m_c|; and 2^-126. The exp is that of pairs-inl.h. `margins` has room for kPairSlack more.
void curvatures_by_own_exp(Head head, double* margins, std::size_t rows, std::size_t classes);

}  // namespace unweave
