// storage/input/bytes/npy.cpp - reads the header and the numbers of a .npy array.
#include "storage/input/bytes/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "storage/codec/half.h"
#include "storage/io/error.h"
#include "storage/npy/npy_header.h"

namespace unweave {

namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they lie in the file");

constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxDimensions = 32;  // NumPy's own limit
constexpr std::size_t kChunkBytes = std::size_t{256} << 10;

/// The dictionary of a .npy header, a small subset of Python's literals, read from left to right.
class HeaderParser {
 public:
  HeaderParser(const std::filesystem::path& file, std::string_view text) : file_(file), text_(text) {}

  NpyHeader parse() {
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !has_descr) {
        parse_type();
        has_descr = true;
      } else if (key == "fortran_order" && !has_order) {
        parse_order();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        parse_shape();
        has_shape = true;
      } else {
        fail("unexpected key '" + std::string(key) + "'");
      }
      if (!accept(',') && peek() != '}') fail("',' or '}' expected");
    }
    if (!has_descr || !has_order || !has_shape) fail("descr, fortran_order or shape is missing");
    count_elements();
    const auto is_long = [](std::uint64_t extent) { return extent > 1; };
    if (std::count_if(header_.shape.begin(), header_.shape.end(), is_long) < 2) header_.fortran_order = false;
    return header_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(file_, ".npy header", what, "save the array again with numpy.save");
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail(std::string("'") + wanted + "' expected at byte " + std::to_string(at_));
  }

  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') {
      throw InputError(file_, ".npy header", "an array of records or a damaged header",
                       "save a plain array of numbers with numpy.save");
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a text without end");
    const std::string_view text = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return text;
  }

  void parse_type() {
    const std::string_view descr = quoted();
    if (descr.size() < 3 || descr == "|O") {
      throw InputError(file_, ".npy header", "unknown type '" + std::string(descr) + "'",
                       "convert ids, labels and masks by a.astype('int64'), features by a.astype('float32')");
    }
    if (descr[0] == '>' && descr != ">i1" && descr != ">u1") {
      throw InputError(file_, ".npy header", "big-endian type '" + std::string(descr) + "'",
                       "convert it, for example with a.astype(a.dtype.newbyteorder('<'))");
    }
    header_.kind = descr[1];
    const char* const end = descr.data() + descr.size();
    const auto parsed = std::from_chars(descr.data() + 2, end, header_.item_bytes);
    const std::size_t bytes = header_.item_bytes;
    bool known = parsed.ec == std::errc() && parsed.ptr == end && bytes > 0;
    switch (header_.kind) {
      case 'b':
        known = known && bytes == 1;
        break;
      case 'i':
      case 'u':
        known = known && bytes <= 8 && std::has_single_bit(bytes);
        break;
      case 'f':
        known = known && (bytes == 2 || bytes == 4 || bytes == 8);
        break;
      case 'S':
      case 'U':
        known = known && bytes <= kMaxHeaderBytes;
        if (header_.kind == 'U') header_.item_bytes *= 4;
        break;
      default:
        known = false;
    }
    if (!known) {
      throw InputError(file_, ".npy header", "type '" + std::string(descr) + "' is not supported",
                       "convert the array to an integer type, float32 or float64");
    }
  }

  void parse_order() {
    peek();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        header_.fortran_order = value;
        return;
      }
    }
    fail("fortran_order is neither True nor False");
  }

  void parse_shape() {
    expect('(');
    while (!accept(')')) {
      peek();
      std::uint64_t extent = 0;
      const char* const begin = text_.data() + at_;
      const auto parsed = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (parsed.ec != std::errc()) fail("bad shape");
      at_ += static_cast<std::size_t>(parsed.ptr - begin);
      if (header_.shape.size() == kMaxDimensions) fail("more than 32 dimensions");
      header_.shape.push_back(extent);
      if (!accept(',') && peek() != ')') fail("bad shape");
    }
  }

  void count_elements() {
    std::uint64_t bytes = header_.item_bytes;
    for (const std::uint64_t extent : header_.shape) {
      std::uint64_t product = 0;
      if (__builtin_mul_overflow(bytes, extent, &product) || product > std::numeric_limits<std::int64_t>::max()) {
        fail("shape " + header_.shape_text() + " is too large for any file");
      }
      bytes = product;
    }
    header_.elements = bytes / header_.item_bytes;
  }

  const std::filesystem::path& file_;
  std::string_view text_;
  std::size_t at_ = 0;
  NpyHeader header_;
};

