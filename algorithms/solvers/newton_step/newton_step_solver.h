// algorithms/solvers/newton_step/newton_step_solver.h - one Newton step a batch from weights that
// were trained once: the yardsticks of hessian-free.
//
// `newton-step` uses the Hessian on the rows that are left (Sekhari, Acharya, Kamath, Suresh,
// "Remember What You Want to Forget", NeurIPS 2021), `jackknife` that on all rows before the batch
// (Suriyakumar, Wilson, "Algorithms that Approximate Data Removal", NeurIPS 2022). Both add damping
// and account for moved rows.
//
// A linear model starts from its minimiser. The weights without noise are kept, and each release
// adds fresh noise to them. A release whose gradient norm is at most tau is that of `newton`
// (THEOREMS.md, T1); no other is certified.
//
// A network starts from where the run of SGD of `hessian-free` ends (sgd/sgd_run.h), so that both
// may be held against the same run over the slots that are left. Its gradient there is not 0, nor
// is it in that run: as published, the step answers what the batch changed alone,
//   (mean H + lambda I + damping I) s = (1 / n) (sum over removed rows of (grad l + lambda w)
//                                                + sum over moved rows of (grad l(before) - grad l(after)))
// over the n rows left, or before the batch, the damping raised where this is not positive definite
// (damped_step.h). Its weights are published without noise, and nothing is claimed of them.
#pragma once

#include "algorithms/unlearning/run_over_slots.h"
#include "algorithms/unlearning/solver_entry.h"

namespace unweave {

extern const SolverEntry kNewtonStep;
extern const SolverEntry kJackknife;

struct NewtonStepParameters : RunParameters {
  std::optional<double> damping;
};

/// Either of networks. Throws UsageError.
[[nodiscard]] std::unique_ptr<Solver> make_network_step(std::string_view name, bool hessian_before,
                                                        const SolverOptions& options,
                                                        const NewtonStepParameters& parameters);
[[nodiscard]] Reservation reserve_network_step(const SolverOptions& options, const TrainingSet& rows,
                                               MemoryBudget& budget);

}  // namespace unweave
