// storage/io/message.h - texts for people that name options and operations by their keys.
//
// The library does not know how its users write an option: on a command line it is "--memory",
// elsewhere a member or an argument. A message therefore marks the keys that it names, and whoever
// shows it replaces the marks by a style of his own:
//
//   throw ResourceError("out of memory; raise " + option("memory")); throw UsageError("not
//   propagated yet; run " + operation("propagate " + store + ' ' + option("rows", "all")));
//
// Findings, remarks, remedies and lines of a help are messages too. Marks are control characters. A
// message may hold any bytes, those of a path or of a file: what shows it shows them as printable()
// has them (plain_text.h), and so do marks that are not whole. Line feeds stay, which part lines of
// a help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace unweave {

/// An option by its key, letters, digits and hyphens: "--memory" on a command line, "memory" where
/// nobody says otherwise.
[[nodiscard]] std::string option(std::string_view key);
/// The option with a value: "--rows all", or "rows=all".
[[nodiscard]] std::string option(std::string_view key, std::string_view value);
/// What is to be run, with its arguments, among which may be options: "`unweave verify
/// demo.store`", or "`verify demo.store`".
[[nodiscard]] std::string operation(std::string_view text);

/// What takes the places of the marks.
struct MessageStyle {
  std::string_view before_option, before_value, after_option, before_operation, after_operation;
};

/// The message as this style has it: plain text, but for line feeds.
[[nodiscard]] std::string shown(std::string_view message, const MessageStyle& style);
/// The message in the library's own style: "memory", "rows=all", "`verify demo.store`".
[[nodiscard]] std::string plain(std::string_view message);
/// The keys of the options that the message names, each once, in the order in which they are named.
[[nodiscard]] std::vector<std::string> options_in(std::string_view message);

}  // namespace unweave
