// storage/io/file.h - an open file: exact reads and writes at offsets, durable replacement. But for
// open_read(), no path leads through a link (entry.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace unweave {

/// What a disk writes as a whole: a power cut leaves all of a sector's write or nothing of it.
inline constexpr std::uint64_t kSectorBytes = 512;

/// Whether these bytes, which begin at `offset` of their file, are all zeros in one of their
/// sectors: where no part of what was to be written there is, the file had grown and was not
/// written.
[[nodiscard]] bool has_unwritten_sector(std::span<const std::byte> bytes, std::uint64_t offset) noexcept;

/// Throws ResourceError, better now than after half of the work, where the disk of `folder` has
/// fewer than `bytes` left for `what`; `otherwise` is what to do where none can be freed. Nothing
/// where the file system does not tell.
void require_disk_room(const std::filesystem::path& folder, std::uint64_t bytes, const std::string& what,
                       const std::string& otherwise);

/// Move-only owner of a file descriptor. Const members may run on any number of threads at once.
class File {
 public:
  File() = default;
  /// A file that a user names, through links of his own. Throws DataError when it is missing,
  /// unreadable or not a regular file.
  static File open_read(const std::filesystem::path& path);
  /// A file of a store. Throws DataError, also for a link; the errors say how a store gets it back.
  static File open_stored(const std::filesystem::path& path);
  /// Likewise; returns a file that is not open where it cannot be had.
  static File try_open_stored(const std::filesystem::path& path) noexcept;
  /// Creates a new file, readable and writable; throws when it exists. `mode`: who may do what, as
  /// for open(2).
  static File create(const std::filesystem::path& path, unsigned mode = 0644);
  /// Opens an existing file for reads and writes.
  static File open_write(const std::filesystem::path& path);
  /// Likewise a file of a store. Where it has another name (a hard link, as `cp -al` makes them),
  /// it is replaced by a copy of its own first, so that nothing outside the store changes with it.
  static File open_own(const std::filesystem::path& path);
  /// Opens an existing file for reads and writes past the page cache: offsets, lengths and memory
  /// are then multiples of 4,096. Returns a file that is not open where the file system refuses
  /// that.
  static File open_direct(const std::filesystem::path& path);
  /// Likewise, for reads alone.
  static File open_direct_to_read(const std::filesystem::path& path);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t size() const;

  /// Fills `out` from `offset`; throws FormatError when the file ends before.
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;
  /// Fills `out` as read_at() does, but the file may end after the first `least` bytes.
  void read_some_at(std::uint64_t offset, std::span<std::byte> out, std::size_t least) const;
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;
  void truncate(std::uint64_t bytes) const;
  /// Gives the disk space of these bytes back, where the file system can; they read as zeros then.
  void give_back(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// The disk may begin to write what was written here: a hint, so that sync() waits less.
  void begin_sync() const noexcept;
  /// Returns when data and length are durable. A failure is final: the caller must not go on with
  /// this store.
  void sync() const;

 private:
  static File open_as(const std::filesystem::path& path, int flags, std::string_view action);
  File(int fd, std::filesystem::path path) noexcept : fd_(fd), path_(std::move(path)) {}
  int fd_ = -1;
  std::filesystem::path path_;
};

/// Makes the names in a directory durable.
void sync_directory(const std::filesystem::path& directory);

/// Makes a folder and those above it where they are missing, their names durable.
void make_folders(const std::filesystem::path& folder);

/// Throws DataError where something is there that must not be replaced: a folder, a device, a pipe,
/// a link.
void require_replaceable(const std::filesystem::path& path);
/// Replaces `path`, a regular file where it is there, by `bytes` so that a crash leaves either the
/// old or the new file, durable on return.
void replace_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode = 0644);

/// Copies a file of a store into a new file.
void copy_stored(const std::filesystem::path& from, const std::filesystem::path& to);

/// The whole file of a store as text; throws DataError when it is missing, FormatError when it is
/// larger than `limit` bytes.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit);
/// Likewise of a file that a user names.
[[nodiscard]] std::string read_user_text(const std::filesystem::path& path, std::uint64_t limit);

}  // namespace unweave
