// storage/io/number_text.h - numbers as text that reads back the same.
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace unweave {

/// The fewest digits that read back the same number.
[[nodiscard]] inline std::string shortest_text(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

}  // namespace unweave
