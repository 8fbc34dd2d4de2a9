// algorithms/solvers/rewind/rewind_solver.h - Rewind-to-Delete and Descent-to-Delete by SGD over
// slots (THEOREMS.md, T4).
//
// S. Mu and D. Klabjan, "Descend or Rewind? Stochastic Gradient Descent Unlearning" (2025). Every
// request is accounted against the original run, from whose iterates it starts: weights of rows
// that left or moved add up until they ask for more epochs than an iterate is kept for; then the
// model is trained again in its slots. In reports `budget` is the distance between a release and
// retraining that the noise covers, `residual_bound` the bound that was reached (0 after training),
// and `passes` counts epochs.
#pragma once

#include "algorithms/unlearning/solver_entry.h"

namespace unweave {

/// Goes on from an iterate of the original run some epochs before its end.
extern const SolverEntry kRewind;
/// Goes on from its last iterate.
extern const SolverEntry kDescend;

/// Certificates of T4 and of what Mu and Klabjan print: constants, distances and noise are computed
/// again, and iterates that the model needs are read (rewind_checks.cpp).
void check_run_noise(const CheckedModel& model, Statements& say);
/// Published weights against a training without noise on the present rows.
[[nodiscard]] bool check_run(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget, Statements& say);
/// Public numbers of a line that T4 certifies. Throws CheckError.
void check_run_line(bool descend, const PublicLine& line);

/// What epochs and noise requests need (rewind_plan.cpp).
[[nodiscard]] UnlearningPlan plan_rewind(bool descend, const PlannedTask& task);

}  // namespace unweave
