// algorithms/solvers/replay/replay_solver.h - certified by T0' (THEOREMS.md): a network that is
// trained again, to the same bits whatever was before.
#pragma once

#include "algorithms/unlearning/solver_entry.h"

namespace unweave {

/// `replay`: every release is one training from a public start, by products of whole numbers.
extern const SolverEntry kReplay;

}  // namespace unweave
