// storage/io/spool_file.cpp - creates unlinked temporary files, and appends to, reads and maps
// them.
#include "storage/io/spool_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/map_guard.h"

namespace unweave {

namespace {
constexpr std::size_t kMostBytesACall = std::size_t{1} << 30;  // Linux stops at 2 GiB
}

SpoolFile::SpoolFile(const std::filesystem::path& directory) {
  descriptor_ = create_unique(directory, kPrefix, name_);
  drop_entry(name_);
}

SpoolFile::~SpoolFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

SpoolFile::SpoolFile(SpoolFile&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_.exchange(0)) {}

SpoolFile& SpoolFile::operator=(SpoolFile&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(descriptor_, other.descriptor_);
  size_ = other.size_.exchange(size_);
  return *this;
}

std::uint64_t SpoolFile::append(std::span<const char> bytes) {
  const std::uint64_t begin = size_.fetch_add(bytes.size());
  write(begin, bytes);
  return begin;
}

void SpoolFile::write(std::uint64_t offset, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kMostBytesACall);
    const ssize_t done = ::pwrite(descriptor_, bytes.data(), count, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw_system_error("write", name_, errno);
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void SpoolFile::will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  (void)::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

void SpoolFile::forget() const noexcept {
  (void)::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);
}

void SpoolFile::read(std::uint64_t offset, std::span<char> out) const {
  while (!out.empty()) {
    const std::size_t count = std::min(out.size(), kMostBytesACall);
    const ssize_t done = ::pread(descriptor_, out.data(), count, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw_system_error("read back", name_, done == 0 ? EIO : errno);
    offset += static_cast<std::uint64_t>(done);
    out = out.subspan(static_cast<std::size_t>(done));
  }
}

MappedSpool::MappedSpool(const std::filesystem::path& directory, std::uint64_t most)
    : file_(directory), most_(std::max<std::uint64_t>(1, most)) {
  void* const address = ::mmap(nullptr, most_, PROT_READ, MAP_SHARED, file_.descriptor_, 0);
  if (address == MAP_FAILED) throw_system_error("map", file_.name_, errno);
  address_ = address;
  try {
    guard_map(as<std::byte>(), most_, file_.name_, file_.descriptor_);
  } catch (...) {
    ::munmap(address, most_);
    throw;
  }
}

MappedSpool::~MappedSpool() {
  if (address_ == nullptr) return;
  forget_map(as<std::byte>());
  ::munmap(address_, most_);
}

MappedSpool::MappedSpool(MappedSpool&& other) noexcept
    : file_(std::move(other.file_)), address_(std::exchange(other.address_, nullptr)), most_(other.most_) {}

MappedSpool& MappedSpool::operator=(MappedSpool&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(address_, other.address_);
  std::swap(most_, other.most_);
  return *this;
}

void MappedSpool::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  file_.write(offset, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace unweave
