// storage/input/line_reader.cpp - cuts a text into lines and fields, and recognises a header line.
#include "storage/input/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/io/error.h"

namespace unweave {

void LineReader::skip_mark() {
  if (begun_) return;
  begun_ = true;
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (source_.peek(kMark.size()).starts_with(kMark)) consume(kMark.size());
}

bool LineReader::next(std::string_view& line) {
  skip_mark();
  consume(std::exchange(shown_, 0));
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
  consume(std::exchange(shown_, 0));
  return source_.peek(1);
}

void LineReader::skip(std::size_t bytes, std::uint64_t lines) noexcept {
  consume(bytes);
  number_ += lines;
}

void LineReader::go_to(std::uint64_t offset, std::uint64_t lines) {
  skip_mark();
  consume(std::exchange(shown_, 0));
  source_.skip(offset - consumed_);
  consumed_ = offset;
  number_ = lines;
}

bool LineReader::skips_header(std::string_view line) {
  if (std::exchange(header_asked_, true)) return false;
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
  return source_.remark(place() + ": skipped as a header line: " + quote_for_message(line));
}

std::string quote_for_message(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string quoted = "'";
  for (const char c : text.substr(0, kMost)) quoted += c >= ' ' && c != '\x7f' ? c : '?';
  return quoted + (text.size() > kMost ? "...'" : "'");
}

}  // namespace unweave
