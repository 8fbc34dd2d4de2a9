// algorithms/solvers/langevin/langevin_solver.h - learning and unlearning by projected noisy SGD
// (THEOREMS.md, T2).
//
// Chien, Wang, Chen, Li, "Certified Machine Unlearning via Noisy Stochastic Gradient Descent",
// NeurIPS 2024. Learning runs T epochs from W = 0; a batch of requests then costs the fewest epochs
// K on the new rows that bring the release to the options' (epsilon, delta), or T from W = 0 again
// where no K below T does. `langevin` cycles through small batches, `langevin-full` takes all rows
// at every step. In reports `budget` is the epsilon wanted, `residual_bound` the epsilon reached (0
// after training), and `passes` counts epochs.
//
// Slots are fixed at training: a row that leaves empties its slot, and n, b and the batches stay.
// Training again because of a batch keeps slots and constants; only a new fit() draws others.
#pragma once

#include "algorithms/unlearning/solver_entry.h"

namespace unweave {

extern const SolverEntry kLangevin;
extern const SolverEntry kLangevinFull;

/// Certificates of T2: constants, distance and epsilon are computed again (langevin_checks.cpp).
void check_noisy_steps(const CheckedModel& model, Statements& say);
/// Published weights against a run without noise on the present rows.
[[nodiscard]] bool check_noise_of_steps(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget,
                                        Statements& say);
/// Public numbers of a line that T2 certifies. Throws CheckError.
void check_noisy_line(const PublicLine& line);

/// What epochs and noise requests need (langevin_plan.cpp).
[[nodiscard]] UnlearningPlan plan_langevin(bool full_batches, const PlannedTask& task);

}  // namespace unweave
