// algorithms/api/audit.cpp - attacks on the models of a store.
#include "unweave/audit.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/evaluation/audit.h"
#include "algorithms/evaluation/canary.h"
#include "algorithms/evaluation/one_run_audit.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/row_units.h"
#include "algorithms/registry/registry.h"
#include "engine/resources/temporary_folder.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/message.h"
#include "storage/io/nearest_name.h"

namespace unweave {
inline namespace v0 {
namespace {

void require_attack(const AttackOptions& options) {
  if (options.rows < 2) throw UsageError(option("rows") + " must be at least 2");
  constexpr std::array<std::string_view, 5> kKinds{"all", "hub", "bridge", "gradient", "planted"};
  if (std::find(kKinds.begin(), kKinds.end(), options.canary) == kKinds.end())
    throw UsageError(unknown_name("canary", options.canary, kKinds));
}

std::vector<CanaryRequests> chosen_canaries(const LiveStore& store, const ModelRecord& record,
                                            const AttackOptions& options, MemoryBudget& budget) {
  if (options.requests) return {{"requests", *options.requests}};
  if (options.one_run > 0) return {steepest_rows(store, record, options.one_run, budget)};
  std::vector<CanaryRequests> found = find_canaries(store, record, budget);
  const bool all = options.canary == "all";
  if (!all) std::erase_if(found, [&](const CanaryRequests& canary) { return canary.name != options.canary; });
  if (found.empty())
    throw DataError(store.path().string() + ": holds no canary" + (all ? "" : " of kind " + options.canary) +
                    "; give removals with " + option("requests", "F"));
  return found;
}

}  // namespace

std::vector<Attack> plan_attacks(const std::filesystem::path& named, const ModelSelection& selection,
                                 const AttackOptions& options, Resources& resources) {
  require_attack(options);
  const std::filesystem::path path = resolved(named);
  const StoreReader store(path, resources.memory());
  std::vector<Attack> attacks;
  for (const StoredModel& model : read_models(path, selection)) {
    ModelRecord record = Internals::record(model);
    record.options.seed = options.seed;
    check_propagation(record, store.manifest(), store.path());
    const StoredModel seeded = Internals::model(std::move(record));
    for (CanaryRequests& canary : chosen_canaries(store, Internals::record(seeded), options, resources.memory()))
      attacks.push_back({seeded, std::move(canary)});
  }
  return attacks;
}

AuditResult run_attack(const std::filesystem::path& path, const Attack& attack, const AttackOptions& options,
                       Resources& resources) {
  require_attack(options);
  const ModelRecord& record = Internals::record(attack.model);
  MemoryBudget& budget = resources.memory();
  StoreReader store(resolved(path), budget);
  const Canary canary = release_canary(attack.canary, store, record, options.rows, budget);
  const Reservation memory = solver_entry(record.model.solver).reserve(record.options, Model{}, canary.before, budget);
  const TemporaryFolder folder(temporary_path(), "unweave-audit-");
  AuditOptions how;
  how.trials = options.trials;
  how.confidence = options.confidence;
  how.folder = folder.path();
  how.working_memory = static_cast<std::size_t>(memory.bytes());
  resources.meter().start(attack.model.name() + ", " + canary.name, options.one_run > 0 ? 1 : how.trials, "trials");
  how.advance = [&] { resources.meter().advance(1); };
  const SolverFactory make = [&](const SolverOptions& own, const SolverResources& kept) {
    return make_solver(record.model.solver, own, kept);
  };
  return options.one_run > 0 ? audit_in_one_run(make, record.options, canary, how)
                             : audit(make, record.options, canary, how);
}

}  // namespace v0
}  // namespace unweave
