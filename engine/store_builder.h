// engine/store_builder.h - a new store: its folder appears, is filled, and becomes a store at the end or vanishes.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/store.h"
#include "storage/manifest.h"

namespace unweave {

/// Owns the folder of a store that is being built: put files into it, name them in manifest(), commit(). Without a
/// commit() the destructor removes everything it finds there, and the folder itself if it was made here.
class StoreBuilder {
 public:
  /// Throws UsageError when `store` exists and is not an empty folder, ResourceError when somebody else builds it.
  explicit StoreBuilder(std::filesystem::path store);
  StoreBuilder(const StoreBuilder&) = delete;
  StoreBuilder& operator=(const StoreBuilder&) = delete;
  ~StoreBuilder();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return store_; }
  [[nodiscard]] Manifest& manifest() noexcept { return manifest_; }
  /// Makes the files of the manifest durable, then the manifest.
  void commit();

 private:
  std::filesystem::path store_;
  bool made_folder_;
  std::optional<WriterLock> lock_;
  Manifest manifest_;
  bool committed_ = false;
};

/// 8 x bytes of the shards with their index / arcs; 0 without arcs.
[[nodiscard]] double bits_per_arc(const Manifest& manifest) noexcept;

}  // namespace unweave
