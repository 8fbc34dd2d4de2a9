// engine/graph/store.cpp - locks a store, marks unfinished ones, and swaps the manifest of one generation for the next.
#include "engine/graph/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/spool_file.h"
#include "storage/io/store_folders.h"

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

/// Whether a store in the making has an entry of this name in its folder, besides its mark and its lock.
bool is_of_building(const std::string& name) {
  return name == new_manifest_name() || name == kImportFolder || name.starts_with(SpoolFile::kPrefix) ||
         std::find(std::begin(kStoreFolders), std::end(kStoreFolders), name) != std::end(kStoreFolders);
}

/// What lies in a folder, nothing where it is missing. An error is not taken for an empty folder.
std::filesystem::directory_iterator list_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::directory_iterator items(folder, error);
  if (error && error != std::errc::no_such_file_or_directory) throw_system_error("list", folder, error.value());
  return items;
}

/// What the mark says, or one byte more than it should.
std::string read_mark(const std::filesystem::path& store) {
  std::string mark(kMark.size() + 1, ' ');
  std::ifstream in(store / kUnfinishedName);
  in.read(mark.data(), static_cast<std::streamsize>(mark.size()));
  mark.resize(static_cast<std::size_t>(in.gcount()));
  return mark;
}

/// Nothing, or what a process leaves that is killed before it has marked the folder as its own.
bool holds_nothing(const std::filesystem::path& store) {
  std::error_code error;
  if (!std::filesystem::is_directory(store, error)) return false;
  for (const auto& item : list_folder(store)) {
    const std::filesystem::path name = item.path().filename();
    if (!item.is_regular_file(error) || error) return false;
    // Until a mark is durable there is nothing beside it, and a power cut may leave its bytes unwritten.
    const bool unwritten = name == kUnfinishedName && read_mark(store) == std::string(kMark.size(), '\0');
    if (name != kLockName && name != kUnfinishedName) return false;
    if (item.file_size(error) != 0 && !unwritten) return false;
  }
  return !error;
}

/// Whether a process that was building a store here was killed, or is at work: its mark is there, and nothing else that
/// a user might miss.
bool is_unfinished(const std::filesystem::path& store) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(store / kUnfinishedName, error) || read_mark(store) != kMark) return false;
  for (const auto& item : std::filesystem::directory_iterator(store, error)) {
    const std::string name = item.path().filename().string();
    if (name != kLockName && name != kUnfinishedName && !is_of_building(name)) return false;
  }
  return !error;
}

void remove_building_mark(const std::filesystem::path& store) {
  std::error_code ignored;
  std::filesystem::remove(store / kUnfinishedName, ignored);
}

/// Removes what building puts into a store.
void remove_building(const std::filesystem::path& store) {
  clear_building(store);
  sync_directory(store);
  remove_building_mark(store);  // last: what a kill or a power cut leaves until then is known as ours
}

