#include "engine/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string>
#include <utility>

#include "storage/error.h"
#include "storage/file.h"

namespace unweave {
namespace {

constexpr const char* kLockName = "lock";
constexpr const char* kUnfinishedName = "unfinished";
/// Folders whose files a manifest names one by one.
constexpr const char* kFolders[] = {"graph", "features", "labels", "splits", "state", "journal"};

std::set<std::string> named_files(const Manifest& manifest) {
  std::set<std::string> names;
  for (const FileEntry& entry : manifest.files()) names.insert(entry.path);
  if (!manifest.journal.empty()) names.insert("journal/" + manifest.journal);
  return names;
}

[[noreturn]] void refuse_folder(const std::filesystem::path& store) {
  throw UsageError(store.string() + ": exists and is not an empty folder; name a new folder");
}

bool is_empty_but_for_lock(const std::filesystem::path& store) {
  std::error_code error;
  for (const auto& item : std::filesystem::directory_iterator(store, error))
    if (item.path().filename() != kLockName || !std::filesystem::is_empty(item.path(), error)) return false;
  return !error;
}

/// Whether a process that was building a store here was killed, or is at work.
bool is_unfinished(const std::filesystem::path& store) {
  std::error_code ignored;
  return std::filesystem::exists(store / kUnfinishedName, ignored) &&
         !std::filesystem::exists(store / kManifestName, ignored);
}

/// Removes what building puts into a store, and nothing else.
void remove_unfinished(const std::filesystem::path& store) {
  std::error_code ignored;
  for (const char* folder : kFolders) std::filesystem::remove_all(store / folder, ignored);
  std::filesystem::remove(store / (std::string(kManifestName) + ".new"), ignored);
  std::filesystem::remove(store / kUnfinishedName, ignored);
}

}  // namespace

WriterLock::WriterLock(const std::filesystem::path& store)
    : descriptor_(::open((store / kLockName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) throw_system_error("open", store / kLockName, errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    ::close(descriptor_);
    if (error != EWOULDBLOCK) throw_system_error("lock", store / kLockName, error);
    throw ResourceError(store.string() + ": another process is writing this store; wait until it ends");
  }
}

WriterLock::WriterLock(WriterLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

WriterLock::~WriterLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void create_store_folder(const std::filesystem::path& store) {
  std::error_code error;
  if (std::filesystem::exists(store, error)) {
    if (!std::filesystem::is_directory(store, error) || !std::filesystem::is_empty(store, error)) refuse_folder(store);
    return;
  }
  std::filesystem::create_directories(store, error);
  if (error) throw_system_error("create the folder", store, error.value());
}

WriterLock start_building(const std::filesystem::path& store) {
  if (!is_unfinished(store) && !is_empty_but_for_lock(store)) create_store_folder(store);
  WriterLock lock(store);
  if (is_unfinished(store)) remove_unfinished(store);
  // Somebody may have finished since, and a user's own files are not ours to remove.
  if (!is_empty_but_for_lock(store)) refuse_folder(store);
  (void)File::create(store / kUnfinishedName);
  sync_directory(store);
  return lock;
}

void end_building(const std::filesystem::path& store) {
  std::error_code ignored;
  std::filesystem::remove(store / kUnfinishedName, ignored);
}

void commit_generation(const std::filesystem::path& store, const Manifest& before, const Manifest& after) {
  const std::set<std::string> old_names = named_files(before);
  std::vector<FileEntry> fresh;
  for (const FileEntry& entry : after.files())
    if (!old_names.contains(entry.path)) fresh.push_back(entry);
  sync_files(store, fresh);
  write_manifest(store, after);
  const std::set<std::string> new_names = named_files(after);
  std::error_code ignored;
  for (const std::string& name : old_names)
    if (!new_names.contains(name)) std::filesystem::remove(store / name, ignored);
}

void remove_strays(const std::filesystem::path& store, const Manifest& manifest) {
  const std::set<std::string> names = named_files(manifest);
  std::error_code ignored;
  std::filesystem::remove(store / (std::string(kManifestName) + ".new"), ignored);
  end_building(store);
  for (const char* folder : kFolders) {
    std::error_code missing;
    for (const auto& item : std::filesystem::directory_iterator(store / folder, missing))
      if (!names.contains(std::string(folder) + "/" + item.path().filename().string()))
        std::filesystem::remove(item.path(), ignored);
  }
}

}  // namespace unweave
