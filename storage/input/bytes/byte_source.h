// storage/input/bytes/byte_source.h - the bytes of a user's file in order, decompressed and
// buffered.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/input/input_file.h"

namespace unweave {

class RawBytes;

/// The largest window in bytes that zstd takes at its levels up to 19 without --long.
inline constexpr std::uint64_t kUsualWindow = std::uint64_t{1} << 23;

/// Buffered bytes. Gzip and zstd are recognised by their first bytes and decoded; a file named .gz
/// or .zst that is not one is an error, since a file cut off in its first bytes looks like that.
/// Not thread-safe.
///
/// Errors: missing, unreadable, cut short or corrupted files throw DataError naming the file. A
/// stream that reaches its end has passed all checksums of its container.
class ByteSource {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

  explicit ByteSource(const InputFile& file);
  /// Bytes that are made from a file, whose name is for messages.
  ByteSource(const InputFile& file, std::unique_ptr<RawBytes> bytes);
  ~ByteSource();
  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) = delete;

  /// What display_name() says.
  [[nodiscard]] const std::filesystem::path& name() const noexcept { return name_; }
  /// Whether constructing another source from the same InputFile gives the same bytes (false for
  /// pipes).
  [[nodiscard]] bool reopenable() const noexcept { return reopenable_; }

  [[nodiscard]] Header header() const noexcept { return header_; }
  /// What to do where a first line may be data or no data, for messages.
  [[nodiscard]] std::string header_remedy(const std::string& data, const std::string& no_data) const;
  /// Columns that are asked for, of an array, which whoever reads it chooses; those of a text are
  /// chosen already.
  [[nodiscard]] const std::string& columns() const noexcept { return columns_; }
  /// Where a line lies that was read, counted from 1, for messages.
  [[nodiscard]] std::string place_of_line(std::uint64_t line) const;

  /// The words of the first line of a table of which columns were chosen, once that was read; empty
  /// for anything else.
  [[nodiscard]] std::vector<std::string> table_header() const;

  /// What the user was asked for is a line for each node, in the order of the nodes, and the bytes
  /// were read to their end: throws InputError where other columns of the table say that the lines
  /// stand in another order (tables/line_order.h).
  void require_order_of_nodes() const;

  /// Gives a sentence, after the file's name, to who takes remarks; false where nobody does.
  bool remark(const std::string& sentence) const;

  /// All bytes in the buffer, at least `count` (<= kBufferBytes) unless the stream ends before.
  /// Valid until the next call that is not const.
  std::string_view peek(std::size_t count);
  /// Drops `count` bytes that peek() has shown.
  void consume(std::size_t count) noexcept { first_ += count; }
  /// Fills `out` as far as the stream goes; less than out.size() only at the end.
  std::size_t read(std::span<char> out);
  /// Skips `count` bytes; may pass the end.
  void skip(std::uint64_t count);

 private:
  std::filesystem::path name_;
  TakeRemark remark_;
  Header header_;
  std::string header_key_;
  std::string columns_;
  bool reopenable_ = false;
  void open(const InputFile& file);
  std::unique_ptr<RawBytes> raw_;
  std::vector<char> buffer_;
  std::size_t first_ = 0;  // bytes [first_, last_) of buffer_ wait
  std::size_t last_ = 0;
};

/// The extension of a name without its ".gz" or ".zst": ".npy" of "a.npy.gz".
[[nodiscard]] std::filesystem::path uncompressed_extension(const std::filesystem::path& path);

/// Whether the file begins as a zip archive does. False for "-" and other pipes, whose bytes are
/// not touched.
[[nodiscard]] bool is_zip(const std::filesystem::path& path);

/// Names of the members of an .npz archive without their ".npy", in the archive's order.
[[nodiscard]] std::vector<std::string> npz_members(const std::filesystem::path& path);

}  // namespace unweave
