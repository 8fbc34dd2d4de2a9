// algorithms/newton_step_solver.h - one Newton step a batch from weights that were minimised once: the yardsticks of
// hessian-free.
//
// `newton-step` uses the Hessian on the rows that are left (Sekhari, Acharya, Kamath, Suresh, "Remember What You Want to
// Forget", NeurIPS 2021), `jackknife` that on all rows before the batch (Suriyakumar, Wilson, "Algorithms that
// Approximate Data Removal", NeurIPS 2022). Both add damping and account for moved rows. The weights without noise are
// kept, and each release adds fresh noise to them. A release whose gradient norm is at most tau is that of `newton`
// (THEOREMS.md, T1); no other is certified.
#pragma once

#include "algorithms/solver.h"

namespace unweave {

inline constexpr Parameter kNewtonStepParameters[] = {
    {"damping", 0, "added to the mean of the rows' Hessians (the paper: 0.01)"}};

[[nodiscard]] std::unique_ptr<Solver> make_newton_step_solver(const SolverOptions& options);
[[nodiscard]] std::unique_ptr<Solver> make_jackknife_solver(const SolverOptions& options);

}  // namespace unweave
