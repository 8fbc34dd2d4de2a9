// storage/io/file.cpp - opens, reads, writes and replaces files by system calls.
#include "storage/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/readable_bytes.h"

namespace unweave {

bool has_unwritten_sector(std::span<const std::byte> bytes, std::uint64_t offset) noexcept {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min<std::size_t>(bytes.size(), kSectorBytes - offset % kSectorBytes));
    if (std::all_of(part.begin(), part.end(), [](std::byte byte) { return byte == std::byte{0}; })) return true;
    bytes = bytes.subspan(part.size());
    offset += part.size();
  }
  return false;
}

namespace {

/// Throws for a file of a store that is not there, or is no file.
[[noreturn]] void throw_lost(const std::filesystem::path& path, const std::string& what) {
  throw DataError(path.string() + ": " + what + "; " + operation("repair") +
                  " makes anew what follows from other files; else restore the file from a copy");
}

std::string text_of(const File& file, std::uint64_t limit) {
  const std::uint64_t bytes = file.size();
  if (bytes > limit)
    throw FormatError(file.path(), "byte " + std::to_string(limit), "the file is too large for its kind");
  std::string text(bytes, '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace

File File::open_read(const std::filesystem::path& path) {
  // A pipe without a writer would keep us waiting.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw_system_error("open", path, errno);
  File file(fd, path);
  if (status_of_open(fd, path).kind != EntryKind::file)
    throw DataError(path.string() + ": not a regular file; name a file");
  return file;
}

File File::open_stored(const std::filesystem::path& path) {
  const int fd = try_open_entry(path, O_RDONLY);
  if (fd >= 0) return {fd, path};
  if (errno == ENOENT) throw_lost(path, "it is missing");
  if (errno == EISDIR) throw_lost(path, "it is a folder in the place of a file");
  if (errno == ENXIO) throw_lost(path, "it is not a regular file");
  throw_entry_error("open", path, errno);
}

File File::try_open_stored(const std::filesystem::path& path) noexcept {
  const int fd = try_open_entry(path, O_RDONLY);
  try {
    if (fd >= 0) return {fd, path};
  } catch (...) {  // no memory for the path
    ::close(fd);
  }
  return {};
}

File File::open_as(const std::filesystem::path& path, int flags, std::string_view action) {
  const int fd = try_open_entry(path, flags);
  if (fd < 0 && errno == EINVAL && (flags & O_DIRECT) != 0) return {};
  if (fd < 0) throw_entry_error(action, path, errno);
  return {fd, path};
}

File File::create(const std::filesystem::path& path, unsigned mode) {
  const int fd = try_open_entry(path, O_RDWR | O_CREAT | O_EXCL, mode);
  if (fd < 0) throw_entry_error("create", path, errno);
  return {fd, path};
}

File File::open_write(const std::filesystem::path& path) {
  return open_as(path, O_RDWR, "open for writing");
}

File File::open_own(const std::filesystem::path& path) {
  File file = open_write(path);
  struct stat status {};
  if (!has_other_names(file.descriptor()) || ::fstat(file.descriptor(), &status) != 0) return file;
  std::filesystem::path copy = path;
  copy += ".own";
  drop_entry(copy);  // a killed process may have left one
  const File own = create(copy, status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO));
  std::vector<std::byte> piece(std::size_t{1} << 20);
  const std::uint64_t size = file.size();
  for (std::uint64_t at = 0; at < size; at += piece.size()) {
    const auto some =
        std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), size - at)));
    file.read_at(at, some);
    own.write_at(at, some);
  }
  own.sync();
  rename_entry(copy, path);
  sync_directory(path.parent_path());
  return open_write(path);
}

File File::open_direct(const std::filesystem::path& path) {
  return open_as(path, O_RDWR | O_DIRECT, "open for writing");
}

File File::open_direct_to_read(const std::filesystem::path& path) {
  return open_as(path, O_RDONLY | O_DIRECT, "open");
}

void require_disk_room(const std::filesystem::path& folder, std::uint64_t bytes, const std::string& what,
                       const std::string& otherwise) {
  const std::optional<std::uint64_t> free = free_disk_bytes(folder);
  if (!free || bytes <= *free) return;
  throw ResourceError(folder.string() + ": " + what + " need " + readable_bytes(bytes) + " of disk, " +
                      readable_bytes(*free) + " are free; free some, or " + otherwise);
}

File::File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
  }
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

std::uint64_t File::size() const {
  return status_of_open(fd_, path_).bytes;
}

void File::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  read_some_at(offset, out, out.size());
}

void File::read_some_at(std::uint64_t offset, std::span<std::byte> out, std::size_t least) const {
  for (std::size_t done = 0; done < least;) {
    const ssize_t got = ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0) {
      if (errno == EINTR) continue;
      throw_system_error("read", path_, errno);
    }
    if (got == 0) throw FormatError(path_, "byte " + std::to_string(offset + done), "the file ends here, too early");
    done += static_cast<std::size_t>(got);
  }
}

void File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0) {
      if (errno == EINTR) continue;
      throw_system_error("write", path_, errno);
    }
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void File::truncate(std::uint64_t bytes) const {
  if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) throw_system_error("truncate", path_, errno);
}

void File::give_back(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  ::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

void File::begin_sync() const noexcept {
  (void)::sync_file_range(fd_, 0, 0, SYNC_FILE_RANGE_WRITE);
}

void File::sync() const {
  // These two: the file system cannot be written, or writes at once.
  if (::fdatasync(fd_) != 0 && errno != EROFS && errno != EINVAL) throw_system_error("sync", path_, errno);
}

void sync_directory(const std::filesystem::path& directory) {
  const int fd = open_entry(directory, O_RDONLY | O_DIRECTORY);
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  if (result != 0) throw_system_error("sync", directory, error);
}

void make_folders(const std::filesystem::path& folder) {
  if (folder.empty() || is_folder(folder)) return;
  make_folders(folder.parent_path());
  if (make_folder(folder)) sync_directory(folder / "..");
}

void require_replaceable(const std::filesystem::path& path) {
  switch (status_of(path).kind) {
    case EntryKind::none:
    case EntryKind::file:
      return;
    case EntryKind::link:
      throw DataError(path.string() + ": is a link, which would be replaced; name the file that it leads to");
    default:
      throw DataError(path.string() + ": exists and is not a regular file; name another file");
  }
}

void replace_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode) {
  require_replaceable(path);
  std::filesystem::path temporary = path;
  temporary += ".new";
  drop_entry(temporary);
  {
    const File file = File::create(temporary, mode);
    file.write_at(0, std::as_bytes(std::span(bytes)));
    file.sync();
  }
  rename_entry(temporary, path);
  sync_directory(path.parent_path());
}

void copy_stored(const std::filesystem::path& from, const std::filesystem::path& to) {
  constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
  const File source = File::open_stored(from);
  const File target = File::create(to);
  const std::uint64_t bytes = source.size();
  std::vector<std::byte> piece(std::min(bytes, kPieceBytes));
  for (std::uint64_t at = 0; at < bytes; at += kPieceBytes) {
    const auto part = std::span(piece).first(std::min(kPieceBytes, bytes - at));
    source.read_at(at, part);
    target.write_at(at, part);
  }
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit) {
  return text_of(File::open_stored(path), limit);
}

std::string read_user_text(const std::filesystem::path& path, std::uint64_t limit) {
  return text_of(File::open_read(path), limit);
}

}  // namespace unweave
