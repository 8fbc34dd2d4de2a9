// storage/input/words/line_reader.h - lines of a text and the fields in them, without copies.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/input/bytes/byte_source.h"
#include "storage/input/words/quoted_word.h"

namespace unweave {

/// Lines ending in "\n" or "\r\n"; the last one may lack its end. A byte order mark of UTF-8 before
/// the first is skipped. Not thread-safe.
class LineReader {
 public:
  explicit LineReader(ByteSource source) : source_(std::move(source)) {}

  /// The next line without its end, valid until the next call; false at the end of the text. Throws
  /// InputError on a line above ByteSource::kBufferBytes, DataError from the source.
  bool next(std::string_view& line);

  /// For parsers that know most lines at a glance: all bytes in memory from the next line on, valid
  /// until the next call that is not const. Such a parser takes whole lines off their front by
  /// skip(), and leaves the others to next().
  std::string_view window();
  void skip(std::size_t bytes, std::uint64_t lines) noexcept;

  /// Most bytes of look_ahead().
  static constexpr std::size_t kMostAhead = ByteSource::kBufferBytes;
  /// Bytes behind the line last given, kMostAhead of them where there are so many; that line is not
  /// valid any more.
  std::string_view look_ahead();
  /// Shows the lines behind the one last given, as far as look_ahead() has them whole, until `see`
  /// returns false. True where it has shown all that there are; the line last given is not valid
  /// any more.
  template <class See>
  bool show_ahead(const See& see) {
    std::string_view ahead = look_ahead();
    const bool is_all = ahead.size() < kMostAhead;
    while (!ahead.empty()) {
      const std::size_t end = ahead.find('\n');
      if (end == std::string_view::npos && !is_all) return false;
      std::string_view line = ahead.substr(0, end);
      ahead.remove_prefix(std::min(ahead.size(), line.size() + 1));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!see(line)) return false;
    }
    return is_all;
  }

  /// Whether the line last given, the first one with fields, names columns: as its sender said, or,
  /// where he said nothing, words alone, none a number. A remark then says that it was left out;
  /// false where nobody takes remarks, and after the first call. Throws InputError for a line 1 of
  /// 0, or 0,1, or 0,1,2 and so on: values, or the names that pandas gives to columns without any.
  [[nodiscard]] bool skips_header(std::string_view line);
  /// As skips_header(), for a line of words that may be names of nodes, and are none.
  [[nodiscard]] bool skips_named_header(std::string_view line);
  /// What the sender of the file has said of its first line.
  [[nodiscard]] Header header() const noexcept { return source_.header(); }
  [[nodiscard]] std::string header_remedy(const std::string& data, const std::string& no_data) const {
    return source_.header_remedy(data, no_data);
  }

  /// As ByteSource has it.
  [[nodiscard]] std::vector<std::string> table_header() const { return source_.table_header(); }
  /// As ByteSource has it, behind the last line.
  void require_order_of_nodes() const { source_.require_order_of_nodes(); }

  [[nodiscard]] const std::filesystem::path& name() const noexcept { return source_.name(); }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }  ///< number of the line last given, from 1
  [[nodiscard]] std::string place() const { return place_of(number_); }
  /// Where a line lies that was given, counted from 1; may run while another thread reads.
  [[nodiscard]] std::string place_of(std::uint64_t line) const { return source_.place_of_line(line); }

 private:
  void skip_mark();
  /// Says that a header was left out; false where nobody takes remarks.
  [[nodiscard]] bool leave_out(std::string_view line) const;
  ByteSource source_;
  bool begun_ = false;         // the mark was looked for
  bool header_asked_ = false;  // skips_header() was called
  std::uint64_t number_ = 0;
  std::size_t shown_ = 0;  // bytes of the source that `line` occupies, its end included
};

/// Fields of a line: separated by blanks, or by one comma with or without blanks around it. Blanks
/// and commas in quotes are part of their field (quoted_word.h).
class Fields {
 public:
  explicit Fields(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) { skip_blanks(); }

  /// The fields from here on, as a line of their own.
  [[nodiscard]] Fields rest() const { return Fields({at_, static_cast<std::size_t>(end_ - at_)}); }

  [[nodiscard]] bool at_end() const noexcept { return at_ == end_; }
  [[nodiscard]] char first() const noexcept { return at_ == end_ ? '\0' : *at_; }

  /// Reads a number that fills the whole field, and moves on. On failure the field stays, for
  /// take() to show.
  template <class Number>
  std::errc number(Number& value) {
    const auto parsed = std::from_chars(at_, end_, value);
    if (parsed.ec != std::errc()) return parsed.ec;
    if (parsed.ptr != end_ && !is_separator(*parsed.ptr)) return std::errc::invalid_argument;
    at_ = parsed.ptr;
    skip_separator();
    return {};
  }

  /// The field as text, with its quotes; moves on.
  std::string_view take() {
    const char* const begin = at_;
    if (first() == '"') {
      const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
      at_ += std::min(end_of_quotes(rest), rest.size());
    }
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

  /// Whether commas part some of the fields so far, and blanks alone others: "1,5 2,5" may be two
  /// numbers or four.
  [[nodiscard]] bool mixed() const noexcept { return by_comma_ && by_blank_; }

 private:
  static bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }
  static bool is_separator(char c) noexcept { return is_blank(c) || c == ','; }
  void skip_blanks() noexcept {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }
  void skip_separator() noexcept {
    skip_blanks();
    if (at_ == end_) {
      after_comma_ = false;
      return;
    }
    after_comma_ = *at_ == ',';
    by_comma_ |= after_comma_;
    by_blank_ |= !after_comma_;
    if (after_comma_) {
      ++at_;
      skip_blanks();
    }
  }

  const char* at_;
  const char* end_;
  bool after_comma_ = false;
  bool by_comma_ = false, by_blank_ = false;  ///< what has parted fields so far
};

/// The beginning of a user's text in quotes, as printable() has it.
[[nodiscard]] std::string quote_for_message(std::string_view text);

}  // namespace unweave
