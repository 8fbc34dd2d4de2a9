// algorithms/solvers/descent/descent_solver.h - Descent-to-Delete: full gradients, noise on what is
// published.
//
// Neel, Roth, Sharifi-Malvajerdi, "Descent-to-Delete: Gradient-Based Methods for Machine
// Unlearning", ALT 2021. Steps W <- P_R(W - grad F(W) 2 / (L + mu)), F, mu of objective.h and L its
// smoothness by the public bound of the rows; R as in minimiser_radius(). A request goes on from
// the iterate without noise, kept in the model's file as a secret, or with public-state=1 from the
// published weights, and then nothing is secret.
//
// By default the steps go on until the gradient is finished to tau, and the release is that of
// `newton`: certified by T1, whatever moved. With --bound paper the counts of steps and the noise
// are the published ones (Theorems 9 and 28): a batch takes the steps of one request for each row
// that left, rows that moved are unknown to it, nothing is certified.
#pragma once

#include <optional>

#include "algorithms/privacy/accounting/descent_to_delete.h"
#include "algorithms/unlearning/solver_entry.h"

namespace unweave {

extern const SolverEntry kDescentToDelete;

struct DescentParameters {
  bool public_state = false;
  std::optional<std::uint64_t> request_steps;
  double sigma = 0.01;
};
[[nodiscard]] const ParametersOf<DescentParameters>& descent_parameters();

/// Constants of --bound paper.
struct PublishedDescent {
  std::uint64_t request_steps = 0;   ///< I
  std::uint64_t learning_steps = 0;  ///< T
  double sigma = 0;
};

/// For `rows` training rows; the noise of those at training stays for later requests. Throws
/// UsageError for values out of range.
[[nodiscard]] PublishedDescent published_descent(std::size_t rows, std::size_t features, std::size_t classes,
                                                 const SolverOptions& options);

/// Whether the gradient can fall from a norm of `residual` to `tolerance` in steps that each take
/// `rate`, in (0, 1], of the distance to the minimiser. Throws UsageError where that may be more
/// than kMostPasses steps.
void require_reachable(double rate, double residual, double tolerance);

/// Certificates of T1, or of published steps and noise (descent_checks.cpp).
void check_descent(const CheckedModel& model, Statements& say);
[[nodiscard]] bool check_descent_release(const CheckedModel& model, const TrainingSet& rows, MemoryBudget& budget,
                                         Statements& say);

/// How many steps and which noise requests need (descent_plan.cpp).
[[nodiscard]] UnlearningPlan plan_descent(const PlannedTask& task);

}  // namespace unweave
