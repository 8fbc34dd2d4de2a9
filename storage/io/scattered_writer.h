// storage/io/scattered_writer.h - a new file written by many threads in any order, past the page
// cache where the file system allows it.
//
// The file is cut into segments of a WriteBehind. A segment is taken when its first byte comes and
// written when its last one has come, so what is at work at a time should lie close together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "storage/io/file.h"
#include "storage/io/write_behind.h"

namespace unweave {

class ScatteredWriter {
 public:
  /// Creates the file `path`, which must not exist; one that is expected to be small goes through
  /// the page cache. Others have `expected_bytes` of room from the start, and must not end up
  /// shorter. The queue must outlive this object.
  ScatteredWriter(const std::filesystem::path& path, std::uint64_t expected_bytes, WriteBehind& queue);

  /// Bytes of the file from `offset` on: each byte of it once, from any thread. Throws what a write
  /// before it threw.
  void put(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Hands what is left to the queue, after all puts. The file is complete when the queue is
  /// drained.
  void finish();
  /// Is gone once this object and all that the queue had of it are.
  [[nodiscard]] std::weak_ptr<const File> watch() const noexcept { return buffered_; }
  /// For reading, after the queue was drained: whole blocks of WriteBehind::kAlignment, as it may
  /// be opened past the page cache.
  [[nodiscard]] const File& file() const noexcept { return direct_ ? *direct_ : *buffered_; }

 private:
  struct Segment {
    std::byte* memory = nullptr;
    std::size_t filled = 0;
    std::size_t end = 0;  ///< after its last byte so far
  };
  void hand_over(std::uint64_t index, const Segment& segment);

  WriteBehind* queue_;
  std::shared_ptr<const File> buffered_, direct_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();  ///< guards open_
  std::map<std::uint64_t, Segment> open_;
};

}  // namespace unweave
