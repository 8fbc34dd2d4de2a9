// algorithms/api/unweave/maintenance.h - is a store what it says it is, what can be had again of a
// damaged one, and erasure for good.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/maintenance/reports.h"
#include "algorithms/verification/verify.h"
#include "unweave/resources.h"

namespace unweave {
inline namespace v0 {

/// Checks every file and statement of a store, and writes nothing
/// (algorithms/verification/verify.h). What is wrong is found, not thrown. Throws ResourceError,
/// UsageError.
[[nodiscard]] VerifyReport verify_store(const std::filesystem::path& store, const VerifyOptions& options,
                                        Resources& resources);

/// Checks a public log of certificates, certificates/NAME.jsonl of a store or a copy of it.
/// `public_key`: 64 hexadecimal digits that all lines must be signed under; none: any, but one for
/// all. `receipts`: file of receipts that the log must cover; empty: none. Throws UsageError for
/// digits that are no key.
[[nodiscard]] VerifyReport verify_certificates(const std::filesystem::path& log,
                                               const std::optional<std::string>& public_key = std::nullopt,
                                               const std::filesystem::path& receipts = {});

/// Checks an exported model, the array `weights` and the two lines that `export --model` wrote
/// beside it: that the weights are those of the certificate, its signature, and what follows from
/// its public numbers. `public_key` as above. Throws ResourceError.
[[nodiscard]] VerifyReport verify_export(const std::filesystem::path& weights,
                                         const std::optional<std::string>& public_key, Resources& resources);

/// Erases what was removed from every byte of a store (algorithms/maintenance/purge.h). Opens the
/// store to write. Throws DataError, ResourceError; unless the purge was decided by then, the store
/// is as it was.
PurgeReport purge_store(const std::filesystem::path& store, const PurgeOptions& options, Resources& resources);

/// Gives a store room for more nodes in place (algorithms/maintenance/grow.h). Opens the store to
/// write. Throws UsageError, InputError, DataError, ResourceError; the store is then as it was.
GrowReport grow_store(const std::filesystem::path& store, const GrowOptions& options, Resources& resources);

/// Makes a store of an earlier release one of this version (algorithms/maintenance/upgrade.h); one
/// of this version stays as it is. Throws DataError for a store that no step leads on from, or of a
/// later version; ResourceError.
UpgradeReport upgrade_store(const std::filesystem::path& store, Resources& resources);

/// Rebuilds what follows from other files, and names what is lost
/// (algorithms/maintenance/store_repair.h). Opens the store to write. Throws DataError where there
/// is no manifest to begin with, ResourceError.
[[nodiscard]] std::vector<RepairedFile> repair_store(const std::filesystem::path& store, const RepairOptions& options,
                                                     Resources& resources);

}  // namespace v0
}  // namespace unweave
