// tests/support/stop_at_call.cpp - a library that is loaded before a program's others, counts the
// program's calls on files, and raises a signal before one of them.
//
//   UNWEAVE_STOP_AT="SIGNAL KIND CALL"   the signal, and the number of the call among those of its
//                                        kind, from 1; ten seconds later an alarm ends the program
//   UNWEAVE_COUNT_CALLS=FILE             the program writes there how many calls of each kind it
//                                        has made, when it ends by itself
//
// Calls of kind 0 create, write, sync, resize, rename or remove a file, or make a folder; those of
// kind 1 read at a place. What goes to standard output or standard error is no call.
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

enum Kind { change, look };

std::atomic<long> calls[2];

struct Stop {
  int signal = 0, kind = -1;
  long call = 0;

  Stop() {
    if (const char* const text = std::getenv("UNWEAVE_STOP_AT")) std::sscanf(text, "%d %d %ld", &signal, &kind, &call);
  }
};

void count(Kind kind) {
  static const Stop stop;
  if (++calls[kind] != stop.call || kind != stop.kind) return;
  ::alarm(10);
  ::kill(::getpid(), stop.signal);
}

template <class... Words>
auto counted(long number, Words... words) {
  count(change);
  return ::syscall(number, words...);
}

[[gnu::destructor]] void tell() {
  const long changes = calls[change], looks = calls[look];
  if (const char* const path = std::getenv("UNWEAVE_COUNT_CALLS")) {
    std::FILE* const file = std::fopen(path, "w");
    std::fprintf(file, "%ld %ld\n", changes, looks);
    std::fclose(file);
  }
}

int open_at(int folder, const char* path, int flags, va_list rest) {
  if ((flags & O_CREAT) == 0 && (flags & O_TMPFILE) != O_TMPFILE)
    return static_cast<int>(::syscall(SYS_openat, folder, path, flags));
  return static_cast<int>(counted(SYS_openat, folder, path, flags, va_arg(rest, mode_t)));
}

}  // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int file = open_at(AT_FDCWD, path, flags, rest);
  va_end(rest);
  return file;
}
int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int file = open_at(folder, path, flags, rest);
  va_end(rest);
  return file;
}
ssize_t pread(int file, void* bytes, size_t size, off_t offset) {
  count(look);
  return ::syscall(SYS_pread64, file, bytes, size, offset);
}
ssize_t write(int file, const void* bytes, size_t size) {
  if (file <= STDERR_FILENO) return ::syscall(SYS_write, file, bytes, size);
  return counted(SYS_write, file, bytes, size);
}
ssize_t writev(int file, const iovec* parts, int number) {
  if (file <= STDERR_FILENO) return ::syscall(SYS_writev, file, parts, number);
  return counted(SYS_writev, file, parts, number);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return counted(SYS_pwrite64, file, bytes, size, offset);
}
int fsync(int file) {
  return static_cast<int>(counted(SYS_fsync, file));
}
int fdatasync(int file) {
  return static_cast<int>(counted(SYS_fdatasync, file));
}
int ftruncate(int file, off_t length) noexcept {
  return static_cast<int>(counted(SYS_ftruncate, file, length));
}
int fallocate(int file, int mode, off_t offset, off_t length) {
  return static_cast<int>(counted(SYS_fallocate, file, mode, offset, length));
}
int rename(const char* from, const char* to) noexcept {
  return static_cast<int>(counted(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int renameat(int old_folder, const char* from, int new_folder, const char* to) noexcept {
  return static_cast<int>(counted(SYS_renameat2, old_folder, from, new_folder, to, 0));
}
int unlink(const char* path) noexcept {
  return static_cast<int>(counted(SYS_unlinkat, AT_FDCWD, path, 0));
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  return static_cast<int>(counted(SYS_unlinkat, folder, path, flags));
}
int rmdir(const char* path) noexcept {
  return static_cast<int>(counted(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}
int mkdir(const char* path, mode_t mode) noexcept {
  return static_cast<int>(counted(SYS_mkdirat, AT_FDCWD, path, mode));
}
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  return static_cast<int>(counted(SYS_mkdirat, folder, path, mode));
}
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
