// algorithms/solvers/newton/newton_solver.h - certified by T1 (THEOREMS.md): finish the
// minimisation, publish with output noise.
#pragma once

#include "algorithms/unlearning/solver_entry.h"

namespace unweave {

/// `newton`: each batch continues from the last published weights.
extern const SolverEntry kNewton;

/// `retrain`: each batch starts from zero weights; the release is the same. A network is learnt
/// again by SGD, without noise and without a claim.
extern const SolverEntry kRetrain;

}  // namespace unweave
