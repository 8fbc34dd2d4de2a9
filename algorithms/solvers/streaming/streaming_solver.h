// algorithms/solvers/streaming/streaming_solver.h - SAFE: one step from the trained weights for all
// that a stream has removed, from kept statistics alone.
//
// source   Shen, Zhang, Zhao, Bialkowski, Chen, Xu, Machine Unlearning for Streaming Forgetting
// (SAFE), 2025; covariances
//          by the corrected recursion, the regulariser beside the mean loss, rows that moved as
//          rows that left and came.
//
//   w_t = w_0 - gamma g_t / |g_t|,   gamma = sqrt|w_0| / (K sqrt T),   g_t = retention + amplification * forgetting
//   retention    (n_0 G_0 - S_t) / n_t + lambda w_0, exactly the gradient of the objective of the
//                present rows at w_0
//   forgetting   at w_0, the mean over removed rows of the gradient of KL(f, r): r is f after the
//                shift that the class's normal density of projected rows and its share have
//                undergone (one-vs-rest: class against rest; none for least squares, which has no
//                probabilities). Rows that moved are no forgotten rows.
//
// A batch reads its own rows and no others. Whoever trains learns as finetune does; that many
// batches later (`rounds`), when no row is left, and for a model that has missed a batch, it learns
// again, which drops all that was kept. Nothing is claimed: no theorem covers it, and the paper's
// noise (`noise` 1) leaves chance. `evaluate` shows beside it the weights w_0 of doing nothing, w_0
// after one Newton step, and those of training again.
#pragma once

#include "algorithms/unlearning/solver_entry.h"

namespace unweave {

extern const SolverEntry kStreaming;

/// Weights to compare a model with, by name: "no-op" w_0; "newton-step", w_0 - H^-1 retention with
/// H the Hessian on `rows`, the present ones, of networks damped (damped_step.h), where there are
/// rows; "retrained", learnt on these from nothing. `memory` as for NewtonOptions. Throws
/// UsageError for another solver's model.
[[nodiscard]] std::vector<NamedWeights> streaming_references(const Model& model, const SolverOptions& options,
                                                             const TrainingSet& rows, std::size_t memory);

}  // namespace unweave
