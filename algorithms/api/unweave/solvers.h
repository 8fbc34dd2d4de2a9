// algorithms/api/unweave/solvers.h - which solvers there are, and what may be chosen of each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/learning/head_name.h"
#include "algorithms/unlearning/options.h"

namespace unweave {
inline namespace v0 {

struct SolverInfo {
  std::string_view name;
  std::string meaning;                ///< how it learns and unlearns and what it claims
  bool linear = true;                 ///< it trains linear models
  bool networks = false;              ///< it trains networks
  bool noisy = true;                  ///< it takes epsilon and delta; of any other solver both are 0
  bool intercept = true;              ///< its linear models have one unless the options say otherwise
  bool any_start = false;             ///< it goes on from weights that another program made (certify.h)
  std::vector<Parameter> parameters;  ///< its own
};

/// All of them; the first is the default.
[[nodiscard]] std::vector<SolverInfo> all_solver_infos();
/// Throws UsageError for a name that no solver has.
[[nodiscard]] SolverInfo solver_info(std::string_view name);
/// Throws UsageError for options that are out of range or that the solver does not take.
void check_solver_options(std::string_view solver, const SolverOptions& options);
/// Throws UsageError where one of the options that were given, "head", "hidden", "activation",
/// "epsilon", "delta", "tau" or "alpha", says nothing to this solver with these options.
void require_read_options(std::string_view solver, const SolverOptions& options,
                          std::span<const std::string_view> given);

}  // namespace v0
}  // namespace unweave
