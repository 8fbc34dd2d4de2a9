// storage/input/bytes/npy.h - NumPy's .npy arrays as streams, and headers of arrays that we write.
//
// Read: format 1.0, 2.0 and 3.0, little endian; b1, i1 i2 i4 i8, u1 u2 u4 u8, f2 f4 f8, and S for
// short byte strings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/input/bytes/byte_source.h"

namespace unweave {

struct NpyHeader {
  char kind = 'f';                   ///< b bool, i signed, u unsigned, f float, S bytes, U UTF-32 text
  std::size_t item_bytes = 4;        ///< bytes of an element
  bool fortran_order = false;        ///< false also where the order cannot matter (less than two long dimensions)
  std::vector<std::uint64_t> shape;  ///< empty for a scalar
  std::uint64_t elements = 1;        ///< product of shape; elements * item_bytes fits 63 bits

  [[nodiscard]] bool is_integer() const noexcept { return kind == 'b' || kind == 'i' || kind == 'u'; }
  [[nodiscard]] bool is_number() const noexcept { return is_integer() || kind == 'f'; }
  [[nodiscard]] std::string shape_text() const;  ///< "(3, 2)"
};

/// Whether `source`, made from `file`, is to be read as an array: it begins like one or is named
/// like one, so that an array cut off before its first bytes is not taken for a text.
[[nodiscard]] bool is_npy(const InputFile& file, ByteSource& source);

/// Reads and checks the header at the beginning of `source`. Throws InputError; allocates at most
/// 64 KiB whatever the header claims.
[[nodiscard]] NpyHeader read_npy_header(ByteSource& source);

/// The elements of one array, in the order in which they lie in the file. Not thread-safe.
///
/// Errors: InputError where the file ends before the last element (naming the element) or goes on
/// after it.
class NpyReader {
 public:
  explicit NpyReader(const InputFile& file) : NpyReader(ByteSource(file)) {}
  /// `takes_columns`: whether the caller chooses the columns that source.columns() asks for; else
  /// those are an error.
  explicit NpyReader(ByteSource source, bool takes_columns = false);

  [[nodiscard]] const NpyHeader& header() const noexcept { return header_; }
  [[nodiscard]] const std::filesystem::path& name() const noexcept { return source_.name(); }
  [[nodiscard]] const std::string& columns() const noexcept { return source_.columns(); }
  [[nodiscard]] bool reopenable() const noexcept { return source_.reopenable(); }
  /// Gives a sentence to who takes remarks.
  void remark(const std::string& sentence) const { source_.remark(sentence); }
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }  ///< elements read so far
  [[nodiscard]] std::uint64_t remaining() const noexcept { return header_.elements - position_; }

  /// Fills `out` as far as elements remain and returns how many. Integer kinds only; throws
  /// UsageError on others, InputError on a u8 above 2^63 - 1.
  std::size_t read(std::span<std::int64_t> out);
  /// Fills `out` with float64, exact but for integers above 2^53. Number kinds only.
  std::size_t read(std::span<double> out);
  /// Up to `count` elements as they lie in the file, as many as remain; valid until the next call.
  /// Any kind.
  std::string_view read_items(std::size_t count);
  /// All bytes of a small array (at most 4 KiB, else InputError).
  std::string read_small_bytes();
  /// Skips elements; a file that ends among them is noticed by the next read.
  void skip(std::uint64_t elements);

  /// NumPy's index of the element that lies at place `flat` of the file, "[17, 0]".
  [[nodiscard]] std::string index_text(std::uint64_t flat) const;
  /// Throws unless the elements are integers: `what` says what they should be ("node ids").
  void require_integers(std::string_view what) const;

 private:
  template <class To>
  std::size_t read_as(std::span<To> out);
  std::size_t fill(std::size_t count);  // fills bytes_ with up to `count` elements
  void require_end();

  ByteSource source_;
  NpyHeader header_;
  std::uint64_t position_ = 0;
  std::vector<char> bytes_;
};

}  // namespace unweave
