// storage/input/text_edges.cpp - edges as text, two ids a line.
#include <bit>
#include <cstring>
#include <string>

#include "storage/error.h"
#include "storage/input/edge_formats.h"
#include "storage/input/line_reader.h"
#include "storage/input/node_id.h"

namespace unweave {

namespace {

constexpr std::size_t kMostPlainBytes = 2 * (10 + 1);  // of a line, with both separators
static_assert(std::endian::native == std::endian::little, "parse_digits() takes the first digit from the lowest byte");

/// Reads the decimal number of 1 to 10 digits at `at` and moves on; false where there is none. Bytes up to
/// `at` + 18 are read. Eight digits are added up at once: D. Lemire, Number Parsing at a Gigabyte per Second, 2021.
bool parse_digits(const char*& at, std::uint64_t& value) {
  constexpr std::uint64_t kEveryByte = 0x0101'0101'0101'0101;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  std::uint64_t digits = bytes ^ '0' * kEveryByte;
  // The high bit of each byte that is above 9; carries only reach bytes after such a one.
  const std::uint64_t others = ((digits + (0x80 - 10) * kEveryByte) | digits) & 0x80 * kEveryByte;
  const int bits = others == 0 ? 64 : std::countr_zero(others) / 8 * 8;
  if (bits == 0) return false;
  digits <<= 64 - bits;
  digits = digits * 10 + (digits >> 8);
  constexpr std::uint64_t kPairs = 0x0000'00FF'0000'00FF;
  value = ((digits & kPairs) * (100 + (1'000'000ULL << 32)) + (digits >> 16 & kPairs) * (1 + (10'000ULL << 32))) >> 32;
  at += bits / 8;
  if (bits < 64) return true;
  for (int more = 0; more < 2 && *at >= '0' && *at <= '9'; ++more)
    value = 10 * value + static_cast<unsigned>(*at++ - '0');
  return true;
}

class TextEdges final : public EdgeReader {
 public:
  TextEdges(ByteSource source, std::uint64_t limit) : lines_(std::move(source)), limit_(limit) {}

  std::size_t read(std::span<Edge> out) override {
    std::size_t count = 0;
    std::string_view line;
    while (true) {
      count += read_plain(out.subspan(count));
      if (count == out.size() || !lines_.next(line)) return count;
      Fields fields(line);
      if (fields.at_end() || fields.first() == '#') continue;
      std::uint64_t u = 0;
      std::uint64_t v = 0;
      if (fields.number(u) != std::errc() || fields.number(v) != std::errc() || !fields.at_end() ||
          fields.after_comma() || u >= limit_ || v >= limit_) {
        explain(line);
      }
      out[count++] = {static_cast<NodeId>(u), static_cast<NodeId>(v)};
    }
  }

 private:
  /// Reads lines that are nothing but two good ids with one separator, up to the first that is not, or that lies near
  /// the end of the bytes at hand.
  std::size_t read_plain(std::span<Edge> out) {
    const std::string_view window = lines_.window();
    const char* const begin = window.data();
    const char* const end = begin + window.size();
    const char* line = begin;
    std::size_t count = 0;
    while (count < out.size() && static_cast<std::size_t>(end - line) > 2 * kMostPlainBytes) {
      const char* at = line;
      std::uint64_t u = 0;
      std::uint64_t v = 0;
      if (!parse_digits(at, u) || (*at != '\t' && *at != ' ' && *at != ',')) break;
      if (!parse_digits(++at, v) || *at != '\n' || u >= limit_ || v >= limit_) break;
      out[count++] = {static_cast<NodeId>(u), static_cast<NodeId>(v)};
      line = at + 1;
    }
    lines_.skip(static_cast<std::size_t>(line - begin), count);
    return count;
  }

  /// Finds out what is wrong with a line that did not parse. Slow and apart from the loop above.
  [[noreturn]] void explain(std::string_view line) const {
    const std::size_t columns = Fields(line).count();
    if (columns != 2) {
      throw InputError(lines_.name(), lines_.place(),
                       "wrong column count: " + std::to_string(columns) + " instead of 2 in " + quote_for_message(line),
                       "give two node ids a line, separated by a tab, a comma or blanks");
    }
    Fields fields(line);
    (void)parse_id(fields, lines_, limit_);
    (void)parse_id(fields, lines_, limit_);
    throw InputError(lines_.name(), lines_.place(), quote_for_message(line) + " is not an edge",
                     "give two node ids a line");
  }

  LineReader lines_;
  std::uint64_t limit_;
};

}  // namespace

std::unique_ptr<EdgeReader> open_text_edges(ByteSource source, std::uint64_t limit) {
  return std::make_unique<TextEdges>(std::move(source), limit);
}

}  // namespace unweave
