// algorithms/learning/rank_passes.h - what the ranks of a job say to each other in each kind of
// pass over training rows that they share.
//
// A training is made of passes: gradients, products with the Hessian, and refreshes of the
// preconditioner. What one pass sends follows from the shape of the problem, so that a plan can say
// it beforehand. How many passes there are depends on the values of the rows; nobody knows that
// before the training has run.
#pragma once

#include <cstddef>

#include "algorithms/learning/head_name.h"
#include "engine/ranks/ranks.h"

namespace unweave {

class PlannedRanks;
struct Rows;

/// What one pass of each kind takes.
struct RankPasses {
  /// A gradient in float32. It sends one number a class more than a gradient in float64 does: from
  /// the sums of curvatures its own rounding is estimated.
  RankCalls gradient;
  /// A product of the Hessian with vectors of all classes. Classes that have converged are left out
  /// of later products, which then send less.
  RankCalls product;
  /// A preconditioner that exists already follows other weights (Preconditioner::refresh). It is
  /// the one that make_preconditioner() chooses for these rows where memory is ample.
  RankCalls refresh;
};

/// For `ranks` ranks that share so many rows of so many features; the head decides what a gradient
/// sends.
[[nodiscard]] RankPasses plan_passes(std::size_t rows, std::size_t features, std::size_t classes, Head head,
                                     std::size_t ranks);

/// Counts in `job` what a refresh of the preconditioner sends that make_preconditioner() chooses
/// for these rows where memory is ample. Neither the values of the rows nor those of the weights
/// matter.
void count_refresh(const Rows& rows, std::size_t classes, PlannedRanks& job);
/// Counts what a refresh of make_sampled_preconditioner() with so many directions sends: each rank
/// tells the others the curvatures of those rows of the sample that it holds, then the factors of
/// the classes that it has inverted.
void count_sampled_refresh(const Rows& rows, std::size_t classes, std::size_t directions, PlannedRanks& job);

}  // namespace unweave
