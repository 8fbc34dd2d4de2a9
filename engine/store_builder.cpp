#include "engine/store_builder.h"

#include <cstdint>
#include <system_error>
#include <utility>

namespace unweave {

StoreBuilder::StoreBuilder(std::filesystem::path store)
    : store_(std::move(store)), made_folder_(!std::filesystem::exists(store_)) {
  create_store_folder(store_);
  lock_.emplace(store_);
}

StoreBuilder::~StoreBuilder() {
  if (committed_) return;
  std::error_code ignored;
  for (const auto& item : std::filesystem::directory_iterator(store_, ignored))
    std::filesystem::remove_all(item.path(), ignored);
  if (made_folder_) std::filesystem::remove(store_, ignored);
}

void StoreBuilder::commit() {
  commit_generation(store_, Manifest(), manifest_);
  committed_ = true;
}

double bits_per_arc(const Manifest& manifest) noexcept {
  std::uint64_t bytes = 0;
  for (const FileEntry& shard : manifest.shards) bytes += shard.bytes;
  return manifest.edges == 0 ? 0 : 8.0 * static_cast<double>(bytes) / (2.0 * static_cast<double>(manifest.edges));
}

}  // namespace unweave
