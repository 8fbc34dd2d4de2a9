// storage/io/line_log.h - an append-only file of text lines, each durable before the next
// (FORMAT.md, "Models and certificates").
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "storage/io/file.h"

namespace unweave {

/// How a log ends: `bytes` of whole lines, then `tail` bytes of a line that a crash left
/// incomplete, without its end or with zeros in the place of whole sectors of it.
struct LogEnd {
  std::uint64_t bytes = 0;
  std::uint64_t tail = 0;
};

/// Calls visit(line, number) for every whole line in order, without its newline, numbered from 1;
/// the line is valid during the call. A missing file of a store holds no line. Throws FormatError
/// for a line above 16 MiB.
LogEnd read_lines(const std::filesystem::path& path, const std::function<void(std::string_view, std::uint64_t)>& visit);
/// Likewise for a file that is open, such as one that a user names.
LogEnd read_lines(const File& file, const std::function<void(std::string_view, std::uint64_t)>& visit);

/// Calls visit(line, first byte of it) for whole lines from byte `from` on, until it returns false;
/// what stands there may be the rest of a line. Throws FormatError for a line above 16 MiB.
void read_lines_from(const File& file, std::uint64_t from,
                     const std::function<bool(std::string_view, std::uint64_t)>& visit);

/// The last whole line of a log of a store, without its newline; none where there is no such file
/// or no line in it.
[[nodiscard]] std::optional<std::string> last_line(const std::filesystem::path& path);

/// Who may read a file: all whom the umask lets, or its owner alone (private_file.h).
enum class Readers { all, owner };

/// The last line of its file, durable once sync() has returned.
class AppendedLine {
 public:
  /// Appends one line, which must not hold a newline or a zero byte, where it is not the last one
  /// already. Makes file and folder where they are missing, and first cuts off a line that a crash
  /// left incomplete.
  AppendedLine(const std::filesystem::path& path, std::string_view line, Readers readers);
  void sync() const;
  /// Bytes of the file with this line, the last one.
  [[nodiscard]] std::uint64_t end() const { return file_.size(); }

 private:
  File file_;
  std::filesystem::path fresh_in_;  // the folder of a new file
};

}  // namespace unweave
