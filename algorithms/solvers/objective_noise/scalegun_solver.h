// algorithms/solvers/objective_noise/scalegun_solver.h - one Newton step a batch under noise in the objective, as published.
//
// ScaleGUN (Yi and Wei, ICLR 2025, Algorithm 1), CGU (Chien, Pan, Milenkovic, ICLR 2023), CEU (Wu et al., KDD 2023).
// L_b(W) = F(W) + <B, W>, B ~ N(0, alpha^2); a batch adds H^-1 (grad F before - grad F after) and charges the residual
// bound; past the budget the model is trained again with a fresh B. Never certified: soundness of the trigger and of the
// per-class sums is not proved (THEOREMS.md, "Not proved here").
//
// The three differ in policy alone:
//   scalegun  lazy embedding, first term charged, H on the data after the batch
//   cgu       exact embedding, H on the data after the batch
//   ceu       exact embedding, edge requests alone (others retrain), H on the data before the batch; the corrected
//             bound charges the difference of the two Hessians with the solver error
//
// These are linear models; networks, of which nothing is claimed, scalegun alone has (sgd_solvers.h).
#pragma once

#include "algorithms/solvers/solver.h"

namespace unweave {

[[nodiscard]] std::unique_ptr<Solver> make_scalegun_solver(const SolverOptions& options);
[[nodiscard]] std::unique_ptr<Solver> make_cgu_solver(const SolverOptions& options);
[[nodiscard]] std::unique_ptr<Solver> make_ceu_solver(const SolverOptions& options);

}  // namespace unweave
