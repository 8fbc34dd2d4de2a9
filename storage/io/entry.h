// storage/io/entry.h - what lies at a path: looked at, listed, made, renamed, removed. No link is
// followed on the way.
//
// A store may come from somebody else, who must not choose what else on this machine is read,
// written or removed. So every path of a store goes through these functions and through File
// (file.h): they open its folders one after the other, each relative to the one before (openat with
// O_NOFOLLOW), and act on the last name alone. A link anywhere below the path that a user named is
// an error. That path itself may lead through links: resolved() takes them out where it comes in.
//
// Unless they say otherwise, these functions throw DataError, which names the link where there is
// one, and ResourceError.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unweave {

/// The path without links in it: what a user names, be it a store, a file to read or a folder.
/// Parts that do not exist stay as they are, and so does a path without links. Throws nothing but
/// std::bad_alloc.
[[nodiscard]] std::filesystem::path resolved(const std::filesystem::path& path);
/// Likewise, but what lies at the path itself is not looked at: a file that is to be written or
/// replaced.
[[nodiscard]] std::filesystem::path resolved_parent(const std::filesystem::path& path);

enum class EntryKind { none, file, folder, link, other };

struct EntryStatus {
  EntryKind kind = EntryKind::none;
  std::uint64_t bytes = 0;
  std::uint64_t device = 0, inode = 0;  ///< together they tell one file from another
  std::int64_t modified_ns = 0;         ///< since 1970
  bool is_open_to_others = false;       ///< the group or others have some right
  friend bool operator==(const EntryStatus&, const EntryStatus&) = default;
  [[nodiscard]] bool is_same_file(const EntryStatus& other) const noexcept {
    return device == other.device && inode == other.inode;
  }
};

/// What lies there; of kind `none` where nothing does.
[[nodiscard]] EntryStatus status_of(const std::filesystem::path& path);
/// Likewise; none where it cannot be told.
[[nodiscard]] std::optional<EntryStatus> try_status_of(const std::filesystem::path& path) noexcept;
/// Whether an open file has another name beside the one by which it was opened, which may lie
/// anywhere.
[[nodiscard]] bool has_other_names(int descriptor) noexcept;
/// That of an open file.
[[nodiscard]] EntryStatus status_of_open(int descriptor, const std::filesystem::path& path);

[[nodiscard]] inline bool has_entry(const std::filesystem::path& path) {
  return status_of(path).kind != EntryKind::none;
}
[[nodiscard]] inline bool is_file(const std::filesystem::path& path) {
  return status_of(path).kind == EntryKind::file;
}
[[nodiscard]] inline bool is_folder(const std::filesystem::path& path) {
  return status_of(path).kind == EntryKind::folder;
}

struct Entry {
  std::filesystem::path path;  ///< that of the folder, and the name
  EntryKind kind = EntryKind::none;
  [[nodiscard]] std::string name() const { return path.filename().string(); }
};

/// What lies in a folder, by name; nothing where there is no such folder.
[[nodiscard]] std::vector<Entry> list_folder(const std::filesystem::path& folder);
/// Calls `visit` for all that lies below a folder, a folder before what lies in it.
void walk_folder(const std::filesystem::path& folder, const std::function<void(const Entry&)>& visit);

/// Opens a regular file, or a folder with O_DIRECTORY, never waiting and never through a link.
/// `flags` and `mode` as for open(2); the caller closes it. Returns -1, errno being set, where it
/// cannot be had: ELOOP for a link, EISDIR for a folder, ENXIO for what is no regular file.
[[nodiscard]] int try_open_entry(const std::filesystem::path& path, int flags, unsigned mode = 0) noexcept;
/// Likewise, but throws.
[[nodiscard]] int open_entry(const std::filesystem::path& path, int flags, unsigned mode = 0);
/// Creates a file with a name that begins with `prefix` and is nobody else's, for its owner alone,
/// and opens it for reads and writes; `path` gets its path.
[[nodiscard]] int create_unique(const std::filesystem::path& folder, std::string_view prefix,
                                std::filesystem::path& path);

/// Makes a folder with a name that begins with `prefix` and is nobody else's, for its owner alone,
/// and returns its path.
[[nodiscard]] std::filesystem::path make_unique_folder(const std::filesystem::path& folder, std::string_view prefix);

/// Makes a folder; false where there is one.
bool make_folder(const std::filesystem::path& folder);
/// Gives what lies at `from` the name `to`, which replaces a file or a link of that name.
void rename_entry(const std::filesystem::path& from, const std::filesystem::path& to);
/// Gives a file another name beside its own; false where the file system cannot, or something has
/// that name.
[[nodiscard]] bool try_link_entry(const std::filesystem::path& from, const std::filesystem::path& to) noexcept;

/// Removes a file, an empty folder, or a link itself; false where there is nothing.
bool remove_entry(const std::filesystem::path& path);
/// Likewise where that is possible; whether something was removed.
bool drop_entry(const std::filesystem::path& path) noexcept;
/// Removes what lies there, and all below it where it is a folder. Links below it are removed, and
/// what they lead to stays.
void remove_tree(const std::filesystem::path& path);
/// Likewise as far as that is possible; whether nothing is left.
bool drop_tree(const std::filesystem::path& path) noexcept;

/// Gives what lies there this time, in seconds since 1970 (UTC), as that of its last change and of
/// its last access. Returns false where the system does not let this user. Durable once
/// sync_times() has returned.
[[nodiscard]] bool set_times(const std::filesystem::path& path, std::int64_t seconds) noexcept;
/// Makes the times of a file or a folder durable.
void sync_times(const std::filesystem::path& path);

/// Bytes that the disk of a folder has free for this user; none where the file system does not
/// tell.
[[nodiscard]] std::optional<std::uint64_t> free_disk_bytes(const std::filesystem::path& folder) noexcept;

/// Throws what is to be said of a failed system call on a path: of a link, which is named, where
/// one is in the way.
[[noreturn]] void throw_entry_error(std::string_view action, const std::filesystem::path& path, int errno_value);

}  // namespace unweave
