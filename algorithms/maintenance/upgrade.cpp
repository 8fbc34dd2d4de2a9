// algorithms/maintenance/upgrade.cpp - the table of steps from version to version, and their run.
#include "algorithms/maintenance/upgrade.h"

#include <optional>

#include "engine/graph/store.h"
#include "storage/formats/manifest.h"

namespace unweave {

std::span<const UpgradeStep> upgrade_steps() noexcept {
  // A line for each version of the manifest that a release has written, but the present one. The
  // first release wrote the present one.
  return {};
}

UpgradeReport upgrade_store(const std::filesystem::path& store, MemoryBudget& budget,
                            std::span<const UpgradeStep> steps) {
  UpgradeReport report;
  report.version_before = manifest_version(store);
  std::optional<WriterLock> lock;
  for (const UpgradeStep& step : steps) {
    if (manifest_version(store) != step.from) continue;
    if (!lock) lock.emplace(store);
    step.run(store, budget);
    lock->require_held();
  }
  static_cast<void>(read_manifest(store));
  report.version = manifest_version(store);
  return report;
}

}  // namespace unweave
