// engine/graph/local_lists.cpp - copies shards, and knows where copies are.
#include "engine/graph/local_lists.h"

#include <sys/file.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/resources/parallel.h"
#include "engine/resources/temporary_folder.h"
#include "storage/formats/manifest.h"
#include "storage/formats/shard.h"
#include "storage/formats/store_layout.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "unweave-lists-";
constexpr const char* kLock = "lock";
constexpr std::size_t kCopiesAtATime = 4;  // they wait for two disks

std::mutex copies_mutex;
std::map<std::string, fs::path>& copies() {
  static std::map<std::string, fs::path> all;
  return all;
}

std::string key_of(const fs::path& store) {
  std::error_code ignored;
  const fs::path path = fs::absolute(resolved(store), ignored);
  return path.empty() ? store.string() : path.lexically_normal().string();
}

/// Removes copies that no process uses any more.
void remove_abandoned(const fs::path& in) {
  for (const Entry& entry : list_folder(in)) {
    if (!entry.name().starts_with(kPrefix)) continue;
    const File lock = File::try_open_stored(entry.path / kLock);
    if (!lock.is_open()) continue;  // in the making, or not ours
    if (::flock(lock.descriptor(), LOCK_EX | LOCK_NB) == 0) drop_tree(entry.path);
  }
}

/// Throws where a copy is not what the manifest says.
void copy_lists(const fs::path& store, const Manifest& manifest, const fs::path& to) {
  std::uint64_t bytes = 0;
  for (const FileEntry& shard : manifest.shards) bytes += shard.bytes;
  require_disk_room(to, bytes, "copies of the lists", "leave out " + option("local"));
  run_waiting_items(manifest.shards.size(), kCopiesAtATime, [&](const auto& next) {
    for (std::size_t i = next(); i < manifest.shards.size(); i = next()) {
      const FileEntry& entry = manifest.shards[i];
      make_folders((to / entry.path).parent_path());
      copy_stored(store / entry.path, to / entry.path);
      Shard(to, entry, span_range(manifest.nodes, i), manifest.nodes, manifest.list_form()).verify();
    }
  });
}

}  // namespace

struct LocalLists::Copies {
  std::string store;
  std::optional<TemporaryFolder> own;  ///< where this rank has made them
  File lock;                           ///< in that folder, held while it is used
};

LocalLists::LocalLists(const fs::path& store, const fs::path& in, Ranks& job) : copies_(std::make_unique<Copies>()) {
  copies_->store = key_of(store);
  const fs::path folder = resolved(in);
  if (!is_folder(folder)) throw UsageError(in.string() + ": is no folder; name one that is there");
  std::string path;
  if (job.leader_here() == job.rank()) {
    remove_abandoned(folder);
    copies_->own.emplace(folder, kPrefix);
    // The lock has its name once it is held.
    copies_->lock = File::create(copies_->own->path() / "new-lock");
    static_cast<void>(::flock(copies_->lock.descriptor(), LOCK_EX));
    rename_entry(copies_->own->path() / "new-lock", copies_->own->path() / kLock);
    copy_lists(store, read_manifest(store), copies_->own->path());
    path = copies_->own->path().string();
  }
  // Each rank takes those of its machine.
  std::string paths;
  for (const std::string& one : gather_texts(path, job)) paths += one + '\n';
  paths = from_first(paths, job);
  std::size_t at = 0;
  for (std::size_t rank = 0; rank < job.leader_here(); ++rank) at = paths.find('\n', at) + 1;
  const std::scoped_lock lock(copies_mutex);
  copies()[copies_->store] = paths.substr(at, paths.find('\n', at) - at);
}

LocalLists::~LocalLists() {
  const std::scoped_lock lock(copies_mutex);
  copies().erase(copies_->store);
}

fs::path LocalLists::folder_of(const fs::path& store, const FileEntry& shard) {
  {
    const std::scoped_lock lock(copies_mutex);
    if (copies().empty()) return store;
  }
  const std::string key = key_of(store);
  const std::scoped_lock lock(copies_mutex);
  const auto found = copies().find(key);
  return found != copies().end() && is_file(found->second / shard.path) ? found->second : store;
}

}  // namespace unweave
