// storage/input/words/quoted_word.cpp - puts words into quotes, and takes them out.
#include "storage/input/words/quoted_word.h"

#include <algorithm>

namespace unweave {

std::size_t end_of_quotes(std::string_view text) noexcept {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] != '"') continue;
    if (at + 1 == text.size() || text[at + 1] != '"') return at + 1;
    ++at;
  }
  return std::string_view::npos;
}

bool is_quoted(std::string_view word) noexcept {
  return word.starts_with('"') && end_of_quotes(word) == word.size();
}

std::string unquoted(std::string_view word) {
  std::string text;
  for (std::size_t at = 1; at + 1 < word.size(); ++at) {
    text += word[at];
    if (word[at] == '"') ++at;
  }
  return text;
}

std::string in_quotes(std::string_view text) {
  std::string word = "\"";
  for (const char c : text) word.append(c == '"' ? 2 : 1, c);
  return word + '"';
}

std::string as_word(std::string_view text) {
  return text.empty() || text.find_first_of(" \t,\"") != std::string_view::npos ? in_quotes(text) : std::string(text);
}

bool is_whole_number(std::string_view text) noexcept {
  return !text.empty() && (text[0] != '0' || text.size() == 1) &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace unweave
