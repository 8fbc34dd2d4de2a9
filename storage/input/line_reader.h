// storage/input/line_reader.h - lines of a text and the fields in them, without copies.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/input/byte_source.h"

namespace unweave {

/// Lines ending in "\n" or "\r\n"; the last one may lack its end. A byte order mark of UTF-8 before the first is skipped.
/// Not thread-safe.
class LineReader {
 public:
  explicit LineReader(ByteSource source) : source_(std::move(source)) {}

  /// The next line without its end, valid until the next call; false at the end of the text. Throws InputError on a
  /// line above ByteSource::kBufferBytes, DataError from the source.
  bool next(std::string_view& line);

  /// For parsers that know most lines at a glance: all bytes in memory from the next line on, valid until the next call
  /// that is not const. Such a parser takes whole lines off their front by skip(), and leaves the others to next().
  std::string_view window();
  void skip(std::size_t bytes, std::uint64_t lines) noexcept;

  /// Bytes before the next line.
  [[nodiscard]] std::uint64_t offset() const noexcept { return consumed_ + shown_; }
  /// Goes to the line that begins behind `offset` bytes and `lines` lines; not back.
  void go_to(std::uint64_t offset, std::uint64_t lines);

  /// Whether the line last given, the first one with fields, only names columns: words alone, none a number. A remark then
  /// says that it was left out; false where nobody takes remarks, and after the first call.
  [[nodiscard]] bool skips_header(std::string_view line);

  [[nodiscard]] const std::filesystem::path& name() const noexcept { return source_.name(); }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }  ///< number of the line last given, from 1
  [[nodiscard]] std::string place() const { return "line " + std::to_string(number_); }

 private:
  void skip_mark();
  void consume(std::size_t bytes) noexcept {
    source_.consume(bytes);
    consumed_ += bytes;
  }

  ByteSource source_;
  bool begun_ = false;         // the mark was looked for
  bool header_asked_ = false;  // skips_header() was called
  std::uint64_t number_ = 0;
  std::uint64_t consumed_ = 0;  // bytes of the source that are gone
  std::size_t shown_ = 0;       // bytes of the source that `line` occupies, its end included
};

/// Fields of a line: separated by blanks, or by one comma with or without blanks around it.
class Fields {
 public:
  explicit Fields(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) { skip_blanks(); }

  [[nodiscard]] bool at_end() const noexcept { return at_ == end_; }
  [[nodiscard]] char first() const noexcept { return at_ == end_ ? '\0' : *at_; }

  /// Reads a number that fills the whole field, and moves on. On failure the field stays, for take() to show.
  template <class Number>
  std::errc number(Number& value) {
    const auto parsed = std::from_chars(at_, end_, value);
    if (parsed.ec != std::errc()) return parsed.ec;
    if (parsed.ptr != end_ && !is_separator(*parsed.ptr)) return std::errc::invalid_argument;
    at_ = parsed.ptr;
    skip_separator();
    return {};
  }

  /// The field as text; moves on.
  std::string_view take() {
    const char* const begin = at_;
    while (at_ != end_ && !is_separator(*at_)) ++at_;
    const std::string_view field(begin, static_cast<std::size_t>(at_ - begin));
    skip_separator();
    return field;
  }

  /// Number of fields from here on; moves to the end.
  std::size_t count() {
    std::size_t fields = 0;
    for (; !at_end() || after_comma_; ++fields) {
      after_comma_ = false;
      take();
    }
    return fields;
  }

  /// Whether the last separator was a comma with nothing after it.
  [[nodiscard]] bool after_comma() const noexcept { return after_comma_ && at_end(); }

 private:
  static bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }
  static bool is_separator(char c) noexcept { return is_blank(c) || c == ','; }
  void skip_blanks() noexcept {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }
  void skip_separator() noexcept {
    skip_blanks();
    after_comma_ = at_ != end_ && *at_ == ',';
    if (after_comma_) {
      ++at_;
      skip_blanks();
    }
  }

  const char* at_;
  const char* end_;
  bool after_comma_ = false;
};

/// A piece of a user's text that is safe to show in a one-line message.
[[nodiscard]] std::string quote_for_message(std::string_view text);

}  // namespace unweave