template <class From, class To>
void convert(const char* bytes, std::span<To> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    From value;
    std::memcpy(&value, bytes + i * sizeof(From), sizeof(From));
    out[i] = static_cast<To>(value);  // NOLINT(bugprone-signed-char-misuse): i1 is a number, negative ones too
  }
}

template <class To>
void convert_halves(const char* bytes, std::span<To> out) {
  constexpr float kBeyond =
      65536;  // no half is as large; what is not finite becomes this or more, as the machine has it
  constexpr Half kFraction = 0x3ff;
  std::array<Half, 256> halves;
  std::array<float, halves.size()> values;
  for (std::size_t first = 0; first < out.size(); first += halves.size()) {
    const std::size_t count = std::min(halves.size(), out.size() - first);
    std::memcpy(halves.data(), bytes + first * sizeof(Half), count * sizeof(Half));
    widen_halves(std::span(halves).first(count), values.data());
    for (std::size_t i = 0; i < count; ++i) {
      To& value = out[first + i] = values[i];
      if (std::abs(values[i]) < kBeyond) continue;
      value = (halves[i] & kFraction) == 0 ? std::copysign(std::numeric_limits<To>::infinity(), value)
                                           : std::numeric_limits<To>::quiet_NaN();
    }
  }
}

template <class To>
void convert_items(const NpyHeader& header, const char* bytes, std::span<To> out) {
  switch (header.kind) {
    case 'b':
      return convert<std::uint8_t>(bytes, out);
    case 'i':
      if (header.item_bytes == 1) return convert<std::int8_t>(bytes, out);
      if (header.item_bytes == 2) return convert<std::int16_t>(bytes, out);
      if (header.item_bytes == 4) return convert<std::int32_t>(bytes, out);
      return convert<std::int64_t>(bytes, out);
    case 'u':
      if (header.item_bytes == 1) return convert<std::uint8_t>(bytes, out);
      if (header.item_bytes == 2) return convert<std::uint16_t>(bytes, out);
      if (header.item_bytes == 4) return convert<std::uint32_t>(bytes, out);
      return convert<std::uint64_t>(bytes, out);
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<To>) {
    if (header.item_bytes == 4) return convert<float>(bytes, out);
    if (header.item_bytes == 8) return convert<double>(bytes, out);
    convert_halves(bytes, out);
  }
}

}  // namespace

std::string NpyHeader::shape_text() const {
  return npy_shape_text(shape);
}

bool is_npy(const InputFile& file, ByteSource& source) {
  return !file.member.empty() || uncompressed_extension(file.path) == ".npy" ||
         source.peek(kNpyMagic.size()).starts_with(kNpyMagic);
}

NpyHeader read_npy_header(ByteSource& source) {
  const auto bad = [&](std::string_view what) {
    return InputError(source.name(), ".npy header", what, "save the array again with numpy.save");
  };
  constexpr std::size_t kPreamble = 12;  // magic, version, length of 4 bytes
  const std::string_view start = source.peek(kPreamble);
  if (start.starts_with("PK")) throw bad("a zip archive, not a .npy array; an .npz is read from a plain file only");
  if (!start.starts_with(kNpyMagic)) throw bad("not a .npy array");
  if (start.size() < kPreamble) throw bad("the file ends in the header");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(start[i])); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0) throw bad("unknown format version");
  const std::size_t preamble = version == 1 ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMaxHeaderBytes) throw bad("the header claims more than 64 KiB");
  const std::string_view whole = source.peek(preamble + length);
  if (whole.size() < preamble + length) throw bad("the file ends in the header");
  NpyHeader header = HeaderParser(source.name(), whole.substr(preamble, length)).parse();
  source.consume(preamble + length);
  return header;
}

NpyReader::NpyReader(ByteSource source, bool takes_columns)
    : source_(std::move(source)), header_(read_npy_header(source_)) {
  if (!takes_columns && !source_.columns().empty())
    throw InputError(name(), ".npy header", "columns [" + source_.columns() + "] of an array are asked for",
                     "only those of features and masks are chosen so; save the columns that are meant");
  if (header_.elements == 0) require_end();
}

