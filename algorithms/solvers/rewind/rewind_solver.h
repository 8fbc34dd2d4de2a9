// algorithms/solvers/rewind/rewind_solver.h - Rewind-to-Delete and Descent-to-Delete by SGD over slots (THEOREMS.md, T4).
//
// S. Mu and D. Klabjan, "Descend or Rewind? Stochastic Gradient Descent Unlearning" (2025). Every request is accounted
// against the original run, from whose iterates it starts: weights of rows that left or moved add up until they ask for
// more epochs than an iterate is kept for; then the model is trained again in its slots. In reports `budget` is the
// distance between a release and retraining that the noise covers, `residual_bound` the bound that was reached (0 after
// training), and `passes` counts epochs.
#pragma once

#include "algorithms/solvers/solver.h"

namespace unweave {

/// Goes on from an iterate of the original run some epochs before its end.
[[nodiscard]] std::unique_ptr<Solver> make_rewind_solver(const SolverOptions& options);
/// Goes on from its last iterate.
[[nodiscard]] std::unique_ptr<Solver> make_descend_solver(const SolverOptions& options);

}  // namespace unweave
