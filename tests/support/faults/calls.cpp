// tests/support/faults/calls.cpp - the C library's calls by way of system calls, with a count, a
// log and a fault.
//
// Nothing here allocates: allocations are among the calls.
#include "support/faults/calls.h"

#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>

#include "support/faults/shared_log.h"

namespace unweave::testing {

namespace {

constexpr int kMostFrames = 48;

std::atomic<bool> watching = false;
Fault chosen_fault;
char root[PATH_MAX];
std::size_t root_length = 0;
std::mutex mutex;  // order of the log = order of the calls

/// A path below the watched folder, relative to it.
struct Place {
  char whole[PATH_MAX + 16] = "";
  const char* path = nullptr;  ///< null: not below the folder
  bool nameless = false;       ///< removed, but open

  void set_relative() {
    const std::size_t length = std::strlen(whole);
    if (length < root_length || std::memcmp(whole, root, root_length) != 0) return;
    if (length == root_length) path = whole + length;
    if (whole[root_length] == '/') path = whole + root_length + 1;
  }
};

void place_of(int file, Place& place) {
  if (!watching.load(std::memory_order_relaxed)) return;
  char link[] = "/proc/self/fd/-2147483648";
  char* digits = link + sizeof link - 1;
  int left = file;
  do *--digits = static_cast<char>('0' + left % 10);
  while ((left /= 10) > 0);
  std::memmove(link + 14, digits, static_cast<std::size_t>(link + sizeof link - digits));
  const ssize_t length = ::readlink(link, place.whole, sizeof place.whole - 1);
  if (length < 0) return;
  place.whole[length] = '\0';
  constexpr std::string_view kDeleted = " (deleted)";
  const auto size = static_cast<std::size_t>(length);
  if (size > kDeleted.size() && std::string_view(place.whole, size).ends_with(kDeleted)) {
    place.whole[size - kDeleted.size()] = '\0';
    place.nameless = true;
  }
  place.set_relative();
}

void place_of(int folder, const char* path, Place& place) {
  if (!watching.load(std::memory_order_relaxed)) return;
  if (path[0] == '/') {
    std::strncpy(place.whole, path, sizeof place.whole - 1);
    place.set_relative();
  } else if (folder != AT_FDCWD) {
    place_of(folder, place);  // which may be the one that holds the watched folder
    if (place.whole[0] == '\0') return;
    place.path = nullptr;
    const std::size_t length = std::strlen(place.whole);
    place.whole[length] = '/';
    std::strncpy(place.whole + length + 1, path, sizeof place.whole - length - 2);
    place.set_relative();
  }
}

long count(Call call) {
  return (chosen_fault.calls & call) == 0 ? 0 : SharedLog::get().count();
}

bool is_hit(long number) {
  return number > 0 && chosen_fault.at > 0 &&
         (number == chosen_fault.at || (chosen_fault.lasting && number > chosen_fault.at));
}

/// True when this call is to fail; errno is set.
bool fails(Call call) {
  if (!is_hit(count(call))) return false;
  errno = chosen_fault.error;
  return true;
}

template <class... Details>
void log(Operation::Kind kind, const Details&... details) {
  SharedLog::get().add(kind, details...);
}

void log_write(const Place& place, const void* bytes, ssize_t written, off_t offset) {
  if (written > 0 && !place.nameless)
    log(Operation::Kind::write, place.path, "", static_cast<std::uint64_t>(offset), bytes,
        static_cast<std::size_t>(written));
}

ssize_t write_at(int file, const void* bytes, size_t size, off_t offset) {
  Place place;
  place_of(file, place);
  if (place.path == nullptr) return ::syscall(SYS_pwrite64, file, bytes, size, offset);
  const std::scoped_lock lock(mutex);
  if (const long number = count(kWrite); is_hit(number)) {
    size = size / 2 / 512 * 512;
    if (!chosen_fault.lasting || chosen_fault.error != ENOSPC || number != chosen_fault.at || size == 0) {
      errno = chosen_fault.error;
      return -1;
    }
  }
  const ssize_t written = ::syscall(SYS_pwrite64, file, bytes, size, offset);
  log_write(place, bytes, written, offset);
  return written;
}

int sync(long call, int file) {
  Place place;
  place_of(file, place);
  if (place.path == nullptr) return static_cast<int>(::syscall(call, file));
  const std::scoped_lock lock(mutex);
  const bool failed = fails(kSync);
  if (!place.nameless) log(failed ? Operation::Kind::lost_sync : Operation::Kind::sync, place.path);
  return failed ? -1 : 0;  // nobody pulls the plug on the disk itself
}

int resize(int file, off_t length) {
  Place place;
  place_of(file, place);
  if (place.path == nullptr) return static_cast<int>(::syscall(SYS_ftruncate, file, length));
  const std::scoped_lock lock(mutex);
  if (fails(kResize)) return -1;
  const auto result = static_cast<int>(::syscall(SYS_ftruncate, file, length));
  if (result == 0 && !place.nameless) log(Operation::Kind::resize, place.path, "", static_cast<std::uint64_t>(length));
  return result;
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  Place place;
  if ((flags & O_PATH) == 0)
    place_of(folder, path, place);  // what is opened on the way to a file is no call of its own
  if (place.path == nullptr) return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
  const std::scoped_lock lock(mutex);
  if (fails(kOpen)) return -1;
  const bool creates = (flags & O_CREAT) != 0 && ::syscall(SYS_faccessat, folder, path, F_OK) != 0;
  const auto file = static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
  if (file >= 0 && creates) log(Operation::Kind::create, place.path);
  if (file >= 0 && (flags & O_TRUNC) != 0) log(Operation::Kind::resize, place.path);
  return file;
}

int remove_at(int folder, const char* path, int flags) {
  Place place;
  place_of(folder, path, place);
  if (place.path == nullptr) return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
  const std::scoped_lock lock(mutex);
  if (fails(kRemove)) return -1;
  const auto result = static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
  if (result == 0) log(Operation::Kind::remove, place.path);
  return result;
}

void survey(long number) {
  const std::scoped_lock lock(mutex);
  void* frames[kMostFrames];
  const int depth = ::backtrace(frames, kMostFrames);
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a, by addresses
  for (int i = 0; i < depth; ++i) hash = (hash ^ reinterpret_cast<std::uintptr_t>(frames[i])) * 1099511628211U;
  SharedLog::get().add_allocation(hash, number);
}

bool allocation_fails() noexcept {
  if (!watching.load(std::memory_order_relaxed)) return false;
  const long number = count(kAllocate);
  if (number > 0 && chosen_fault.survey) survey(number);
  return is_hit(number);
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (allocation_fails()) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(std::max<std::size_t>(1, size));
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const memory = allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

CallWatch::CallWatch(const std::filesystem::path& folder, const Fault& wanted) {
  if (folder.native().size() >= sizeof root) throw std::length_error("a path too long to watch");
  std::strcpy(root, folder.c_str());
  root_length = folder.native().size();
  chosen_fault = wanted;
  static_cast<void>(SharedLog::get());
  void* frame = nullptr;
  static_cast<void>(::backtrace(&frame, 1));  // which allocates the first time
  watching = true;
}

CallWatch::~CallWatch() {
  watching = false;
}

void acknowledge(std::string_view what) {
  const std::string text(what);
  const std::scoped_lock lock(mutex);
  log(Operation::Kind::acknowledge, text.c_str());
}

}  // namespace unweave::testing

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {
using namespace unweave::testing;

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return write_at(file, bytes, size, offset);
}
ssize_t write(int file, const void* bytes, size_t size) {
  Place place;
  place_of(file, place);
  if (place.path == nullptr) return ::syscall(SYS_write, file, bytes, size);
  const off_t offset = ::syscall(SYS_lseek, file, 0, SEEK_CUR);
  const std::scoped_lock lock(mutex);
  if (fails(kWrite)) return -1;
  const ssize_t written = ::syscall(SYS_write, file, bytes, size);
  log_write(place, bytes, written, offset);
  return written;
}
ssize_t pread(int file, void* bytes, size_t size, off_t offset) {
  Place place;
  place_of(file, place);
  if (place.path != nullptr && fails(kRead)) return -1;
  return ::syscall(SYS_pread64, file, bytes, size, offset);
}
ssize_t read(int file, void* bytes, size_t size) {
  Place place;
  place_of(file, place);
  if (place.path != nullptr && fails(kRead)) return -1;
  return ::syscall(SYS_read, file, bytes, size);
}
int fsync(int file) {
  return sync(SYS_fsync, file);
}
int fdatasync(int file) {
  return sync(SYS_fdatasync, file);
}
int ftruncate(int file, off_t length) noexcept {
  return resize(file, length);
}
int fallocate(int file, int mode, off_t offset, off_t length) {
  Place place;
  place_of(file, place);
  if (place.path != nullptr && fails(kResize)) return -1;
  return static_cast<int>(::syscall(SYS_fallocate, file, mode, offset, length));
}
int renameat(int old_folder, const char* from, int new_folder, const char* to) noexcept {
  Place old_place, new_place;
  place_of(old_folder, from, old_place);
  place_of(new_folder, to, new_place);
  const auto rename = [&] { return static_cast<int>(::syscall(SYS_renameat2, old_folder, from, new_folder, to, 0)); };
  if (old_place.path == nullptr || new_place.path == nullptr) return rename();
  const std::scoped_lock lock(mutex);
  if (fails(kRename)) return -1;
  const int result = rename();
  if (result == 0) log(Operation::Kind::rename, old_place.path, new_place.path);
  return result;
}
int rename(const char* from, const char* to) noexcept {
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}
int unlink(const char* path) noexcept {
  return remove_at(AT_FDCWD, path, 0);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  return remove_at(folder, path, flags);
}
int rmdir(const char* path) noexcept {
  return remove_at(AT_FDCWD, path, AT_REMOVEDIR);
}
int remove(const char* path) noexcept {
  struct stat status {};
  const bool is_folder = ::lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
  return remove_at(AT_FDCWD, path, is_folder ? AT_REMOVEDIR : 0);
}
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  Place place;
  place_of(folder, path, place);
  if (place.path == nullptr) return static_cast<int>(::syscall(SYS_mkdirat, folder, path, mode));
  const std::scoped_lock lock(mutex);
  if (fails(kFolder)) return -1;
  const auto result = static_cast<int>(::syscall(SYS_mkdirat, folder, path, mode));
  if (result == 0) log(Operation::Kind::folder, place.path);
  return result;
}
int mkdir(const char* path, mode_t mode) noexcept {
  return mkdirat(AT_FDCWD, path, mode);
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_at(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_at(folder, path, flags, mode);
}
int mkostemp(char* pattern, int flags) {
  static std::atomic<unsigned> next = 0;
  char* const digits = pattern + std::strlen(pattern) - 6;
  unsigned number = ++next + 1000 * static_cast<unsigned>(::getpid());
  for (int i = 0; i < 6; ++i, number /= 10) digits[i] = static_cast<char>('0' + number % 10);
  return open_at(AT_FDCWD, pattern, flags | O_RDWR | O_CREAT | O_EXCL, 0600);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return allocate(size, alignment);
}
void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) noexcept {
  Place place;
  if (file >= 0) place_of(file, place);
  if (place.path != nullptr && fails(kMap)) return MAP_FAILED;
  return reinterpret_cast<void*>(::syscall(SYS_mmap, address, length, protection, flags, file, offset));
}
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)

void* operator new(std::size_t size) {
  return allocate_or_throw(size, 1);
}
void* operator new[](std::size_t size) {
  return allocate_or_throw(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 1);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
