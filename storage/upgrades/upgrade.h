// storage/upgrades/upgrade.h - stores of older versions of the manifest, brought to the present one.
//
// Each step has a file of its own, from_N.h, and knows two versions alone; what is sealed stays byte for byte. Contents, sums
// and requests are those that there were. A step that was cut leaves the older version.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "storage/formats/manifest.h"

namespace unweave {

struct UpgradeReport {
  int from = 0;                ///< version that the manifest had
  int to = 0;                  ///< version that it has
  std::uint64_t requests = 0;  ///< those of the journal, which were written anew
  bool had_models = false;     ///< models lie there whose files are of that time: they are to be trained again
};

/// Does nothing where the version is the present one. The caller holds the right to write. `check` is called with the manifest
/// that will be, before anything is written; what it throws leaves the store as it is. Throws DataError for versions from which
/// no step leads here, FormatError for a damaged manifest or journal, ResourceError.
UpgradeReport upgrade_store_files(const std::filesystem::path& store,
                                  const std::function<void(const Manifest&)>& check);

}  // namespace unweave