/// Whether the lock is still the file of its name: whoever gives up a folder removes it.
bool is_current(int lock, const std::filesystem::path& path) {
  struct stat held {};
  struct stat named {};
  return ::fstat(lock, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

}  // namespace

WriterLock::WriterLock(const std::filesystem::path& store)
    : path_(store / kLockName),
      descriptor_(::open((store / kLockName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)) {
  if (descriptor_ < 0) throw_system_error("open", store / kLockName, errno);
  int error = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
  if (error == 0 && is_current(descriptor_, store / kLockName)) {
    struct stat held {};
    // Always empty: what somebody else has written there is no part of the store.
    if (::fstat(descriptor_, &held) == 0 && (held.st_size == 0 || ::ftruncate(descriptor_, 0) == 0)) return;
    error = errno;
  }
  ::close(descriptor_);
  if (error != 0 && error != EWOULDBLOCK) throw_system_error("lock", store / kLockName, error);
  throw ResourceError(store.string() + ": another process is writing this store; wait until it ends");
}

WriterLock::WriterLock(WriterLock&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

void WriterLock::require_held() const {
  if (!is_current(descriptor_, path_))
    throw ResourceError(
        path_.string() +
        ": the lock was removed while this process was writing, and another one may write by now; nothing "
        "more is written: give the command again");
}

WriterLock::~WriterLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void create_store_folder(const std::filesystem::path& store) {
  std::error_code error;
  if (std::filesystem::exists(store, error)) {
    if (!std::filesystem::is_directory(store, error) || !std::filesystem::is_empty(store, error)) refuse_folder(store);
    return;
  }
  make_folders(store);
}

WriterLock start_building(const std::filesystem::path& store, bool keeps) {
  if (!is_unfinished(store) && !holds_nothing(store)) create_store_folder(store);
  WriterLock lock(store);
  std::error_code missing;
  if (keeps && is_unfinished(store) && std::filesystem::exists(store / kImportFolder, missing)) return lock;
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

void clear_building(const std::filesystem::path& store, const std::set<std::string>& named) {
  std::error_code ignored;
  std::vector<std::filesystem::path> unnamed;
  for (const auto& item : std::filesystem::directory_iterator(store, ignored)) {
    if (!is_of_building(item.path().filename().string())) continue;
    if (named.empty() || !item.is_directory(ignored)) {
      unnamed.push_back(item.path());
      continue;
    }
    for (const auto& file : std::filesystem::recursive_directory_iterator(item.path(), ignored))
      if (!file.is_directory(ignored) && !named.contains(file.path().lexically_relative(store).generic_string()))
        unnamed.push_back(file.path());
  }
  for (const auto& path : unnamed) std::filesystem::remove_all(path, ignored);
}

void abandon_building(const std::filesystem::path& store) {
  std::error_code ignored;
  try {
    // Where the commit failed at its very end, the manifest may come back, and then it needs its files.
    if (std::filesystem::remove(store / kManifestName, ignored)) sync_directory(store);
    remove_building(store);
  } catch (const std::exception&) {
    return;  // the next one who builds here goes on
  }
  std::filesystem::remove(store / kLockName, ignored);
}

void end_building(const std::filesystem::path& store) {
  std::error_code ignored;
  // Without the mark a folder of that name is not ours, so it goes first, and for good.
  if (std::filesystem::exists(store / kImportFolder, ignored) && read_mark(store) == kMark) {
    std::error_code error;
    std::filesystem::remove_all(store / kImportFolder, error);
    if (error) return;  // the mark stays, by which the next writer knows the folder for its own
    sync_directory(store);
  }
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
  std::error_code ignored;
  for (const std::string& name : named_files(before))
    if (!new_names.contains(name)) std::filesystem::remove(store / name, ignored);
}

std::vector<std::filesystem::path> strays_of(const std::filesystem::path& store, const Manifest& manifest) {
  const std::set<std::string> names = named_files(manifest);
  std::vector<std::filesystem::path> strays;
  for (const auto& item : list_folder(store)) {
    const std::string name = item.path().filename().string();
    if (name == new_manifest_name() || name.starts_with(SpoolFile::kPrefix)) strays.push_back(item.path());
  }
  const auto refuse_link = [&](const char* folder) {
    std::error_code ignored;  // what lies behind a link is not the store's, and a purge does not reach it
    if (std::filesystem::is_symlink(store / folder, ignored))
      throw DataError((store / folder).string() +
                      ": a symbolic link in the place of a folder of the store; put the folder there");
  };
  for (const char* folder : kReleaseFolders) refuse_link(folder);
  for (const char* folder : kStoreFolders) {
    refuse_link(folder);
    for (const auto& item : list_folder(store / folder))
      if (!names.contains(std::string(folder) + "/" + item.path().filename().string())) strays.push_back(item.path());
  }
  return strays;
}

void remove_strays(const std::filesystem::path& store, const Manifest& manifest) {
  end_building(store);
  std::error_code ignored;
  for (const std::filesystem::path& stray : strays_of(store, manifest)) std::filesystem::remove_all(stray, ignored);
}

}  // namespace unweave
