// algorithms/learning/removal_step.h - one Newton step for the rows that a batch took away or
// moved.
//
//   H s = sum over removed rows of grad l + sum over moved rows of (grad l(before) - grad l(after))
//   + (mu - mu') w
//
// With F and F' the objectives (objective.h) before and after the batch the right side is grad F(w)
// - grad F'(w): the step leads to the minimiser of F' from where grad F = 0. H is the Hessian of
// F', or of F, plus `damping`.
#pragma once

#include "algorithms/learning/objective.h"

namespace unweave {

struct RemovalProblem {
  const Objective& after;  ///< F'
  const Matrix& weights;   ///< w
  double mu_before = 0;
  const BatchChange& change;
  bool hessian_before = false;  ///< whether H is the Hessian of F
  double damping = 0;
};

struct RemovalStep {
  Matrix right;              ///< right side
  Matrix step;               ///< s
  Matrix missing;            ///< right side minus H s, in float64
  CurvatureAction undamped;  ///< what the Hessian of F' makes of s
  int passes = 0;
};

/// Solves for s by conjugate gradients over float32 products, refined by float64 ones until each
/// class has |missing| of at most `relative` times the right side, or `enough`; four rounds at
/// most. `memory` as for NewtonOptions.
[[nodiscard]] RemovalStep solve_removal(const RemovalProblem& problem, double relative, double enough,
                                        std::size_t memory);

}  // namespace unweave
