// storage/io/shell_word.h - a path or another text as one word of a command that people may copy
// into a shell.
//
// Whatever a message embeds in a command goes through shell_word(): a store or a feed may be called
// `a; rm -r b #`, by people who are not those that copy the command.
#pragma once

#include <string>
#include <string_view>

namespace unweave {

/// The text as it is where a POSIX shell reads it as one word that stands for itself: letters,
/// digits and any of `_./+=:@%,-`, the first of them no hyphen. Else between single quotes, with
/// those that are in it escaped; "./" stands before a hyphen in front, which no command takes for
/// an option then.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace unweave
