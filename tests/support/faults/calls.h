// tests/support/faults/calls.h - the calls that can fail a program: those on files below one
// folder, and allocations.
//
// A test program that links calls.cpp has its own versions of them, which the linker puts before
// the library's, for libstdc++'s calls too. While a CallWatch lives they count, log what changes
// files, and fail where a fault says so.
#pragma once

#include <filesystem>
#include <string_view>

namespace unweave::testing {

/// Kinds of calls, as bits of a set.
enum Call : unsigned {
  kWrite = 1U << 0U,     ///< write, pwrite
  kSync = 1U << 1U,      ///< fsync, fdatasync, of files and folders
  kRename = 1U << 2U,    ///< rename
  kRemove = 1U << 3U,    ///< unlink, unlinkat, rmdir, remove
  kFolder = 1U << 4U,    ///< mkdir
  kOpen = 1U << 5U,      ///< open, openat, mkostemp
  kResize = 1U << 6U,    ///< ftruncate, fallocate
  kMap = 1U << 7U,       ///< mmap of a file
  kRead = 1U << 8U,      ///< read, pread
  kAllocate = 1U << 9U,  ///< operator new in all its forms and aligned_alloc, wherever called
};
inline constexpr unsigned kEveryFileCall =
    kWrite | kSync | kRename | kRemove | kFolder | kOpen | kResize | kMap | kRead;
/// Calls after which a disk holds something else.
inline constexpr unsigned kEveryChange = kWrite | kSync | kRename | kRemove | kFolder | kResize;

/// One call of a set fails, counted from 1; 0: none does.
struct Fault {
  unsigned calls = 0;
  long at = 0;
  int error = 0;         ///< errno; an allocation throws std::bad_alloc
  bool lasting = false;  ///< the later ones fail too; a write that finds the disk full (ENOSPC) is cut short first
  bool survey = false;   ///< no call fails; notes which allocations are the first of their place
};

/// Counts the calls of the fault's set, and logs changes (shared_log.h), below `folder` for the
/// lifetime of this object. One at a time.
class CallWatch {
 public:
  CallWatch(const std::filesystem::path& folder, const Fault& fault);
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;
};

/// Logs that the program under test acknowledges something at this moment.
void acknowledge(std::string_view what);

}  // namespace unweave::testing
