// storage/input/bytes/raw_bytes.h - unbuffered streams of bytes: a file or pipe, gzip, zstd, a
// member of a zip archive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/input/bytes/byte_source.h"

namespace unweave {

/// Bytes in order. Not thread-safe.
class RawBytes {
 public:
  RawBytes() = default;
  virtual ~RawBytes() = default;
  RawBytes(const RawBytes&) = delete;
  RawBytes& operator=(const RawBytes&) = delete;

  /// Reads at least one byte into `out` (not empty) and returns how many; 0 at the end of the
  /// stream, which is reached only if the stream is whole: checksums agree and nothing was cut off.
  /// Throws DataError naming the file.
  virtual std::size_t read(std::span<char> out) = 0;

  /// Where a line lies that read() has given, counted from 1, for messages: "line 17".
  [[nodiscard]] virtual std::string place_of_line(std::uint64_t line) const { return "line " + std::to_string(line); }

  /// As ByteSource::table_header().
  [[nodiscard]] virtual std::vector<std::string> table_header() const { return {}; }

  /// As ByteSource::require_order_of_nodes().
  virtual void require_order_of_nodes() const {}

  /// Skips `count` bytes. May pass the end, where read() then returns 0.
  virtual void skip(std::uint64_t count);
};

/// Bytes that are made of others some at a time, such as the lines of a table.
class MadeBytes : public RawBytes {
 public:
  std::size_t read(std::span<char> out) final;

 protected:
  /// Puts the next bytes into an empty `text`; leaves it empty at the end.
  virtual void make(std::string& text) = 0;

 private:
  std::string text_;
  std::size_t given_ = 0;  ///< bytes of it that were read
};

/// A file as it lies on disk, or standard input for "-", and its first bytes.
struct OpenedFile {
  std::unique_ptr<RawBytes> bytes;  ///< starts at byte 0, head included
  std::string head;                 ///< the first 4 bytes, or all of a shorter file
  bool regular = false;             ///< opening the path again gives the same bytes
};
[[nodiscard]] OpenedFile open_plain_bytes(const std::filesystem::path& path);

/// The contents of gzip data (one or more members; CRC and length checked). `name` is for messages.
[[nodiscard]] std::unique_ptr<RawBytes> open_gzip_bytes(std::unique_ptr<RawBytes> compressed,
                                                        const std::filesystem::path& name);

/// The contents of zstd data (one or more frames, checksums checked where present). No window is
/// larger than that of the first frame, which is charged, or kUsualWindow.
[[nodiscard]] std::unique_ptr<RawBytes> open_zstd_bytes(std::unique_ptr<RawBytes> compressed,
                                                        const std::filesystem::path& name, const ChargeReader& charge);

/// A stream of the bytes of `source`, which a thread of its own reads ahead into 1 MiB. The
/// destructor waits for a read that is under way, so the source must not be one that can keep a
/// reader waiting, such as a pipe.
[[nodiscard]] std::unique_ptr<RawBytes> read_ahead(std::unique_ptr<RawBytes> source);

/// The lines of all parts of a table in a folder, in the order of their names (part-2 before
/// part-10), each of which may be compressed and may repeat the header of the first.
/// place_of_line() may run while another thread reads. Throws InputError.
[[nodiscard]] std::unique_ptr<RawBytes> open_folder_bytes(const InputFile& folder);

/// The contents of one member of a zip archive, found by its directory (zip_directory.h). `path` is
/// a regular file.
[[nodiscard]] std::unique_ptr<RawBytes> open_zip_bytes(const std::filesystem::path& path, const std::string& member);

/// Names of the members of a zip archive, in the archive's order.
[[nodiscard]] std::vector<std::string> list_zip_members(const std::filesystem::path& path);

}  // namespace unweave
