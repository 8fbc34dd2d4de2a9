// storage/line_log.cpp - finding the last line from the end of a file, appending after it, and reading all of them.
#include "storage/line_log.h"

#include <algorithm>

#include "storage/error.h"
#include "storage/file.h"

namespace unweave {
namespace {

constexpr std::uint64_t kMostLineBytes = std::uint64_t{16} << 20;

/// The end of the file from the start of its last whole line on.
struct Tail {
  std::optional<std::string> line;
  std::uint64_t end = 0;  // bytes that whole lines fill
};

Tail read_tail(const File& file) {
  const std::uint64_t size = file.size();
  for (std::uint64_t want = 1 << 14;; want *= 4) {
    const std::uint64_t bytes = std::min(want, size);
    std::string text(bytes, '\0');
    file.read_at(size - bytes, std::as_writable_bytes(std::span(text)));
    const bool whole = bytes == size;
    const std::size_t end = text.rfind('\n');
    const std::size_t before = end == std::string::npos || end == 0 ? std::string::npos : text.rfind('\n', end - 1);
    if (whole && end == std::string::npos) return {};
    if (whole || before != std::string::npos) {
      const std::size_t first = before == std::string::npos ? 0 : before + 1;
      return {text.substr(first, end - first), size - bytes + end + 1};
    }
    if (bytes > 2 * kMostLineBytes)
      throw FormatError(file.path(), "byte " + std::to_string(size - bytes), "a line is longer than 16 MiB");
  }
}

}  // namespace

std::optional<std::string> last_line(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return read_tail(File::open_read(path)).line;
}

LogEnd read_lines(const std::filesystem::path& path,
                  const std::function<void(std::string_view, std::uint64_t)>& visit) {
  LogEnd end;
  if (!std::filesystem::exists(path)) return end;
  const File file = File::open_read(path);
  const std::uint64_t size = file.size();
  std::string text;  // of the lines from byte end.bytes on
  std::uint64_t number = 0;
  for (std::uint64_t at = 0; at < size;) {
    const std::size_t held = text.size();
    const std::uint64_t bytes = std::min<std::uint64_t>(size - at, 1 << 20);
    text.resize(held + bytes);
    file.read_at(at, std::as_writable_bytes(std::span(text).subspan(held)));
    at += bytes;
    std::size_t first = 0;
    for (std::size_t stop = text.find('\n', held); stop != std::string::npos; stop = text.find('\n', first)) {
      visit(std::string_view(text).substr(first, stop - first), ++number);
      first = stop + 1;
    }
    text.erase(0, first);
    end.bytes += first;
    if (text.size() > kMostLineBytes)
      throw FormatError(path, "line " + std::to_string(number + 1), "it is longer than 16 MiB");
  }
  end.tail = text.size();
  return end;
}

void append_line(const std::filesystem::path& path, std::string_view line) {
  AppendedLine(path, line).sync();
}

AppendedLine::AppendedLine(const std::filesystem::path& path, std::string_view line) {
  const std::filesystem::path folder = path.parent_path();
  std::error_code error;
  if (std::filesystem::create_directory(folder, error)) sync_directory(folder.parent_path());
  if (error) throw_system_error("create the folder", folder, error.value());
  const bool fresh = !std::filesystem::exists(path);
  file_ = fresh ? File::create(path) : File::open_write(path);
  if (fresh) fresh_in_ = folder;
  const Tail tail = read_tail(file_);
  if (tail.line == line) return;
  if (tail.end < file_.size()) file_.truncate(tail.end);
  const std::string text = std::string(line) + '\n';
  file_.write_at(tail.end, std::as_bytes(std::span(text)));
}

void AppendedLine::sync() const {
  file_.sync();
  if (!fresh_in_.empty()) sync_directory(fresh_in_);
}

}  // namespace unweave