std::size_t NpyReader::fill(std::size_t count) {
  count = static_cast<std::size_t>(std::min<std::uint64_t>({count, remaining(), kChunkBytes / header_.item_bytes + 1}));
  bytes_.resize(count * header_.item_bytes);
  const std::size_t got = source_.read(bytes_);
  if (got < bytes_.size()) {
    throw InputError(source_.name(), "element " + index_text(position_ + got / header_.item_bytes),
                     "the file is cut short here, its header declares shape " + header_.shape_text(),
                     "fetch or write the file again");
  }
  position_ += count;
  if (remaining() == 0) require_end();
  return count;
}

void NpyReader::require_end() {
  // Reaching the end also makes compressed containers check their sums.
  if (!source_.peek(1).empty()) {
    throw InputError(source_.name(), "after the last element",
                     "the file goes on, but its header declares shape " + header_.shape_text(),
                     "save one array a file, with numpy.save");
  }
}

template <class To>
std::size_t NpyReader::read_as(std::span<To> out) {
  std::size_t done = 0;
  while (done < out.size() && remaining() > 0) {
    const std::size_t count = fill(out.size() - done);
    convert_items(header_, bytes_.data(), out.subspan(done, count));
    done += count;
  }
  return done;
}

std::size_t NpyReader::read(std::span<std::int64_t> out) {
  if (!header_.is_integer()) throw UsageError(name().string() + ": these elements are not integers");
  const std::uint64_t first = position_;
  const std::size_t count = read_as(out);
  if (header_.kind == 'u' && header_.item_bytes == 8) {
    for (std::size_t i = 0; i < count; ++i) {
      if (out[i] < 0) {
        throw InputError(name(), "element " + index_text(first + i),
                         "the value " + std::to_string(static_cast<std::uint64_t>(out[i])) + " is above 2^63 - 1",
                         "correct the array");
      }
    }
  }
  return count;
}

std::size_t NpyReader::read(std::span<double> out) {
  if (!header_.is_number()) throw UsageError(name().string() + ": these elements are not numbers");
  return read_as(out);
}

std::string_view NpyReader::read_items(std::size_t count) {
  const std::size_t items = remaining() == 0 ? 0 : fill(count);
  return std::string_view(bytes_.data(), bytes_.size()).substr(0, items * header_.item_bytes);
}

std::string NpyReader::read_small_bytes() {
  constexpr std::uint64_t kMost = 4096;
  if (header_.elements * header_.item_bytes > kMost) {
    throw InputError(name(), ".npy header", "a short text was expected, not shape " + header_.shape_text(),
                     "save the matrix again with scipy.sparse.save_npz");
  }
  const std::size_t count = fill(static_cast<std::size_t>(remaining()));
  return {bytes_.data(), count * header_.item_bytes};
}

void NpyReader::skip(std::uint64_t elements) {
  const std::uint64_t count = std::min(elements, remaining());
  source_.skip(count * header_.item_bytes);
  position_ += count;
  if (count > 0 && remaining() == 0) require_end();
}

std::string NpyReader::index_text(std::uint64_t flat) const {
  const std::size_t dimensions = header_.shape.size();
  std::vector<std::string> parts(dimensions);
  for (std::size_t step = 0; step < dimensions; ++step) {
    const std::size_t d = header_.fortran_order ? step : dimensions - 1 - step;
    const std::uint64_t extent = std::max<std::uint64_t>(1, header_.shape[d]);
    parts[d] = std::to_string(flat % extent);
    flat /= extent;
  }
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "[" : ", ") + part;
  return text.empty() ? "[]" : text + "]";
}

void NpyReader::require_integers(std::string_view what) const {
  if (header_.is_integer()) return;
  throw InputError(name(), ".npy header", std::string(what) + " must be integers",
                   header_.kind == 'U' || header_.kind == 'S'
                       ? "write names of nodes as text, by numpy.savetxt('names.txt', a, '%s')" +
                             std::string(header_.shape.size() > 1 ? ", and number other texts with numpy.unique(a, "
                                                                    "return_inverse=True)[1].reshape(a.shape)"
                                                                  : "")
                       : "convert the array, for example with a.astype('int64')");
}

}  // namespace unweave
