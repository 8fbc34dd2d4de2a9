// storage/input/words/quoted_word.h - words in quotes, as RFC 4180 has them: one way to write a
// name that has blanks, commas or quotes, in every text that comes in or goes out.
//
//   "O'Brien, Pat"      a blank and a comma
//   "the ""one"" node"  quotes are doubled
#pragma once

#include <string>
#include <string_view>

namespace unweave {

/// Where the word in quotes ends with which `text` begins, behind its last quote; npos where the
/// quotes are not closed.
[[nodiscard]] std::size_t end_of_quotes(std::string_view text) noexcept;

/// Whether a word stands in quotes from its first byte to its last.
[[nodiscard]] bool is_quoted(std::string_view word) noexcept;

/// What stands in the quotes of a word that is_quoted().
[[nodiscard]] std::string unquoted(std::string_view word);

/// A text as one word: in quotes where it has to be, as it is elsewhere.
[[nodiscard]] std::string as_word(std::string_view text);
/// In quotes in any case.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Whether a text is a whole number as programs write it, of digits alone, without zeros before it.
[[nodiscard]] bool is_whole_number(std::string_view text) noexcept;

}  // namespace unweave
