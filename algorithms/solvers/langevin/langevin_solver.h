// algorithms/solvers/langevin/langevin_solver.h - learning and unlearning by projected noisy SGD (THEOREMS.md, T2).
//
// Chien, Wang, Chen, Li, "Certified Machine Unlearning via Noisy Stochastic Gradient Descent", NeurIPS 2024. Learning
// runs T epochs from W = 0; a batch of requests then costs the fewest epochs K on the new rows that bring the release to
// the options' (epsilon, delta), or T from W = 0 again where no K below T does. `langevin` cycles through small batches,
// `langevin-full` takes all rows at every step. In reports `budget` is the epsilon wanted, `residual_bound` the epsilon
// reached (0 after training), and `passes` counts epochs.
//
// Slots are fixed at training: a row that leaves empties its slot, and n, b and the batches stay. Training again because
// of a batch keeps slots and constants; only a new fit() draws others.
#pragma once

#include "algorithms/solvers/solver.h"

namespace unweave {

[[nodiscard]] std::unique_ptr<Solver> make_langevin_solver(const SolverOptions& options);
[[nodiscard]] std::unique_ptr<Solver> make_langevin_full_solver(const SolverOptions& options);

}  // namespace unweave
