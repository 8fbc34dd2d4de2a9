// algorithms/api/unweave/audit.h - a lower bound of epsilon by attack, beside what certificates
// claim.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "storage/types/request.h"
#include "unweave/models.h"
#include "unweave/resources.h"

namespace unweave {
inline namespace v0 {

struct AttackOptions {
  /// One of hub, bridge and gradient, of graphs and pairs also planted, or all
  /// (algorithms/evaluation/canary.h).
  std::string canary = "all";
  std::optional<std::vector<Request>> requests{};  ///< removals that are the canary instead
  std::uint64_t trials = 400;                      ///< releases of each kind
  double confidence = 0.95;   ///< confidence of one bound; k bounds hold together with 1 - (1 - it) k
  std::uint64_t rows = 1000;  ///< training rows that take part, at most
  /// Above 0: one training and one release in place of many, and so many training nodes with the
  /// largest gradients, or those that `requests` remove, leave together; coins that chose their
  /// labels are guessed (algorithms/evaluation/one_run_audit.h).
  std::uint64_t one_run = 0;
  std::optional<std::uint64_t> seed{};  ///< seed of the noise, for tests
};

/// One model and one canary.
struct Attack {
  StoredModel model;
  CanaryRequests canary;
};

/// The attacks that are to be made. Throws UsageError, DataError where the store holds no such
/// canary.
[[nodiscard]] std::vector<Attack> plan_attacks(const std::filesystem::path& store, const ModelSelection& selection,
                                               const AttackOptions& options, Resources& resources);

/// Makes one, which changes nothing in the store: many releases of models that unlearned the
/// canary, and of models that never saw it. Throws UsageError, ResourceError.
[[nodiscard]] AuditResult run_attack(const std::filesystem::path& store, const Attack& attack,
                                     const AttackOptions& options, Resources& resources);

}  // namespace v0
}  // namespace unweave
