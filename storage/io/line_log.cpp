// storage/io/line_log.cpp - finds the last line from the end of a file, writes after it, and reads
// all lines.
#include "storage/io/line_log.h"

#include <algorithm>

#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/private_file.h"

namespace unweave {
namespace {

constexpr std::uint64_t kMostLineBytes = std::uint64_t{16} << 20;

/// The end of the file from the start of its last whole line on.
struct Tail {
  std::optional<std::string> line;  // without its newline
  std::uint64_t end = 0;            // bytes that whole lines fill
};

/// A power cut may leave the end of a line on the disk and not its middle. No text holds the zeros
/// that are there then. `at` is where the line begins in the file.
bool is_finished(std::string_view line, std::uint64_t at) {
  return !has_unwritten_sector(std::as_bytes(std::span(line)), at);
}

Tail read_tail(const File& file) {
  const std::uint64_t size = file.size();
  for (std::uint64_t want = 1 << 14;; want *= 4) {
    const std::uint64_t bytes = std::min(want, size);
    std::string text(bytes, '\0');
    file.read_at(size - bytes, std::as_writable_bytes(std::span(text)));
    const bool whole = bytes == size;
    std::size_t end = text.rfind('\n');
    for (int lines = 0; lines < 2 && end != std::string::npos; ++lines) {  // the last may be unfinished
      const std::size_t before = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
      if (!whole && before == std::string::npos) break;
      const std::size_t first = before == std::string::npos ? 0 : before + 1;
      if (lines == 1 || is_finished(std::string_view(text).substr(first, end - first), size - bytes + first))
        return {text.substr(first, end - first), size - bytes + end + 1};
      end = before;
    }
    if (whole) return {};
    if (bytes > 3 * kMostLineBytes)
      throw FormatError(file.path(), "byte " + std::to_string(size - bytes), "a line is longer than 16 MiB");
  }
}

}  // namespace

LogEnd read_lines(const std::filesystem::path& path,
                  const std::function<void(std::string_view, std::uint64_t)>& visit) {
  return has_entry(path) ? read_lines(File::open_stored(path), visit) : LogEnd();
}

namespace {

/// Lines from a byte on, each with its first byte, until `visit` returns false; `step`: bytes that
/// are read at once.
LogEnd visit_lines(const File& file, std::uint64_t from, std::uint64_t step,
                   const std::function<bool(std::string_view, std::uint64_t)>& visit) {
  LogEnd end;
  end.bytes = from;
  const std::uint64_t size = file.size();
  std::string text;  // text of the lines from byte end.bytes on
  for (std::uint64_t at = from; at < size;) {
    const std::size_t held = text.size();
    const std::uint64_t bytes = std::min<std::uint64_t>(size - at, step);
    text.resize(held + bytes);
    file.read_at(at, std::as_writable_bytes(std::span(text).subspan(held)));
    at += bytes;
    std::size_t first = 0;
    for (std::size_t stop = text.find('\n', held); stop != std::string::npos; stop = text.find('\n', first)) {
      const auto line = std::string_view(text).substr(first, stop - first);
      // The last line of all may be unfinished: what it leaves then.
      if (at == size && stop + 1 == text.size() && !is_finished(line, end.bytes + first)) break;
      if (!visit(line, end.bytes + first)) return end;
      first = stop + 1;
    }
    text.erase(0, first);
    end.bytes += first;
    if (text.size() > kMostLineBytes)
      throw FormatError(file.path(), "the line at byte " + std::to_string(end.bytes), "it is longer than 16 MiB");
  }
  end.tail = text.size();
  return end;
}

}  // namespace

LogEnd read_lines(const File& file, const std::function<void(std::string_view, std::uint64_t)>& visit) {
  std::uint64_t number = 0;
  return visit_lines(file, 0, std::uint64_t{1} << 20, [&](std::string_view line, std::uint64_t) {
    visit(line, ++number);
    return true;
  });
}

void read_lines_from(const File& file, std::uint64_t from,
                     const std::function<bool(std::string_view, std::uint64_t)>& visit) {
  static_cast<void>(visit_lines(file, from, std::uint64_t{1} << 13, visit));
}

std::optional<std::string> last_line(const std::filesystem::path& path) {
  if (!has_entry(path)) return std::nullopt;
  return read_tail(File::open_stored(path)).line;
}

AppendedLine::AppendedLine(const std::filesystem::path& path, std::string_view line, Readers readers) {
  make_folders(path.parent_path());
  if (has_entry(path)) {
    file_ = File::open_own(path);
    if (readers == Readers::owner) make_private(file_);
  } else {
    file_ = readers == Readers::owner ? create_private(path) : File::create(path);
  }
  Tail tail = read_tail(file_);
  // After a sync that failed, the system takes pages for written that are not: only what is written
  // again is synced.
  if (tail.line == line) tail.end -= line.size() + 1;
  const std::string text = std::string(line) + '\n';
  file_.write_at(tail.end, std::as_bytes(std::span(text)));
  file_.truncate(tail.end + text.size());
  if (tail.end == 0) fresh_in_ = path.parent_path();
}

void AppendedLine::sync() const {
  file_.sync();
  if (!fresh_in_.empty()) sync_directory(fresh_in_);
}

}  // namespace unweave
