// algorithms/solvers/exact/exact_minimiser.h - the minimiser of a strongly convex objective,
// correctly rounded (THEOREMS.md, T0).
#pragma once

#include "algorithms/learning/kept_preconditioner.h"
#include "algorithms/learning/objective.h"

namespace unweave {

struct ExactOptions {
  int grid_bits = 24;                  ///< weights are multiples of 2^-grid_bits
  std::size_t memory = 0;              ///< bytes for working_memory.h, which the caller has set aside
  KeptPreconditioner* kept = nullptr;  ///< the session's, where there is one
};

/// `weights` is a function of the objective alone. All else depends on the start, and tells of it.
struct ExactMinimiser {
  Matrix weights;           ///< every one the multiple of the grid that is nearest to the exact minimiser
  double radius = 0;        ///< the largest of the systems' proved distances, where the last one was decided
  double start_norm = 0;    ///< norm of the gradient from which refinement began, its error added
  int newton_steps = 0;     ///< by which it was come to
  int passes = 0;           ///< readings of all rows
  int exact_gradients = 0;  ///< those by exact products
  int gradients = 0;        ///< those in float64
  int rough_gradients = 0;  ///< and in float32
  double products = 0;      ///< Hessian products, of which one of some classes counts by their share
  int corrections = 0;      ///< linear systems solved after these
  std::size_t doubts = 0;   ///< coordinates that a rounding left undecided, over all roundings
};

/// From any start of the objective's shape. The objective has no linear term, its head exact slopes
/// (exact_slopes.h). Where mu is below 1e-10, or rows are longer than sqrt(2) and mu is below 5e-11
/// times the square of the longest, the start is not used: who has a model there follows from the
/// rows alone. Throws UsageError for a start that is not finite, where a weight is still undecided
/// in the end, since it lies within about 1e-20 of a boundary of the grid, and where the way to the
/// minimiser ends too early to say so, for want of precision: the message tells how far it came.
[[nodiscard]] ExactMinimiser minimise_exactly(const Objective& objective, Matrix start, const ExactOptions& options);

}  // namespace unweave
