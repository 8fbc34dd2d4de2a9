// algorithms/solvers/exact/exact_solver.h - certified by T0 (THEOREMS.md): the exact minimiser,
// rounded to a public grid.
#pragma once

#include "algorithms/unlearning/solver_entry.h"

namespace unweave {

/// `exact`: what is published after a removal is, bit for bit, what training from nothing
/// publishes.
extern const SolverEntry kExactSolver;

}  // namespace unweave
