// algorithms/solvers/references/reference_solvers.h - two cheap habits that unlearning is compared
// with.
//
//   finetune   more epochs of SGD on the present rows, from the present weights
//   neggrad    steps of gradient ascent on the loss of the removed rows, of descent where a row is
//              new:
//                w <- w + (eta / b) (sum over removed rows of grad l + sum over moved rows of (grad
//                l(old) - grad l(new)))
//              over batches of b rows, a moved row with its old and new value counting as one,
//              without the term of lambda
//
// They publish finished weights without noise, keep nothing and claim nothing. Linear models are
// learnt by minimising to tau. A model that has missed a batch is learnt again.
#pragma once

#include "algorithms/unlearning/solver_entry.h"

namespace unweave {

extern const SolverEntry kFinetune;
extern const SolverEntry kNeggrad;

}  // namespace unweave
