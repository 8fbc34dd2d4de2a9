// storage/formats/overflow_buffer.h - bytes that are appended, then read in any order: in memory up
// to a limit, beyond it in a temporary file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "storage/formats/sealed_file.h"
#include "storage/io/spool_file.h"

namespace unweave {

/// Not for concurrent use.
class OverflowBuffer {
 public:
  /// Holds at most `memory_limit` bytes in memory, 1 MiB more while it moves them to a file in the
  /// folder `directory`.
  OverflowBuffer(std::filesystem::path directory, std::uint64_t memory_limit);

  /// Throws ResourceError for a full disk.
  void append(std::span<const std::byte> bytes);
  template <class T>
  void append_values(std::span<const T> values) {
    append(std::as_bytes(values));
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Appends bytes [offset, offset + length) to `out`; the range lies within size().
  void copy_to(SealedWriter& out, std::uint64_t offset, std::uint64_t length);

 private:
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

  void spill();
  std::filesystem::path directory_;
  std::uint64_t memory_limit_;
  std::uint64_t size_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::optional<SpoolFile> spool_;
  std::vector<std::byte> read_buffer_;
};

}  // namespace unweave
