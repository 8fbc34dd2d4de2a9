// algorithms/evaluation/one_run_audit.h - an attack that trains once: many rows are unlearned in
// one batch, and their labels are guessed.
//
// Each row that leaves is a canary: a fair coin gives it its label or another one before the
// training. Present rows, their slots and hence the law A(D') do not depend on the coins, and a
// certificate says of the whole batch that the release is (epsilon, delta)-close to that law,
// whatever the coins were. One release is drawn, every coin is guessed from it, and the number of
// right guesses gives a lower bound of epsilon (one_run_bound.h).
//
// The coin chooses between two rows of one node, and not between a row and none: how many slots a
// run has, and which of them are empty, would else tell the coins, and T2 to T4 say so of their
// references.
#pragma once

#include <cstddef>
#include <vector>

#include "algorithms/evaluation/audit.h"

namespace unweave {

inline constexpr std::size_t kMostCanaries = 2000;  ///< the attack solves a system of so many equations

/// The change of `canary` must remove rows, and the rows have two classes at least. Half of the
/// coins are guessed, 16 at least where there are so many: those of which the release says most.
/// `how.trials` is not used. AuditResult::guesses holds what was guessed. Throws UsageError, and
/// what the solver throws.
[[nodiscard]] AuditResult audit_in_one_run(const SolverFactory& make, const SolverOptions& options,
                                           const Canary& canary, const AuditOptions& how);

/// The canary with labels by these coins, one for each removed row: where it is 1, another class
/// than its own takes its place. `shift` in 1 .. classes - 1 says which: so many classes on.
[[nodiscard]] Canary with_labels_by_coins(const Canary& canary, const std::vector<bool>& coins,
                                          const std::vector<std::size_t>& shift);

}  // namespace unweave
