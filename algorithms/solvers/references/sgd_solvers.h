// algorithms/solvers/references/sgd_solvers.h - what unlearning is compared with: training a network again, two cheap habits, and the deep
// variant of ScaleGUN.
//
//   retrain    a network is learnt again on the present rows, from the same start (linear models: newton_solver.h)
//   finetune   more epochs of SGD on the present rows, from the present weights
//   neggrad    steps of gradient ascent on the loss of the removed rows, of descent where a row is new:
//                w <- w + (eta / b) (sum over removed rows of grad l + sum over moved rows of (grad l(old) - grad l(new)))
//              over batches of b rows, a moved row with its old and new value counting as one, without the term of lambda
//   scalegun   a network's tensors p, the weights of a layer, its biases or the filter, take a Newton step each, alone:
//                w_p <- w_p + s_p,   (H_pp + damping I) s_p = grad_p L(rows before) - grad_p L(rows after)
//              L is the mean loss without the term of lambda, all at the weights before the step, H_pp the tensor's block
//              of the Hessian on the rows after. It was learnt with <b, w> / n beside the loss, b of deviation alpha.
//
// scalegun: Yi and Wei, ICLR 2025, and their deep_exp.py, which claim nothing of it. Their conjugate gradients start at
// the right side and end where no number of the residual is above 1e-4, for small batches at once; here they run from 0 to
// 1e-4 of its norm, in at most 200 products, and end before a direction along which the block does not curve upward,
// with the right side itself where that is the first. b, for which their network shows no effect, has the one the paper
// means. The network is that of `retrain`: no normalisation of batches, no dropout.
//
// They publish finished weights without noise, keep nothing and claim nothing. Linear models are learnt by minimising to
// tau. A model that has missed a batch is learnt again.
#pragma once

#include "algorithms/solvers/sgd.h"

namespace unweave {

inline constexpr Parameter kRetrainParameters[] = {kEpochs, kBatchRows, kStepSize, kDecay};
inline constexpr Parameter kTuneEpochs{"tune-epochs", 5, "epochs over the present rows for a batch of requests"};
inline constexpr Parameter kTuneStepSize{"tune-step-size", 0.05, "step of these"};
inline constexpr Parameter kFinetuneParameters[] = {kEpochs, kBatchRows, kStepSize, kDecay, kTuneEpochs, kTuneStepSize};
inline constexpr Parameter kAscentEpochs{"ascent-epochs", 1, "epochs over the rows of a batch of requests"};
inline constexpr Parameter kAscentStepSize{"ascent-step-size", 0.01, "step of these"};
inline constexpr Parameter kNeggradParameters[] = {kEpochs, kBatchRows,    kStepSize,
                                                   kDecay,  kAscentEpochs, kAscentStepSize};
inline constexpr Parameter kDamping{"damping", 1e-4, "added to the blocks of the Hessian (--head mlp)"};
inline constexpr Parameter kScalegunParameters[] = {kEpochs, kBatchRows, kStepSize, kDecay, kDamping};

/// `retrain` of networks.
[[nodiscard]] std::unique_ptr<Solver> make_network_retrain_solver(const SolverOptions& options);
[[nodiscard]] std::unique_ptr<Solver> make_finetune_solver(const SolverOptions& options);
[[nodiscard]] std::unique_ptr<Solver> make_neggrad_solver(const SolverOptions& options);
/// `scalegun` of networks.
[[nodiscard]] std::unique_ptr<Solver> make_network_scalegun_solver(const SolverOptions& options);

}  // namespace unweave
