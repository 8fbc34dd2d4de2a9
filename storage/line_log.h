// storage/line_log.h - an append-only file of text lines, each durable before the next (FORMAT.md, "Models and
// certificates").
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace unweave {

/// The last whole line without its newline; none when the file is missing or holds none. Throws FormatError for a line
/// above 16 MiB.
[[nodiscard]] std::optional<std::string> last_line(const std::filesystem::path& path);

/// Appends one line, which must not hold a newline; durable on return. Makes file and folder where they are missing, and
/// first cuts off a line that a crash left incomplete.
void append_line(const std::filesystem::path& path, std::string_view line);

}  // namespace unweave
