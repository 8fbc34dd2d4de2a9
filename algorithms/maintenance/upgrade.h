// algorithms/maintenance/upgrade.h - makes a store of an earlier release one of this version.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "algorithms/maintenance/reports.h"
#include "engine/resources/memory.h"

namespace unweave {

/// What makes a store whose manifest has version `from` one of the next version that a release
/// wrote: durable on return, and by one replacement of the manifest, so that a crash leaves the
/// store as it was or upgraded. The caller holds the writer's lock.
struct UpgradeStep {
  std::int64_t from;
  void (*run)(const std::filesystem::path& store, MemoryBudget& budget);
};

/// The steps that there are, ascending. Whoever raises kManifestVersion adds the one from the
/// version before.
[[nodiscard]] std::span<const UpgradeStep> upgrade_steps() noexcept;

/// Takes the steps from the store's version to that of this program, and reads the manifest that
/// comes of them; a store of this version stays as it is. Throws DataError as read_manifest() does:
/// for a store of a later version, and for one from whose version no step leads on. ResourceError
/// where another process writes.
UpgradeReport upgrade_store(const std::filesystem::path& store, MemoryBudget& budget,
                            std::span<const UpgradeStep> steps = upgrade_steps());

}  // namespace unweave
