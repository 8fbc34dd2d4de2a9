// algorithms/api/solvers.cpp - the registry of solvers, as far as users see it.
#include "unweave/solvers.h"

#include "algorithms/registry/registry.h"

namespace unweave {
inline namespace v0 {
namespace {

SolverInfo info_of(const SolverEntry& entry) {
  const std::span<const Parameter> own = entry.parameters().listed();
  return {entry.name,  entry.meaning(), entry.linear.trained, entry.networks.trained,
          entry.noisy, entry.intercept, entry.any_start,      {own.begin(), own.end()}};
}

}  // namespace

std::vector<SolverInfo> all_solver_infos() {
  std::vector<SolverInfo> infos;
  for (const SolverEntry* const entry : all_solvers()) infos.push_back(info_of(*entry));
  return infos;
}

SolverInfo solver_info(std::string_view name) {
  return info_of(solver_entry(name));
}

void check_solver_options(std::string_view solver, const SolverOptions& options) {
  require_options(solver, taken_options(solver, options));
}

void require_read_options(std::string_view solver, const SolverOptions& options,
                          std::span<const std::string_view> given) {
  require_read(solver, options, given);
}

}  // namespace v0
}  // namespace unweave
