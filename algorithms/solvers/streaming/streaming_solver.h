// algorithms/solvers/streaming/streaming_solver.h - SAFE: one step from the trained weights for all that a stream has removed, from kept
// statistics alone.
//
// source   Shen, Zhang, Zhao, Bialkowski, Chen, Xu, Machine Unlearning for Streaming Forgetting (SAFE), 2025; covariances
//          by the corrected recursion, the regulariser beside the mean loss, rows that moved as rows that left and came.
//
//   w_t = w_0 - gamma g_t / |g_t|,   gamma = sqrt|w_0| / (K sqrt T),   g_t = retention + amplification * forgetting
//   retention    (n_0 G_0 - S_t) / n_t + lambda w_0, exactly the gradient of the objective of the present rows at w_0
//   forgetting   at w_0, the mean over removed rows of the gradient of KL(f, r): r is f after the shift that the class's
//                normal density of projected rows and its share have undergone (one-vs-rest: class against rest; none for
//                least squares, which has no probabilities). Rows that moved are no forgotten rows.
//
// A batch reads its own rows and no others. Whoever trains learns as finetune does; that many batches later (`rounds`),
// when no row is left, and for a model that has missed a batch, it learns again, which drops all that was kept. Nothing is
// claimed: no theorem covers it, and the paper's noise (`noise` 1) leaves chance. `evaluate` shows beside it the weights
// w_0 of doing nothing, w_0 after one Newton step, and those of training again.
#pragma once

#include "algorithms/solvers/sgd.h"

namespace unweave {

inline constexpr Parameter kRounds{"rounds", 20, "T: batches until it learns again"};
inline constexpr Parameter kStepConstant{"step-constant", 2.5, "K: the step is sqrt(|w_0|) / (K sqrt T)"};
inline constexpr Parameter kProjection{"projection", std::nullopt,
                                       "k: dimensions of the normal densities; 8, or 16 from 2000 rows a class on"};
inline constexpr Parameter kKappa{"kappa", 1, "weight of forgetting over retention; 0: retention alone"};
inline constexpr Parameter kAmplification{"amplification", std::nullopt,
                                          "a fixed factor of forgetting instead of kappa"};
inline constexpr Parameter kMode{"mode", 2, "forgotten rows: 0 all, kept as they were; 1 the batch's; 2 a running sum"};
inline constexpr Parameter kRetention{"retention", 1, "0: none; 1: the gradient of the rows kept; 2: without G_0"};
inline constexpr Parameter kNoise{"noise", 0, "1: the noise that the paper's Theorem 2 asks for"};
inline constexpr Parameter kStreamingParameters[] = {kRounds,        kStepConstant, kProjection, kKappa,
                                                     kAmplification, kMode,         kRetention,  kNoise,
                                                     kEpochs,        kBatchRows,    kStepSize,   kDecay};

[[nodiscard]] std::unique_ptr<Solver> make_streaming_solver(const SolverOptions& options);

/// Weights to compare a model of `streaming` with, by name: "no-op" w_0; "newton-step", w_0 - H^-1 retention with H the
/// Hessian on `rows`, the present ones, of networks damped (damped_step.h), where there are rows; "retrained", learnt on
/// these from nothing. `memory` as for NewtonOptions. Throws UsageError for another solver's model.
struct NamedWeights {
  std::string name;
  Matrix weights;
  double seconds = 0;  ///< that making them took
};
[[nodiscard]] std::vector<NamedWeights> streaming_references(const Model& model, const SolverOptions& options,
                                                             const TrainingSet& rows, std::size_t memory);

}  // namespace unweave
