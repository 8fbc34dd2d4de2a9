// storage/io/stream_writer.h - writes a new file front to back, past the page cache where the file
// system allows it.
//
// Bytes gather in one of two aligned buffers while the other is on its way to the disk. What a
// store writes in bulk is not read again soon: kept out of the page cache, it costs no copies and
// displaces nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <memory>
#include <span>

#include "storage/io/file.h"

namespace unweave {

/// Not for concurrent use. Errors of a write (ResourceError, DataError) are thrown by a later call,
/// finish() at the latest.
class StreamWriter {
 public:
  explicit StreamWriter(File file);
  StreamWriter(StreamWriter&&) noexcept = default;
  StreamWriter& operator=(StreamWriter&&) noexcept = default;
  ~StreamWriter();

  void append(std::span<const std::byte> bytes);
  /// Writes what is left and gives the file back, for pages of it to be written again.
  File finish();
  [[nodiscard]] bool is_open() const noexcept { return file_ && file_->is_open(); }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_->path(); }

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{2} << 20;
  struct Free {
    void operator()(std::byte* bytes) const noexcept { std::free(bytes); }
  };
  using Buffer = std::unique_ptr<std::byte, Free>;

  void try_direct();  ///< small files do without: they go through the page cache
  void write_full_buffer();
  void wait();

  std::unique_ptr<File> file_;  ///< at a fixed place, for the write in flight
  Buffer filling_, writing_;
  std::size_t filled_ = 0;
  std::uint64_t written_ = 0;  ///< bytes given to the disk, in flight included
  bool direct_ = false;
  bool tried_direct_ = false;
  std::future<void> in_flight_;
};

}  // namespace unweave
