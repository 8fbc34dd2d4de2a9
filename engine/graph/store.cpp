// engine/graph/store.cpp - locks a store, marks unfinished ones, and swaps the manifest of one
// generation for the next.
#include "engine/graph/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/formats/manifest.h"
#include "storage/formats/sealed_file.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/spool_file.h"
#include "storage/io/store_folders.h"
#include "storage/io/waiting_items.h"
#include "storage/types/file_entry.h"

namespace unweave {
namespace {

/// What that file says, so that a user's own of this name is not taken for ours.
constexpr std::string_view kMark = "A store of unweave is being built here.\n";

std::set<std::string> named_files(const Manifest& manifest) {
  std::set<std::string> names;
  for (const FileEntry& entry : manifest.files()) names.insert(entry.path);
  if (manifest.journal) names.insert(manifest.journal->path);
  return names;
}

[[noreturn]] void refuse_folder(const std::filesystem::path& store) {
  throw UsageError(store.string() + ": exists and is not an empty folder; name a new folder");
}

std::string new_manifest_name() {
  return std::string(kManifestName) + ".new";
}

/// Whether a store in the making has an entry of this name in its folder, besides its mark and its
/// lock.
bool is_of_building(const std::string& name) {
  return name == new_manifest_name() || name.starts_with(SpoolFile::kPrefix) ||
         std::find(std::begin(kStoreFolders), std::end(kStoreFolders), name) != std::end(kStoreFolders);
}

/// What the mark says; nothing where it is too long, or there is none.
std::string read_mark(const std::filesystem::path& store) {
  const File file = File::try_open_stored(store / kUnfinishedName);
  if (!file.is_open() || file.size() > kMark.size()) return {};
  std::string mark(file.size(), ' ');
  file.read_at(0, std::as_writable_bytes(std::span(mark)));
  return mark;
}

/// Nothing, or what a process leaves that is killed before it has marked the folder as its own.
bool holds_nothing(const std::filesystem::path& store) {
  if (!is_folder(store)) return false;
  for (const Entry& entry : list_folder(store)) {
    const std::string name = entry.name();
    if (entry.kind != EntryKind::file) return false;
    // Until a mark is durable there is nothing beside it, and a power cut may leave its bytes
    // unwritten.
    const bool unwritten = name == kUnfinishedName && read_mark(store) == std::string(kMark.size(), '\0');
    if (name != kLockName && name != kUnfinishedName) return false;
    if (status_of(entry.path).bytes != 0 && !unwritten) return false;
  }
  return true;
}

/// Whether a process that was building a store here was killed, or is at work: its mark is there,
/// and nothing else that a user might miss.
bool is_unfinished(const std::filesystem::path& store) {
  if (read_mark(store) != kMark) return false;
  for (const Entry& entry : list_folder(store)) {
    const std::string name = entry.name();
    if (name != kLockName && name != kUnfinishedName && !is_of_building(name)) return false;
  }
  return true;
}

void remove_building_mark(const std::filesystem::path& store) {
  drop_entry(store / kUnfinishedName);
}

/// Removes what building puts into a store.
void remove_building(const std::filesystem::path& store) {
  for (const Entry& entry : list_folder(store))
    if (is_of_building(entry.name())) drop_tree(entry.path);
  sync_directory(store);
  remove_building_mark(store);  // last: what a kill or a power cut leaves until then is known as ours
}

/// Whether the lock is still the file of its name: whoever gives up a folder removes it.
bool is_current(int lock, const std::filesystem::path& path) {
  const std::optional<EntryStatus> named = try_status_of(path);
  return named && named->is_same_file(status_of_open(lock, path));
}

/// The locks that this process has taken, by their descriptors: whoever asks for one again is not
/// told to wait for another process.
class OwnLocks {
 public:
  void add(int descriptor, const std::filesystem::path& path) {
    const EntryStatus file = status_of_open(descriptor, path);
    const std::scoped_lock lock(mutex_);
    files_.insert_or_assign(descriptor, Held{file, ::getpid()});
  }
  void remove(int descriptor) {
    const std::scoped_lock lock(mutex_);
    files_.erase(descriptor);
  }
  [[nodiscard]] bool have(int descriptor, const std::filesystem::path& path) {
    const EntryStatus file = status_of_open(descriptor, path);
    const std::scoped_lock lock(mutex_);
    return std::any_of(files_.begin(), files_.end(), [&](const auto& one) {
      return one.second.process == ::getpid() && one.second.file.is_same_file(file);
    });
  }

