// storage/npy/npy_writer.h - writes one NumPy array front to back, so that the file appears whole
// or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/io/file.h"
#include "storage/npy/npy_target.h"

namespace unweave {

/// A .npy file (format 1.0, C order, data at a multiple of 64 bytes), which numpy.load can map. Its
/// bytes lie under a temporary name beside `path` until finish(), which replaces what was there; a
/// writer that is destroyed before leaves nothing behind. A stream has had what was appended,
/// whatever becomes of the rest. Not for concurrent use.
class NpyWriter {
 public:
  /// `descr` is NumPy's name of the type ("<f4"), of `item_bytes` bytes. Throws DataError,
  /// ResourceError.
  NpyWriter(const NpyTarget& target, std::string_view descr, std::size_t item_bytes,
            std::span<const std::uint64_t> shape);
  ~NpyWriter();
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  template <class T>
  void append(std::span<const T> values) {
    append_bytes(std::as_bytes(values));
  }
  /// Durable on return. All elements of the shape must be there.
  void finish();

 private:
  void append_bytes(std::span<const std::byte> bytes);
  void flush();
  void create_file();
  std::filesystem::path path_;
  std::ostream* stream_;
  File file_;
  std::vector<std::byte> buffer_;
  std::uint64_t written_ = 0;
  std::uint64_t wanted_ = 0;  ///< bytes of header and elements
};

}  // namespace unweave
