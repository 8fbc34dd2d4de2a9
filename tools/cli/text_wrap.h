// tools/cli/text_wrap.h - running text in lines of a terminal's width.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unweave {

/// What a terminal has at least.
inline constexpr std::size_t kTextWidth = 80;

/// The words of `text` in lines of at most `width`, as long as no word is longer; all but the first
/// behind `indent` blanks. No line break at the end.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width = kTextWidth, std::size_t indent = 0);

/// Text whose author has broken it into lines, for lines of at most `width`: as it stands where
/// they fit. Else lines are joined and broken anew, but after a full stop; those that begin with a
/// blank stay.
[[nodiscard]] std::string rewrapped(const std::string& text, std::size_t width = kTextWidth);

/// Names, and beside each its meaning, in two columns behind two blanks; every line ends.
[[nodiscard]] std::string glossary(const std::vector<std::pair<std::string, std::string>>& entries);

}  // namespace unweave
