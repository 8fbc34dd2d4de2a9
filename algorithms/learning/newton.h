// algorithms/learning/newton.h - finishes the minimisation of an objective to a certified gradient
// norm.
#pragma once

#include <memory>

#include "algorithms/learning/kept_preconditioner.h"
#include "algorithms/learning/objective.h"
#include "algorithms/learning/preconditioner.h"

namespace unweave {

struct NewtonOptions {
  double tolerance = 1e-6;   ///< on |computed gradient|_F + float error
  int most_steps = 100;      ///< by float64 gradients, and as many before them by float32 gradients
  bool best_effort = false;  ///< when the tolerance cannot be reached, return the best iterate instead of throwing
  std::size_t memory = 0;    ///< bytes for working_memory.h, which the caller has set aside
  /// Where the float64 gradient after a step is expected within the tolerance, or within its own
  /// error, it is not taken.
  bool measured_by_caller = false;
  /// The caller proves what it publishes, whatever the way: inverse Hessians may be factorised
  /// where that is cheaper, which ranks that share the rows cannot.
  bool any_way = false;
  KeptPreconditioner* kept = nullptr;  ///< the session's: its preconditioner is taken, and not refreshed
};

struct NewtonResult {
  Matrix weights;
  Gradient gradient;        ///< at `weights`, unless the caller is to measure it: then before the last step
  double residual = 0;      ///< |computed gradient|_F + float error: bounds the exact gradient norm
  int steps = 0;            ///< Newton steps
  int passes = 0;           ///< gradients and Hessian products: readings of all rows
  int gradients = 0;        ///< those in float64
  int rough_gradients = 0;  ///< and in float32
  double products = 0;      ///< Hessian products, of which one of some classes counts by their share

  /// What was worth keeping from step to step, for systems near `weights`: null, or without values,
  /// where none was.
  std::unique_ptr<Preconditioner> preconditioner{};
  Curvatures curvatures{};
};

/// Inexact Newton from `start`, first by float32 gradients as far as these carry, then by float64
/// gradients with their error bound, on which alone the result rests. Per class a step by
/// preconditioned conjugate gradients, halved until the gradient norm of that class falls; where
/// the head couples the classes, one step for all. The Hessian is at least mu I, so the direction
/// descends on the gradient norm and the iteration converges from any start. Throws UsageError for
/// a start or tolerance that is not finite and positive, and, naming a tolerance that can be
/// reached, when float64 cannot reach this one.
[[nodiscard]] NewtonResult minimise(const Objective& objective, Matrix start, const NewtonOptions& options);

}  // namespace unweave
