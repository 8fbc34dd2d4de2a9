// storage/io/write_behind.h - segments of memory on their way to files: filled by whoever has
// something to write, written by a few threads of its own.
//
// The number of segments bounds what waits for the disk: whoever needs one when none is free waits
// for a write to end. The threads spend their time in the kernel; with files opened past the page
// cache they hardly use a processor.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "storage/io/file.h"

namespace unweave {

/// All members may be called from any thread. The destructor waits for the writes that were begun.
class WriteBehind {
 public:
  static constexpr std::size_t kAlignment = 4096;  ///< for memory, segments and offsets of writes past the page cache

  /// Cuts `memory`, which begins at a multiple of kAlignment and outlives this object, into
  /// segments of `segment_bytes`, a multiple of it; at least one.
  WriteBehind(std::span<std::byte> memory, std::size_t segment_bytes);
  ~WriteBehind();

  /// More memory of the same kind.
  void add(std::span<std::byte> memory);
  [[nodiscard]] std::size_t segment_bytes() const noexcept { return segment_bytes_; }
  /// A segment of its own for the caller, as soon as there is one. Throws the first error of a
  /// write.
  [[nodiscard]] std::byte* take();
  /// Writes the first `bytes` bytes of a taken segment to the file at `offset`, a multiple of
  /// kAlignment, and frees it: whole blocks of kAlignment through `direct`, if there is such a
  /// file, and the rest through `buffered`.
  void write(std::shared_ptr<const File> direct, std::shared_ptr<const File> buffered, std::uint64_t offset,
             std::byte* segment, std::size_t bytes);
  /// Throws the first error of a write, if there was one.
  void require_written();
  /// Returns when all that was given is written. Throws the first error of a write: ResourceError
  /// (full disk), DataError.
  void drain();

 private:
  static constexpr std::size_t kThreads = 4;  // writes in flight; more do not make a disk faster
  struct Write {
    std::shared_ptr<const File> direct, buffered;
    std::uint64_t offset = 0;
    std::byte* segment = nullptr;
    std::size_t bytes = 0;
  };
  void run();

  const std::size_t segment_bytes_;
  std::mutex mutex_;  ///< guards all below but the threads
  std::condition_variable freed_, given_;
  std::vector<std::byte*> free_;
  std::deque<Write> waiting_;
  std::size_t under_way_ = 0;
  std::exception_ptr failure_;
  bool closing_ = false;
  std::vector<std::jthread> threads_;  ///< last, so that they end before what they use
};

}  // namespace unweave
