// algorithms/sgd_solvers.h - what unlearning is compared with: training a network again, and two cheap habits.
//
//   retrain    a network is learnt again on the present rows, from the same start (linear models: newton_solver.h)
//   finetune   more epochs of SGD on the present rows, from the present weights
//   neggrad    steps of gradient ascent on the loss of the removed rows, of descent where a row is new:
//                w <- w + (eta / b) (sum over removed rows of grad l + sum over moved rows of (grad l(old) - grad l(new)))
//              over batches of b rows, a moved row with its old and new value counting as one, without the term of lambda
//
// They publish finished weights without noise, keep nothing and claim nothing. Linear models are learnt by minimising to
// tau. A model that has missed a batch is learnt again.
#pragma once

#include "algorithms/sgd.h"

namespace unweave {

inline constexpr Parameter kRetrainParameters[] = {kEpochs, kBatchRows, kStepSize, kDecay};
inline constexpr Parameter kTuneEpochs{"tune-epochs", 5, "epochs over the present rows for a batch of requests"};
inline constexpr Parameter kTuneStepSize{"tune-step-size", 0.05, "step of these"};
inline constexpr Parameter kFinetuneParameters[] = {kEpochs, kBatchRows, kStepSize, kDecay, kTuneEpochs, kTuneStepSize};
inline constexpr Parameter kAscentEpochs{"ascent-epochs", 1, "epochs over the rows of a batch of requests"};
inline constexpr Parameter kAscentStepSize{"ascent-step-size", 0.01, "step of these"};
inline constexpr Parameter kNeggradParameters[] = {kEpochs, kBatchRows,    kStepSize,
                                                   kDecay,  kAscentEpochs, kAscentStepSize};

/// `retrain` of networks.
[[nodiscard]] std::unique_ptr<Solver> make_network_retrain_solver(const SolverOptions& options);
[[nodiscard]] std::unique_ptr<Solver> make_finetune_solver(const SolverOptions& options);
[[nodiscard]] std::unique_ptr<Solver> make_neggrad_solver(const SolverOptions& options);

}  // namespace unweave
