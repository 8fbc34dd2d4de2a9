// algorithms/solvers/newton/newton_solver.h - certified by T1 (THEOREMS.md): finish the minimisation, publish with output noise.
#pragma once

#include "algorithms/solvers/solver.h"

namespace unweave {

/// `newton`: each batch continues from the last published weights.
[[nodiscard]] std::unique_ptr<Solver> make_newton_solver(const SolverOptions& options);

/// `retrain`: each batch starts from zero weights; the same release.
[[nodiscard]] std::unique_ptr<Solver> make_retrain_solver(const SolverOptions& options);

}  // namespace unweave