 private:
  struct Held {
    EntryStatus file;
    pid_t process;  ///< that took it: a fork has a copy of this object
  };
  std::mutex mutex_;
  std::map<int, Held> files_;
};

OwnLocks& own_locks() {
  static OwnLocks locks;
  return locks;
}

}  // namespace

WriterLock::WriterLock(const std::filesystem::path& store)
    : path_(store / kLockName),
      descriptor_(open_entry(store / kLockName, O_RDWR | O_CREAT, 0644)),
      process_(::getpid()) {
  int error = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
  if (error == 0 && is_current(descriptor_, store / kLockName)) {
    // Always empty: what somebody else has written there is no part of the store. What has another
    // name outside stays as it is there.
    if (has_other_names(descriptor_)) {
      replace_lock();
      own_locks().add(descriptor_, path_);
      return;
    }
    if (status_of_open(descriptor_, path_).bytes == 0 || ::ftruncate(descriptor_, 0) == 0) {
      own_locks().add(descriptor_, path_);
      return;
    }
    error = errno;
  }
  const bool is_own = own_locks().have(descriptor_, path_);
  ::close(descriptor_);
  if (error != 0 && error != EWOULDBLOCK) throw_system_error("lock", store / kLockName, error);
  if (is_own)
    throw ResourceError(store.string() + ": this process is writing this store already; close what has opened it");
  throw ResourceError(store.string() + ": another process is writing this store; wait until it ends");
}

/// By a file of its own, locked before it has the name. Whoever waits for the old one finds that it
/// is no longer the lock.
void WriterLock::replace_lock() {
  std::filesystem::path fresh = path_;
  fresh += ".own";
  drop_entry(fresh);
  const int descriptor = open_entry(fresh, O_RDWR | O_CREAT | O_EXCL, 0644);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor);
    ::close(std::exchange(descriptor_, -1));
    throw_system_error("lock", fresh, errno);
  }
  rename_entry(fresh, path_);
  ::close(std::exchange(descriptor_, descriptor));
}

WriterLock::WriterLock(WriterLock&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), process_(other.process_) {}

WriterLock WriterLock::share() const {
  const int descriptor = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) throw_system_error("lock", path_, errno);
  own_locks().add(descriptor, path_);
  return {path_, descriptor, process_};
}

void WriterLock::require_held() const {
  if (::getpid() != process_)
    throw UsageError(
        path_.parent_path().string() +
        ": it was opened for writing by another process, of which this one is a fork; open it after the fork");
  if (!is_current(descriptor_, path_))
    throw ResourceError(
        path_.string() +
        ": the lock was removed while this process was writing, and another one may write by now; nothing "
        "more is written: give the command again");
}

WriterLock::~WriterLock() {
  if (descriptor_ < 0) return;
  own_locks().remove(descriptor_);
  ::close(descriptor_);
}

void create_store_folder(const std::filesystem::path& store) {
  if (!has_entry(store)) return make_folders(store);
  if (!is_folder(store) || !list_folder(store).empty()) refuse_folder(store);
}

WriterLock start_building(const std::filesystem::path& store) {
  if (!is_unfinished(store) && !holds_nothing(store)) create_store_folder(store);
  WriterLock lock(store);
  if (is_unfinished(store)) remove_building(store);
  // Somebody may have finished since, and a user's own files are not ours to remove.
  if (!holds_nothing(store)) refuse_folder(store);
  remove_building_mark(store);
  const File mark = File::create(store / kUnfinishedName);
  mark.write_at(0, std::as_bytes(std::span(kMark)));
  mark.sync();
  sync_directory(store);
  sync_directory(store / "..");  // whoever made the folder
  return lock;
}

void abandon_building(const std::filesystem::path& store) {
  try {
    // Where the commit failed at its very end, the manifest may come back, and then it needs its
    // files.
    if (drop_entry(store / kManifestName)) sync_directory(store);
    remove_building(store);
  } catch (const std::exception&) {
    return;  // the next one who builds here goes on
  }
  drop_entry(store / kLockName);
}

void end_building(const std::filesystem::path& store) {
  remove_building_mark(store);
}

void sync_generation(const std::filesystem::path& store, const Manifest& before, const Manifest& after) {
  const std::set<std::string> old_names = named_files(before);
  std::vector<FileEntry> fresh;
  for (const FileEntry& entry : after.files())
    if (!old_names.contains(entry.path)) fresh.push_back(entry);
  sync_files(store, fresh);
}

void commit_generation(const std::filesystem::path& store, const Manifest& before, const Manifest& after) {
  sync_generation(store, before, after);
  write_manifest(store, after);
  const std::set<std::string> new_names = named_files(after);
  std::vector<std::filesystem::path> doomed;
  for (const std::string& name : named_files(before))
    if (!new_names.contains(name)) doomed.push_back(store / name);
  wait_together(doomed.size(), [&](std::size_t i) { drop_entry(doomed[i]); });  // a disk may have to discard each
}

std::vector<std::filesystem::path> strays_of(const std::filesystem::path& store, const Manifest& manifest) {
  const std::set<std::string> names = named_files(manifest);
  std::vector<std::filesystem::path> strays;
  for (const Entry& entry : list_folder(store))
    if (entry.name() == new_manifest_name() || entry.name().starts_with(SpoolFile::kPrefix))
      strays.push_back(entry.path);
  // What lies behind a link is not the store's, and a purge does not reach it: the listing throws.
  for (const char* folder : kReleaseFolders) static_cast<void>(list_folder(store / folder));
  for (const char* folder : kStoreFolders)
    for (const Entry& entry : list_folder(store / folder))
      if (!names.contains(std::string(folder) + "/" + entry.name())) strays.push_back(entry.path);
  return strays;
}

void remove_strays(const std::filesystem::path& store, const Manifest& manifest) {
  end_building(store);
  for (const std::filesystem::path& stray : strays_of(store, manifest)) drop_tree(stray);
}

}  // namespace unweave
