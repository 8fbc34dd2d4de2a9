#include "storage/input/line_reader.h"

#include <cstring>

#include "storage/error.h"

namespace unweave {

bool LineReader::next(std::string_view& line) {
  source_.consume(shown_);
  shown_ = 0;
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
  source_.consume(shown_);
  shown_ = 0;
  return source_.peek(1);
}

void LineReader::skip(std::size_t bytes, std::uint64_t lines) noexcept {
  source_.consume(bytes);
  number_ += lines;
}

std::string quote_for_message(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string quoted = "'";
  for (const char c : text.substr(0, kMost)) quoted += c >= ' ' && c != '\x7f' ? c : '?';
  return quoted + (text.size() > kMost ? "...'" : "'");
}

}  // namespace unweave
