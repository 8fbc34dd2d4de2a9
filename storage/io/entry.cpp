// storage/io/entry.cpp - goes from folder to folder by descriptors and acts on names in them.
#include "storage/io/entry.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <system_error>
#include <utility>

#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr int kFolderFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kMostDepth = 64;  // folders below one that is removed: stores have three

EntryStatus status_from(const struct stat& status) noexcept {
  EntryStatus result;
  result.kind = S_ISREG(status.st_mode)   ? EntryKind::file
                : S_ISDIR(status.st_mode) ? EntryKind::folder
                : S_ISLNK(status.st_mode) ? EntryKind::link
                                          : EntryKind::other;
  result.bytes = static_cast<std::uint64_t>(status.st_size);
  result.device = status.st_dev;
  result.inode = status.st_ino;
  result.is_open_to_others = (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  result.modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return result;
}

/// The folder that holds the last name of a path, open. Where it cannot be had, the descriptor is
/// negative and errno says why: ELOOP where a link is in the way.
class Holder {
 public:
  explicit Holder(const std::filesystem::path& path) noexcept {
    const std::string& whole = path.native();
    if (whole.size() >= text_.size()) {
      errno = ENAMETOOLONG;
      return;
    }
    std::size_t length = whole.size();
    while (length > 1 && whole[length - 1] == '/') --length;
    std::memcpy(text_.data(), whole.data(), length);
    text_[length] = '\0';
    name_ = text_.data();
    descriptor_ = AT_FDCWD;
    if (*name_ == '/') {
      step("/");
      while (*name_ == '/') ++name_;
    }
    while (descriptor_ != -1) {
      char* const slash = std::strchr(name_, '/');
      if (slash == nullptr) break;
      *slash = '\0';
      step(name_);
      name_ = slash + 1;
      while (*name_ == '/') ++name_;
    }
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { leave(); }

  [[nodiscard]] bool is_open() const noexcept { return descriptor_ != -1; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const char* name() const noexcept { return *name_ == '\0' ? "." : name_; }  // the root, an empty path

 private:
  void leave() noexcept {
    if (descriptor_ < 0) return;
    const int kept = errno;
    ::close(descriptor_);
    errno = kept;
  }
  void step(const char* name) noexcept {
    const int next = ::openat(descriptor_, name, kFolderFlags);
    if (next < 0 && errno == ENOTDIR) {
      struct stat status {};
      if (::fstatat(descriptor_, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode))
        errno = ELOOP;
      else
        errno = ENOTDIR;
    }
    leave();
    descriptor_ = next < 0 ? -1 : next;
  }

  std::array<char, PATH_MAX> text_{};
  char* name_ = nullptr;
  int descriptor_ = -1;
};

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

/// A folder to be read; null, errno being set, where it cannot be had.
OpenFolder open_folder(int holder, const char* name) noexcept {
  const int descriptor = ::openat(holder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  DIR* const folder = ::fdopendir(descriptor);
  if (folder == nullptr) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
  }
  return OpenFolder(folder);
}

/// The next name in a folder but "." and ".."; null at the end, where errno is 0, and for an error.
const char* next_name(DIR* folder) noexcept {
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(folder);
    if (entry == nullptr) return nullptr;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry->d_name;
  }
}

/// Removes what has a name in a folder, and what lies below it; false, errno being set, where
/// something stays.
bool remove_below(int holder, const char* name, int depth) noexcept {
  if (::unlinkat(holder, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  if (depth == 0) {
    errno = ENAMETOOLONG;
    return false;
  }
  const OpenFolder folder = open_folder(holder, name);
  if (!folder) return false;
  // Names that are removed while a folder is read may hide others, so it is read until it is empty.
  for (bool found = true; found;) {
    found = false;
    ::rewinddir(folder.get());
    while (const char* const inner = next_name(folder.get())) {
      if (!remove_below(::dirfd(folder.get()), inner, depth - 1)) return false;
      found = true;
    }
    if (errno != 0) return false;
  }
  return ::unlinkat(holder, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

bool try_remove_tree(const std::filesystem::path& path) noexcept {
  const Holder holder(path);
  if (!holder.is_open()) return errno == ENOENT;
  return remove_below(holder.descriptor(), holder.name(), kMostDepth);
}

/// Removes a name; -1, errno being set, where that fails.
int remove_name(const std::filesystem::path& path) noexcept {
  const Holder holder(path);
  if (!holder.is_open()) return -1;
  if (::unlinkat(holder.descriptor(), holder.name(), 0) == 0) return 0;
  // Linux says EISDIR for a folder; EPERM is what other systems may say.
  if (errno != EISDIR && errno != EPERM) return -1;
  return ::unlinkat(holder.descriptor(), holder.name(), AT_REMOVEDIR);
}

std::string unique_name(std::string_view prefix) {
  std::random_device random;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x%08x", random(), random());
  return std::string(prefix) + digits.data();
}

/// The first link on the way to a path, or at it; empty where there is none.
std::filesystem::path first_link(const std::filesystem::path& path) {
  std::filesystem::path at;
  for (const auto& part : path) {
    at /= part;
    struct stat status {};
    if (::lstat(at.c_str(), &status) != 0) break;
    if (S_ISLNK(status.st_mode)) return at;
  }
  return {};
}

}  // namespace

std::filesystem::path resolved(const std::filesystem::path& path) {
  if (first_link(path).empty()) return path;
  std::error_code unknown;
  std::filesystem::path found = std::filesystem::weakly_canonical(path, unknown);
  return unknown ? path : found;
}

std::filesystem::path resolved_parent(const std::filesystem::path& path) {
  return path.has_parent_path() ? resolved(path.parent_path()) / path.filename() : path;
}

void throw_entry_error(std::string_view action, const std::filesystem::path& path, int errno_value) {
  if (errno_value == ELOOP) {
    const std::filesystem::path link = first_link(path);
    throw DataError(
        (link.empty() ? path : link).string() +
        ": it is a link, and a store lies in its own folder alone; put what the link leads to in its place");
  }
  if (errno_value == EISDIR) throw DataError(path.string() + ": it is a folder in the place of a file; move it away");
  if (errno_value == ENXIO) throw DataError(path.string() + ": it is not a regular file; move it away");
  throw_system_error(action, path, errno_value);
}

EntryStatus status_of(const std::filesystem::path& path) {
  const Holder holder(path);
  struct stat status {};
  if (holder.is_open() && ::fstatat(holder.descriptor(), holder.name(), &status, AT_SYMLINK_NOFOLLOW) == 0)
    return status_from(status);
  if (errno == ENOENT || errno == ENOTDIR) return {};
  throw_entry_error("look at", path, errno);
}

std::optional<EntryStatus> try_status_of(const std::filesystem::path& path) noexcept {
  const Holder holder(path);
  struct stat status {};
  if (!holder.is_open()) return std::nullopt;
  if (::fstatat(holder.descriptor(), holder.name(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return status_from(status);
}

bool has_other_names(int descriptor) noexcept {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 1;
}

EntryStatus status_of_open(int descriptor, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw_system_error("examine", path, errno);
  return status_from(status);
}

std::vector<Entry> list_folder(const std::filesystem::path& folder) {
  std::vector<Entry> entries;
  const Holder holder(folder);
  const OpenFolder open = holder.is_open() ? open_folder(holder.descriptor(), holder.name()) : nullptr;
  if (!open) {
    if (errno == ENOENT) return entries;
    // O_DIRECTORY makes it this for a link, too.
    throw_entry_error("list", folder, errno == ENOTDIR && !first_link(folder).empty() ? ELOOP : errno);
  }
  while (const char* const name = next_name(open.get())) {
    struct stat status {};
    // What is removed meanwhile is not there.
    if (::fstatat(::dirfd(open.get()), name, &status, AT_SYMLINK_NOFOLLOW) == 0)
      entries.push_back({folder / name, status_from(status).kind});
    else if (errno != ENOENT)
      throw_entry_error("look at", folder / name, errno);
  }
  if (errno != 0) throw_system_error("list", folder, errno);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.path < b.path; });
  return entries;
}

void walk_folder(const std::filesystem::path& folder, const std::function<void(const Entry&)>& visit) {
  for (const Entry& entry : list_folder(folder)) {
    visit(entry);
    if (entry.kind == EntryKind::folder) walk_folder(entry.path, visit);
  }
}

int try_open_entry(const std::filesystem::path& path, int flags, unsigned mode) noexcept {
  const Holder holder(path);
  if (!holder.is_open()) return -1;
  const bool folder = (flags & O_DIRECTORY) != 0;
  const auto refusal = [&](const struct stat& status) {
    if (S_ISLNK(status.st_mode)) return ELOOP;
    if (S_ISDIR(status.st_mode)) return folder ? 0 : EISDIR;
    return folder ? ENOTDIR : S_ISREG(status.st_mode) ? 0 : ENXIO;
  };
  // Opening a device may do something, so it is looked at before.
  struct stat status {};
  if (::fstatat(holder.descriptor(), holder.name(), &status, AT_SYMLINK_NOFOLLOW) == 0 && refusal(status) != 0) {
    errno = refusal(status);
    return -1;
  }
  const int descriptor =
      ::openat(holder.descriptor(), holder.name(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
  if (descriptor < 0) return -1;
  if (::fstat(descriptor, &status) == 0 && refusal(status) == 0) return descriptor;
  const int error = refusal(status);
  ::close(descriptor);
  errno = error != 0 ? error : EIO;
  return -1;
}

int open_entry(const std::filesystem::path& path, int flags, unsigned mode) {
  const int descriptor = try_open_entry(path, flags, mode);
  if (descriptor < 0) throw_entry_error("open", path, errno);
  return descriptor;
}

int create_unique(const std::filesystem::path& folder, std::string_view prefix, std::filesystem::path& path) {
  for (;;) {
    path = folder / unique_name(prefix);
    const int descriptor = try_open_entry(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (descriptor >= 0) return descriptor;
    if (errno != EEXIST) throw_entry_error("create a temporary file", path, errno);
  }
}

std::filesystem::path make_unique_folder(const std::filesystem::path& folder, std::string_view prefix) {
  for (;;) {
    std::filesystem::path path = folder / unique_name(prefix);
    const Holder holder(path);
    if (holder.is_open() && ::mkdirat(holder.descriptor(), holder.name(), 0700) == 0) return path;
    if (errno != EEXIST) throw_entry_error("create a folder", path, errno);
  }
}

bool make_folder(const std::filesystem::path& folder) {
  const Holder holder(folder);
  if (!holder.is_open()) throw_entry_error("create the folder", folder, errno);
  if (::mkdirat(holder.descriptor(), holder.name(), 0777) == 0) return true;
  const int error = errno;
  if (error == EEXIST && is_folder(folder)) return false;
  throw_entry_error("create the folder", folder, error == EEXIST && !first_link(folder).empty() ? ELOOP : error);
}

void rename_entry(const std::filesystem::path& from, const std::filesystem::path& to) {
  const Holder old_holder(from);
  if (!old_holder.is_open()) throw_entry_error("rename", from, errno);
  const Holder new_holder(to);
  if (!new_holder.is_open()) throw_entry_error("rename to", to, errno);
  if (::renameat(old_holder.descriptor(), old_holder.name(), new_holder.descriptor(), new_holder.name()) != 0)
    throw_entry_error("rename", from, errno);
}

bool try_link_entry(const std::filesystem::path& from, const std::filesystem::path& to) noexcept {
  const Holder old_holder(from), new_holder(to);
  return old_holder.is_open() && new_holder.is_open() &&
         ::linkat(old_holder.descriptor(), old_holder.name(), new_holder.descriptor(), new_holder.name(), 0) == 0;
}

bool remove_entry(const std::filesystem::path& path) {
  if (remove_name(path) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw_entry_error("remove", path, errno);
}

bool drop_entry(const std::filesystem::path& path) noexcept {
  return remove_name(path) == 0;
}

void remove_tree(const std::filesystem::path& path) {
  if (!try_remove_tree(path)) throw_entry_error("remove", path, errno);
}

bool drop_tree(const std::filesystem::path& path) noexcept {
  return try_remove_tree(path);
}

bool set_times(const std::filesystem::path& path, std::int64_t seconds) noexcept {
  const Holder holder(path);
  const timespec time{static_cast<time_t>(seconds), 0};
  const std::array<timespec, 2> times{time, time};
  return holder.is_open() && ::utimensat(holder.descriptor(), holder.name(), times.data(), AT_SYMLINK_NOFOLLOW) == 0;
}

void sync_times(const std::filesystem::path& path) {
  const int descriptor = open_entry(path, is_folder(path) ? O_RDONLY | O_DIRECTORY : O_RDONLY);
  const int result = ::fsync(descriptor);  // which, unlike fdatasync, writes times
  const int error = errno;
  ::close(descriptor);
  if (result != 0 && error != EROFS && error != EINVAL) throw_system_error("sync", path, error);
}

std::optional<std::uint64_t> free_disk_bytes(const std::filesystem::path& folder) noexcept {
  const int descriptor = try_open_entry(folder, O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return std::nullopt;
  struct statvfs status {};
  const int result = ::fstatvfs(descriptor, &status);
  ::close(descriptor);
  if (result != 0) return std::nullopt;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

}  // namespace unweave
