// algorithms/registry/registry.h - all solvers by name: the one place that knows which there are.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/unlearning/solver_entry.h"

namespace unweave {

/// All entries, in the order in which they are shown. The first one is the default.
[[nodiscard]] std::span<const SolverEntry* const> all_solvers() noexcept;
[[nodiscard]] std::vector<std::string_view> solver_names();
/// Null for a name that no solver has.
[[nodiscard]] const SolverEntry* find_solver(std::string_view name) noexcept;
/// Throws UsageError for a name that no solver has.
[[nodiscard]] const SolverEntry& solver_entry(std::string_view name);
[[nodiscard]] const SolverEntry& default_solver() noexcept;
/// What all others are compared with: every batch trains again from nothing.
[[nodiscard]] const SolverEntry& retraining_solver() noexcept;
/// The solver of a model, and what it makes of such models. Throws UsageError.
[[nodiscard]] const SolverKind& kind_of(const Model& model);
/// Names of the solvers for which `holds`, joined by commas.
[[nodiscard]] std::string solvers_with(bool (*holds)(const SolverEntry&));

/// Throws UsageError for a name that no solver has, for options out of range or that the solver
/// does not take, and for parameters that it does not have.
[[nodiscard]] std::unique_ptr<Solver> make_solver(std::string_view name, const SolverOptions& options,
                                                  const SolverResources& resources = {});
/// Throws what make_solver() would.
void require_options(std::string_view name, const SolverOptions& options);
/// Throws UsageError where one of the options that were given, by their keys, says nothing to this
/// solver with these options.
void require_read(std::string_view name, const SolverOptions& options, std::span<const std::string_view> given);
/// Throws UsageError that names those which can where a solver cannot train such models on rows
/// that ranks share.
void require_over_ranks(std::string_view name, const SolverOptions& options);
/// What of these options a solver takes, as its models and certificates hold them: one that draws
/// no noise has epsilon = delta = 0, one that trains networks alone has a hidden layer, and one
/// whose networks have one activation has that.
[[nodiscard]] SolverOptions taken_options(std::string_view name, SolverOptions options);

/// Below this a default lambda does not go: 1e-3 for first-order solvers, else 0.
[[nodiscard]] double weakest_default_lambda(std::string_view solver);

}  // namespace unweave
