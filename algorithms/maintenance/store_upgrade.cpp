// algorithms/maintenance/store_upgrade.cpp - holds the writer's lock while the files of a store are upgraded.
#include "algorithms/maintenance/store_upgrade.h"

#include "algorithms/verification/verify.h"
#include "algorithms/verification/verify_checks.h"
#include "engine/generations/store_purge.h"
#include "engine/graph/store.h"
#include "storage/formats/manifest.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {

UpgradeReport upgrade_store(const std::filesystem::path& named) {
  const std::filesystem::path store = resolved(named);
  static_cast<void>(read_old_manifest(store));  // a folder that is no store gets no lock
  const WriterLock lock(store);
  // The mark of a purge speaks of the bytes of the manifest, which change.
  if (read_old_manifest(store) && purge_state(store) != PurgeState::none)
    throw DataError(store.string() +
                    ": a purge of this store was interrupted; let the unweave that began it end it first");
  lock.require_held();
  return upgrade_store_files(store, [&](const Manifest& manifest) {
    VerifyReport report;
    check_files(store, manifest, FileShare::all, report);
    if (!report.findings.empty()) throw DataError(report.findings.front().text);
  });
}

}  // namespace unweave
