// storage/line_log.h - an append-only file of text lines, each durable before the next (FORMAT.md, "Models and
// certificates").
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "storage/file.h"

namespace unweave {

/// The last whole line without its newline; none when the file is missing or holds none. Throws FormatError for a line
/// above 16 MiB.
[[nodiscard]] std::optional<std::string> last_line(const std::filesystem::path& path);

/// How a log ends: `bytes` of whole lines, then `tail` bytes of a line that a crash left incomplete.
struct LogEnd {
  std::uint64_t bytes = 0;
  std::uint64_t tail = 0;
};

/// Calls visit(line, number) for every whole line in order, without its newline, numbered from 1; the line is valid
/// during the call. A missing file holds no line. Throws FormatError for a line above 16 MiB.
LogEnd read_lines(const std::filesystem::path& path, const std::function<void(std::string_view, std::uint64_t)>& visit);

/// Appends one line, which must not hold a newline, unless it is the last one already; durable on return. Makes file and
/// folder where they are missing, and first cuts off a line that a crash left incomplete.
void append_line(const std::filesystem::path& path, std::string_view line);

/// A line that is in its file, and durable once sync() has returned.
class AppendedLine {
 public:
  /// append_line() without the sync.
  AppendedLine(const std::filesystem::path& path, std::string_view line);
  void sync() const;

 private:
  File file_;
  std::filesystem::path fresh_in_;  // the folder of a new file
};

}  // namespace unweave
