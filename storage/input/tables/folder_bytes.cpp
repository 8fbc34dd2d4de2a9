// storage/input/tables/folder_bytes.cpp - the parts of a table that programs write into a folder,
// one after the other.
#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/input/bytes/raw_bytes.h"
#include "storage/input/words/line_reader.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// Whether a name comes before another one, where numbers in them count by their value: part-2
/// before part-10.
bool is_before(const std::filesystem::path& a, const std::filesystem::path& b) {
  const std::string left = a.filename().string(), right = b.filename().string();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  // The digits from a place on, without zeros before them; moves behind them.
  const auto take_number = [&](const std::string& text, std::size_t& at) {
    while (at < text.size() && text[at] == '0') ++at;
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return std::string_view(text).substr(first, at - first);
  };
  std::size_t i = 0, j = 0;
  while (i < left.size() && j < right.size()) {
    if (is_digit(left[i]) && is_digit(right[j])) {
      const std::string_view one = take_number(left, i), two = take_number(right, j);
      if (one.size() != two.size()) return one.size() < two.size();
      if (one != two) return one < two;
    } else if (left[i] != right[j]) {
      return left[i] < right[j];
    } else {
      ++i;
      ++j;
    }
  }
  if (i < left.size() || j < right.size()) return i == left.size();
  return left < right;  // zeros before a number
}

/// Copies that editors and people keep beside a file, and two forms of one part, are none of its
/// table's parts.
void require_one_of_each(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& parts) {
  for (const std::filesystem::path& part : parts) {
    const std::string name = part.filename().string();
    for (const std::string_view ending : {"~", ".bak", ".orig", ".old", ".swp", ".tmp"})
      if (name.ends_with(ending))
        throw InputError(folder, name, "it seems to be a copy that was kept beside the parts of a table",
                         "move it away, or name it otherwise if it is a part");
    std::string plain = name;
    for (const std::string_view ending : {".gz", ".zst"})
      if (plain.ends_with(ending)) plain.resize(plain.size() - ending.size());
    for (const std::filesystem::path& other : parts)
      if (plain != name && other.filename() == plain)
        throw InputError(folder, name, "it may be the same part as " + plain, "keep one of them");
  }
}

/// The files of a folder by name. Names that begin with _ or . are those of marks and checksums
/// beside the parts.
std::vector<std::filesystem::path> parts_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> parts;
  for (const Entry& entry : list_folder(resolved(folder))) {
    const std::string name = entry.name();
    if (name.starts_with('_') || name.starts_with('.')) continue;
    if (entry.kind != EntryKind::file &&
        entry.kind != EntryKind::link)  // a user's own links are followed, as elsewhere
      throw InputError(folder, name, "something else than a file among the parts of a table",
                       "name a folder that has the parts alone");
    parts.push_back(folder / name);
  }
  if (parts.empty())
    throw InputError(folder, "whole folder", "no files", "name a folder that has the parts of one table, or a file");
  std::sort(parts.begin(), parts.end(), is_before);
  require_one_of_each(folder, parts);
  return parts;
}

class FolderBytes final : public MadeBytes {
 public:
  explicit FolderBytes(const InputFile& folder) : folder_(folder), parts_(parts_in(folder.path)) { open(); }

  [[nodiscard]] std::string place_of_line(std::uint64_t line) const override {
    const std::scoped_lock lock(mutex_);
    for (const Part& part : starts_) {
      if (line <= part.lines) return part.name + ", line " + std::to_string(line + part.header);
      line -= part.lines;
    }
    return "line " + std::to_string(line) + " behind the last part";
  }

 private:
  struct Part {
    std::string name;
    std::uint64_t lines = 0;   ///< that were given
    std::uint64_t header = 0;  ///< lines left out before them
  };

  void make(std::string& text) override {
    while (text.empty()) {
      std::string_view line;
      if (!part_->next(line)) {
        if (at_ + 1 == parts_.size()) return;
        ++at_;
        open();
        continue;
      }
      const bool is_header = repeats_header(line);
      const std::scoped_lock lock(mutex_);
      if (is_header) {
        starts_.back().header = 1;
        continue;
      }
      text.assign(line).push_back('\n');
      ++starts_.back().lines;
    }
  }

  void open() {
    InputFile part = folder_;
    part.path = parts_[at_];
    if (is_zip(part.path))
      throw InputError(part.path, "byte 0", "an archive among the parts of a table", "name its file alone");
    ByteSource source(part);
    if (source.peek(1).starts_with('\x93'))
      throw InputError(part.path, "byte 0", "an array among the parts of a table",
                       "parts are text; name one array alone");
    part_.emplace(std::move(source));
    is_begun_ = false;
    const std::scoped_lock lock(mutex_);
    starts_.emplace_back().name = parts_[at_].filename().string();
  }

  /// Whether a line is the header that the first part has begun with, at the beginning of a later
  /// one. Comments before it are given as they are.
  bool repeats_header(std::string_view line) {
    if (is_begun_ || Fields(line).at_end() || Fields(line).first() == '#') return false;
    is_begun_ = true;
    if (at_ == 0) {
      header_ = line;
      return false;
    }
    if (folder_.header == Header::yes) {
      if (line == header_) return true;
      throw InputError(
          parts_[at_], "line 1",
          "another header, " + quote_for_message(line) + ", than that of the first part, " + quote_for_message(header_),
          "give parts of one table");
    }
    double number = 0;
    if (folder_.header != Header::ask || line != header_ || Fields(line).number(number) == std::errc()) return false;
    if (folder_.words_are_data)
      throw InputError(parts_[at_], "line 1",
                       quote_for_message(line) + " may be data, or the header that each part begins with",
                       "say which by " + option("header", folder_.header_key + "=no") + " (data) or " +
                           option("header", folder_.header_key + "=yes") + " (a header)");
    return true;
  }

  InputFile folder_;
  std::vector<std::filesystem::path> parts_;
  std::size_t at_ = 0;  ///< the part at hand
  std::optional<LineReader> part_;
  bool is_begun_ = false;  ///< its first line was seen
  std::string header_;     ///< the first line of the first part
  mutable std::mutex mutex_;
  std::vector<Part> starts_;  ///< those that were opened
};

}  // namespace

std::unique_ptr<RawBytes> open_folder_bytes(const InputFile& folder) {
  return std::make_unique<FolderBytes>(folder);
}

}  // namespace unweave
