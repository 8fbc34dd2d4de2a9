// engine/state/spooled_rows.h - values of rows for which memory had no room, in files without
// names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "storage/io/spool_file.h"

namespace unweave {

class SpooledRows {
 public:
  /// Whether there are so many files that a next one had better take their rows, too.
  [[nodiscard]] bool has_many() const noexcept { return files_.size() >= kMostFiles; }
  /// Writes `bytes` bytes of rows to a new file in `folder`: visit(add) calls add(values) for each
  /// row, values a span of bytes. Returns where the first one lies; the others follow it. Throws
  /// ResourceError, DataError, std::bad_alloc; then nothing has changed.
  template <class Visit>
  const std::byte* write(const std::filesystem::path& folder, std::uint64_t bytes, const Visit& visit) {
    files_.reserve(files_.size() + 1);  // nothing may fail once rows lie in the file
    MappedSpool file(folder, bytes);
    std::vector<std::byte> piece;
    std::uint64_t written = 0;
    const auto flush = [&] {
      file.write(written, piece);
      written += piece.size();
      piece.clear();
    };
    visit([&](std::span<const std::byte> values) {
      piece.insert(piece.end(), values.begin(), values.end());
      if (piece.size() >= kPieceBytes) flush();
    });
    flush();
    files_.push_back({std::move(file), bytes});
    return files_.back().file.as<std::byte>();
  }
  /// Whether a row lies in one of the files.
  [[nodiscard]] bool holds(const void* row) const noexcept {
    return std::any_of(files_.begin(), files_.end(), [&](const Piece& one) {
      const std::byte* const first = one.file.as<std::byte>();
      return !std::less<>()(row, static_cast<const void*>(first)) &&
             std::less<>()(row, static_cast<const void*>(first + one.bytes));
    });
  }
  /// Forgets all files but the newest one, which has their rows.
  void keep_newest() { files_.erase(files_.begin(), files_.end() - 1); }
  void clear() noexcept { files_.clear(); }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
  static constexpr std::size_t kMostFiles = 16;
  struct Piece {
    MappedSpool file;
    std::uint64_t bytes = 0;
  };
  std::vector<Piece> files_;
};

}  // namespace unweave
