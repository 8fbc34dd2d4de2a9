// algorithms/solvers/objective_noise/network_scalegun.h - the deep variant of ScaleGUN, of which
// nothing is claimed.
//
// The tensors p of a network, the weights of a layer, its biases or the filter, take a Newton step
// each, alone:
//
//   w_p <- w_p + s_p,   (H_pp + damping I) s_p = grad_p L(rows before) - grad_p L(rows after)
//
// L is the mean loss without the term of lambda, all at the weights before the step, H_pp the
// tensor's block of the Hessian on the rows after. It was learnt with <b, w> / n beside the loss, b
// of deviation alpha.
//
// Yi and Wei, ICLR 2025, and their deep_exp.py, which claim nothing of it. Their conjugate
// gradients start at the right side and end where no number of the residual is above 1e-4, for
// small batches at once; here they run from 0 to 1e-4 of its norm, in at most 200 products, and end
// before a direction along which the block does not curve upward, with the right side itself where
// that is the first. b, for which their network shows no effect, has the one the paper means. The
// network is that of `retrain`: no normalisation of batches, no dropout.
#pragma once

#include <memory>
#include <string_view>

#include "algorithms/unlearning/parameters.h"
#include "algorithms/unlearning/solver.h"
#include "engine/resources/memory.h"

namespace unweave {

[[nodiscard]] const ParameterTable& network_scalegun_parameters();
[[nodiscard]] std::unique_ptr<Solver> make_network_scalegun(std::string_view name, const SolverOptions& options,
                                                            const SolverResources& resources);
[[nodiscard]] Reservation reserve_network_scalegun(const SolverOptions& options, const TrainingSet& rows,
                                                   MemoryBudget& budget);

}  // namespace unweave
