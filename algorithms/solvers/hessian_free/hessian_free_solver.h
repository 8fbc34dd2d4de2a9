// algorithms/solvers/hessian_free/hessian_free_solver.h - removal by adding vectors that were made
// while learning (THEOREMS.md, T3).
//
// Qiao, Zhang, Tang, Wei, "Hessian-Free Online Certified Unlearning", ICLR 2025. Training is plain
// SGD over fixed slots (sgd_run.h) and leaves one vector a training row, or a declared group of
// rows, in files by partition. A batch that only removes rows then reads their vectors, adds them
// to the weights and publishes the sum with fresh noise; no training data are read. When the model
// that holds the sum is durable, the vectors are erased. Rows that moved, and parts of a declared
// group, have no vectors: such batches train again in the same slots, after moved rows without new
// vectors.
//
// In reports `budget` is s_max, the distance that the noise covers, and `residual_bound` the
// distance reached (0 after training, infinite where none is known).
#pragma once

#include "algorithms/unlearning/solver_entry.h"

namespace unweave {

extern const SolverEntry kHessianFree;

/// The certificate of a model, its state and its files of statistics: there for every filled slot,
/// erased for the others (hessian_free_checks.cpp).
void check_hessian_free(const CheckedModel& model, Statements& say);
/// Published weights against the clean ones, and where it is bounded against a run on the present
/// rows.
[[nodiscard]] bool check_end_of_run(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget,
                                    Statements& say);

}  // namespace unweave
