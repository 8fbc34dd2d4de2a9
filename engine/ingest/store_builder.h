// engine/ingest/store_builder.h - a new store: its folder appears, is filled, and becomes a store
// at the end or vanishes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/arc_lists.h"
#include "engine/graph/store.h"
#include "storage/formats/manifest.h"
#include "storage/io/types.h"
#include "storage/types/import_report.h"

namespace unweave {

/// Owns the folder of a store that is being built: put files into it, name them in manifest(),
/// commit(). Without a commit() the destructor removes everything it finds there, and the folder
/// itself if it was made here, as those that it lies in.
class StoreBuilder {
 public:
  /// What a killed builder left in `store` is removed. Throws UsageError when the folder holds
  /// anything else, ResourceError when somebody else builds it.
  explicit StoreBuilder(std::filesystem::path store);
  /// A part of the work on a folder that another process builds: it puts files there, and neither
  /// commits nor removes anything.
  struct Part {};
  StoreBuilder(std::filesystem::path store, Part /*unused*/) : store_(std::move(store)), left_(true) {}
  StoreBuilder(const StoreBuilder&) = delete;
  StoreBuilder& operator=(const StoreBuilder&) = delete;
  ~StoreBuilder();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return store_; }
  [[nodiscard]] Manifest& manifest() noexcept { return manifest_; }
  /// Makes the files of the manifest durable, then the manifest.
  void commit();
  /// Leaves what is there when this object ends without a commit(), since others may still write
  /// there.
  void leave() noexcept { left_ = true; }

 private:
  std::filesystem::path store_;
  std::vector<std::filesystem::path> made_folders_;  ///< the store's own first
  std::optional<WriterLock> lock_;
  Manifest manifest_;
  bool committed_ = false;
  bool left_ = false;
};

/// The report of a store with this manifest, `counts` taken at the end of its arcs.
[[nodiscard]] BuildReport build_report(const Manifest& manifest, const ArcCounts& counts);

}  // namespace unweave
