// algorithms/evaluation/equality_audit.h - the audit of a claim that epsilon and delta are 0:
// equality, bit for bit.
#pragma once

#include "algorithms/evaluation/audit.h"

namespace unweave {

/// Compares weights that unlearned the canary with those of training from nothing on the rows after
/// it. Every trial has an order of rows (unless releases depend on nodes: Solver::reads_nodes) and
/// a history of its own: trained on the rows before, or, every other time, released with random
/// weights; and runs on one thread, or on all. One differing bit in a certified release refutes the
/// claim: its lower bound of epsilon is then infinite, else 0. Throws what the solver throws.
[[nodiscard]] AuditResult audit_equality(const SolverFactory& make, const SolverOptions& options, const Canary& canary,
                                         const AuditOptions& how);

}  // namespace unweave
