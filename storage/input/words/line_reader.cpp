// storage/input/words/line_reader.cpp - cuts a text into lines and fields, and recognises a header
// line.
#include "storage/input/words/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/io/error.h"
#include "storage/io/plain_text.h"

namespace unweave {

void LineReader::skip_mark() {
  if (begun_) return;
  begun_ = true;
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (source_.peek(kMark.size()).starts_with(kMark)) source_.consume(kMark.size());
}

bool LineReader::next(std::string_view& line) {
  skip_mark();
  source_.consume(std::exchange(shown_, 0));
  std::string_view window = source_.peek(1);
  if (window.empty()) return false;
  ++number_;
  const void* newline = std::memchr(window.data(), '\n', window.size());
  while (newline == nullptr) {
    const std::size_t had = window.size();
    if (had == ByteSource::kBufferBytes) {
      throw InputError(name(), place(), "this line is longer than 1 MiB", "give a text file with one entry a line");
    }
    window = source_.peek(had + 1);
    if (window.size() == had) break;
    newline = std::memchr(window.data() + had, '\n', window.size() - had);
  }
  const std::size_t length =
      newline == nullptr ? window.size() : static_cast<std::size_t>(static_cast<const char*>(newline) - window.data());
  shown_ = length + (newline == nullptr ? 0 : 1);
  line = window.substr(0, length);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

std::string_view LineReader::window() {
  skip_mark();
  source_.consume(std::exchange(shown_, 0));
  return source_.peek(1);
}

void LineReader::skip(std::size_t bytes, std::uint64_t lines) noexcept {
  source_.consume(bytes);
  number_ += lines;
}

std::string_view LineReader::look_ahead() {
  source_.consume(std::exchange(shown_, 0));
  return source_.peek(kMostAhead).substr(0, kMostAhead);
}

namespace {

/// Whether a line is what pandas writes above columns without names: 0 alone, or 0,1 and so on.
/// Only commas count between them: lists of edges that blanks and tabs part begin so too often.
bool numbers_columns(std::string_view line) {
  std::uint64_t expected = 0;
  Fields fields(line);
  for (; !fields.at_end(); ++expected) {
    std::uint64_t number = 0;
    if (fields.number(number) != std::errc() || number != expected) return false;
  }
  return !fields.after_comma() && (expected == 1 || line.find(',') != std::string_view::npos);
}

}  // namespace

bool LineReader::leave_out(std::string_view line) const {
  return source_.remark(place() + ": skipped as a header line: " + quote_for_message(line));
}

bool LineReader::skips_header(std::string_view line) {
  if (std::exchange(header_asked_, true) || header() == Header::no) return false;
  if (header() == Header::yes) {
    static_cast<void>(leave_out(line));
    return true;
  }
  // Behind remarks there is no header of pandas, which writes none.
  if (number_ == 1 && numbers_columns(line))
    throw InputError(name(), place(),
                     quote_for_message(line) + " may be data, or the names that pandas gives to columns without any",
                     header_remedy("data", "names of columns"));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; };
  if (std::any_of(line.begin(), line.end(), is_control)) return false;
  for (Fields fields(line); !fields.at_end();) {
    double number = 0;
    Fields copy = fields;
    const bool is_number = copy.number(number) != std::errc::invalid_argument;
    const std::string_view word = fields.take();
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const bool starts_as_word = !word.empty() && (is_letter(word[0]) || word[0] == '"' || word[0] == '_');
    if (is_number || !starts_as_word || std::none_of(word.begin(), word.end(), is_letter)) return false;
  }
  return leave_out(line);
}

bool LineReader::skips_named_header(std::string_view line) {
  return !std::exchange(header_asked_, true) && leave_out(line);
}

std::string quote_for_message(std::string_view text) {
  constexpr std::size_t kMost = 40;
  if (text.size() <= kMost) return "'" + printable(text) + "'";
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  std::size_t end = kMost;  // no character is cut through
  for (int back = 0; back < 3 && is_inside(text[end]); ++back) --end;
  return "'" + printable(text.substr(0, is_inside(text[end]) ? kMost : end)) + "...'";
}

}  // namespace unweave
