// storage/io/file.cpp - opens, reads, writes and replaces files by system calls.
#include "storage/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

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

bool is_link(const std::filesystem::path& path) {
  std::error_code unknown;
  return std::filesystem::is_symlink(std::filesystem::symlink_status(path, unknown));
}

}  // namespace

File File::open_to_read(const std::filesystem::path& path, Owner owner) {
  // A pipe without a writer would keep us waiting.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT && owner == Owner::store)
    throw_lost(path, is_link(path) ? "it is a link to a file that is not there" : "it is missing");
  if (fd < 0) throw_system_error("open", path, errno);
  File file(fd, path);
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw_system_error("examine", path, errno);
  if (S_ISREG(status.st_mode)) return file;
  if (owner == Owner::user) throw DataError(path.string() + ": not a regular file; name a file");
  throw_lost(path, S_ISDIR(status.st_mode) ? "it is a folder in the place of a file" : "it is not a regular file");
}

File File::open_read(const std::filesystem::path& path) {
  return open_to_read(path, Owner::user);
}

File File::open_stored(const std::filesystem::path& path) {
  return open_to_read(path, Owner::store);
}

File File::open_own(const std::filesystem::path& path) {
  if (is_link(path))
    throw DataError(
        path.string() +
        ": it is a link, and a store writes into its own folder alone; put the file that it leads to in its "
        "place");
  return open_stored(path);
}

File File::create(const std::filesystem::path& path, unsigned mode) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) throw_system_error("create", path, errno);
  return {fd, path};
}

File File::open_write(const std::filesystem::path& path) {
  // Who gives away a store must not choose which other files are written.
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) throw_system_error("open for writing", path, errno);
  return {fd, path};
}

File File::open_direct(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  if (fd < 0 && errno == EINVAL) return {};
  if (fd < 0) throw_system_error("open for writing", path, errno);
  return {fd, path};
}

File File::open_direct_to_read(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (fd < 0 && errno == EINVAL) return {};
  if (fd < 0) throw_system_error("open", path, errno);
  return {fd, path};
}

void require_disk_room(const std::filesystem::path& folder, std::uint64_t bytes, const std::string& what,
                       const std::string& otherwise) {
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(folder, unknown);
  if (unknown || bytes <= space.available) return;
  throw ResourceError(folder.string() + ": " + what + " need " + readable_bytes(bytes) + " of disk, " +
                      readable_bytes(space.available) + " are free; free some, or " + otherwise);
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
  struct stat status {};
  if (::fstat(fd_, &status) != 0) throw_system_error("examine", path_, errno);
  return static_cast<std::uint64_t>(status.st_size);
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

void File::sync() const {
  // These two: the file system cannot be written, or writes at once.
  if (::fdatasync(fd_) != 0 && errno != EROFS && errno != EINVAL) throw_system_error("sync", path_, errno);
}

void sync_directory(const std::filesystem::path& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw_system_error("open", directory, errno);
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  if (result != 0) throw_system_error("sync", directory, error);
}

void make_folders(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return;
  make_folders(folder.parent_path());
  if (std::filesystem::create_directory(folder, error)) sync_directory(folder / "..");
  if (error) throw_system_error("create the folder", folder, error.value());
}

void require_replaceable(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, ignored);
  if (std::filesystem::is_symlink(status))
    throw DataError(path.string() + ": is a link, which would be replaced; name the file that it leads to");
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw DataError(path.string() + ": exists and is not a regular file; name another file");
}

void replace_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode) {
  require_replaceable(path);
  std::filesystem::path temporary = path;
  temporary += ".new";
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  {
    const File file = File::create(temporary, mode);
    file.write_at(0, std::as_bytes(std::span(bytes)));
    file.sync();
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) throw_system_error("rename", temporary, errno);
  sync_directory(path.parent_path());
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit) {
  const File file = File::open_read(path);
  const std::uint64_t bytes = file.size();
  if (bytes > limit) throw FormatError(path, "byte " + std::to_string(limit), "the file is too large for its kind");
  std::string text(bytes, '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace unweave
