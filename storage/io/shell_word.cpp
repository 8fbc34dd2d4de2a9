// storage/io/shell_word.cpp - quotes as POSIX has them (XCU 2.2.2): within single quotes every
// character stands for itself.
#include "storage/io/shell_word.h"

namespace unweave {

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=:@%,-";
  std::string word(text.starts_with('-') ? "./" : "");
  word.append(text);
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted += '\'';
}

}  // namespace unweave
