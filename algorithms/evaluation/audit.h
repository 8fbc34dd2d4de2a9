// algorithms/evaluation/audit.h - an attack on a solver: are its unlearned models told from
// retrained ones?
//
// The certificate of a release says that the unlearned model M and the model A(D') that never saw
// what was removed are (epsilon, delta)-close. An audit draws many releases of both on one small
// task, each with noise of its own, and looks for an event that separates them; Clopper-Pearson
// limits make of its frequencies a lower bound of epsilon. Where a theorem claims the whole curve
// of two Gaussians (StepReport::gaussian_curve), an event of any probability may refute it. A bound
// above the epsilon of a certificate refutes it. One below proves nothing: another canary or attack
// may do better.
//
//   M       fit on the rows D, then absorb the change to D'
//   A(D')   under T1 as the certificate's reference has it: the minimiser W*(D'), found here, and
//           noise of the level that epsilon, delta, tau, lambda and n give, whatever the solver
//           says of it; under T2, T3 and T4 a run as the reference states it (stated_run.h); else
//           what catch_up() trains anew, or, where that unlearns too, fit on D'
//
// A claim of epsilon = delta = 0 is audited by equality instead (equality_audit.h).
//
// The attacker knows D, D' and both minimisers, and looks at P - W*(D') of a release P: along the
// gradient that the removal leaves at W*(D), along W*(D) - W*(D') (about H^-1 of it), along the
// difference of the means of both kinds, its norm, and its distance from the mean of the retrained,
// which is another point where a run ends before the minimiser; and where the claim covers all
// later releases together, along the way to the release before, and at what P shares with its
// noise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "algorithms/evaluation/reports.h"
#include "algorithms/unlearning/solver.h"

namespace unweave {

/// Rows before and after a removal that the attacker knows.
struct Canary {
  std::string name;
  TrainingSet before;
  BatchChange change;
  TrainingSet after;
};

struct AuditOptions {
  std::uint64_t trials = 400;  ///< releases of each kind: an eighth finds directions, three a threshold, the rest test
  double confidence = 0.95;    ///< that the bound holds
  std::filesystem::path folder;           ///< where solvers may keep files during a trial
  std::size_t working_memory = 0;         ///< bytes that the caller has set aside for solvers and minimisations
  std::function<void()> advance = [] {};  ///< called after every trial
};

/// Makes one solver; every trial has its own, so that no trial knows of another.
using SolverFactory = std::function<std::unique_ptr<Solver>(const SolverOptions&, const SolverResources&)>;

/// With a seed in the options trial t uses one of its own, derived from it. Throws UsageError for
/// fewer than 16 trials or a confidence outside (0, 1), and what the solver throws.
[[nodiscard]] AuditResult audit(const SolverFactory& make, const SolverOptions& options, const Canary& canary,
                                const AuditOptions& how);

}  // namespace unweave
