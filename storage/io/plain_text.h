// storage/io/plain_text.h - which texts from outside may be stored, and how all others are shown.
//
// A text is plain where it is valid UTF-8 (RFC 3629: no overlong form, no surrogate, nothing above
// U+10FFFF) in which no character acts on what stands beside it:
//
//   U+0000 to U+001F, U+007F to U+009F      control characters: line ends, and what terminals obey
//   U+2028, U+2029                          separators of lines and paragraphs, at which some
//                                           readers end a line
//   U+061C, U+200E, U+200F, U+202A to
//   U+202E, U+2066 to U+2069                marks, overrides and isolates of the direction of
//                                           writing
//   U+FEFF                                  the byte order mark, which readers of text drop
//   U+00AD, U+FFF9 to U+FFFB, U+E0000 to
//   U+E007F                                 soft hyphens, marks of annotations and tags, which
//                                           nobody sees
//
// Joiners (U+200C, U+200D), which words of some languages need, and noncharacters (U+FFFE, U+FDD0)
// change nothing beside them and are plain.
//
// Whatever takes an id, a name or another text to keep asks text_fault(), and refuses the text.
// Whatever shows a text that nobody has asked about, such as a path or a line of a file, shows
// printable().
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace unweave {

/// The first thing that keeps a text from being plain.
struct TextFault {
  std::size_t byte = 0;        ///< where it begins, from 0
  std::size_t bytes = 0;       ///< how long it is; 1 where it is no UTF-8
  char32_t character = 0;      ///< the character; of no use where the text is no UTF-8 here
  bool is_utf8 = false;        ///< whether it is a character
  const char* what = nullptr;  ///< "it is not UTF-8", "it has a control character", ...
};

/// What keeps a text from being plain, from its byte `from` on; nothing where it is plain. Control
/// characters of ASCII that stand in `allowed` pass.
[[nodiscard]] std::optional<TextFault> text_fault(std::string_view text, std::string_view allowed = {},
                                                  std::size_t from = 0) noexcept;

/// "it has a control character, at byte 3": for messages, which say what has the fault.
[[nodiscard]] std::string text_of(const TextFault& fault);

/// The text with every byte that is part of a fault written as "\xFF": plain, and what was plain is
/// as it was. Not undone: a text may hold these characters itself.
[[nodiscard]] std::string printable(std::string_view text, std::string_view allowed = {});

}  // namespace unweave
