// storage/io/small_letters.h - ASCII letters whatever their case, in every locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace unweave {

[[nodiscard]] constexpr char small(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline std::string in_small_letters(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), small);
  return out;
}

/// The name of a column without its case and what parts words in it: "fromid" of From_ID.
[[nodiscard]] inline std::string plain_name(std::string_view name) {
  std::string out = in_small_letters(name);
  std::erase_if(out, [](char c) { return c == '_' || c == '-' || c == '"' || c == ':'; });
  return out;
}

}  // namespace unweave
