// algorithms/maintenance/store_upgrade.h - a store of an older version of the formats, brought to the present one in its place.
#pragma once

#include <filesystem>

#include "storage/upgrades/upgrade.h"

namespace unweave {

/// Brings a store to the version that this program reads; does nothing where it has it. Contents, sums and acknowledged
/// requests stay what they are, bit for bit; every byte of the files is read before, and one that is damaged, or sealed in a
/// layout of yet older days, stops the upgrade. Models of an older version are to be trained again. Cut off anywhere, it leaves
/// the older store, or the newer one. Throws DataError for a version that no upgrade reads, and for a store that a purge was
/// cut off in; FormatError, ResourceError (another writer, disk).
UpgradeReport upgrade_store(const std::filesystem::path& store);

}  // namespace unweave
