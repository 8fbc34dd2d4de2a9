// engine/state/spooled_rows.h - values of rows for which memory had no room, in files without
// names.
//
// Rows come in many small pieces, each a file. Where there are many, the newest ones become one, as
// in a log-structured merge tree: a file that stays is more than twice as large as all newer ones
// together, so that a row is moved a few times. Rows that have changed since, or went, take room in
// their file until it is merged.
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
  /// How many of the files stay when the next one is written: it had better take the rows of the
  /// others, the newest ones, too.
  [[nodiscard]] std::size_t files_to_keep() const noexcept {
    if (files_.size() < kMostFiles) return files_.size();
    std::size_t keep = files_.size() - 1;
    std::uint64_t newer = files_.back().bytes;
    for (std::size_t i = files_.size() - 1; i-- > 0; newer += files_[i].bytes)
      if (files_[i].bytes <= 2 * newer) keep = i;
    return keep;
  }
  /// Whether a row lies in one of the files from number `first` on.
  [[nodiscard]] bool holds(const void* row, std::size_t first = 0) const noexcept {
    const auto after = std::upper_bound(places_.begin(), places_.end(), row, [](const void* one, const Place& place) {
      return std::less<>()(one, place.first);
    });
    return after != places_.begin() && std::less<>()(row, after[-1].last) && after[-1].file >= first;
  }
  /// Writes `bytes` bytes of rows to a new file in `folder`: visit(add) calls add(values) for each
  /// row, values a span of bytes. Returns where the first one lies; the others follow it. Throws
  /// ResourceError, DataError, std::bad_alloc; then nothing has changed.
  template <class Visit>
  const std::byte* write(const std::filesystem::path& folder, std::uint64_t bytes, const Visit& visit) {
    files_.reserve(files_.size() + 1);  // nothing may fail once rows lie in the file
    places_.reserve(files_.size() + 1);
    MappedSpool file(folder, bytes);
    std::vector<std::byte> piece;
    // Nobody charges it, so that only a row that is longer makes it grow.
    piece.reserve(std::min<std::uint64_t>(bytes, kPieceBytes));
    std::uint64_t written = 0;
    const auto flush = [&] {
      file.write(written, piece);
      written += piece.size();
      piece.clear();
    };
    visit([&](std::span<const std::byte> values) {
      if (piece.size() + values.size() > kPieceBytes) flush();
      piece.insert(piece.end(), values.begin(), values.end());
    });
    flush();
    files_.push_back({std::move(file), bytes});
    note_places();
    return files_.back().file.as<std::byte>();
  }
  /// Forgets the files from number `keep` on but the newest one, which has their rows.
  void forget_merged(std::size_t keep) noexcept {
    if (keep + 1 == files_.size()) return;
    files_.erase(files_.begin() + static_cast<std::ptrdiff_t>(keep), files_.end() - 1);
    note_places();
  }
  void clear() noexcept {
    files_.clear();
    places_.clear();
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
  static constexpr std::size_t kMostFiles = 16;
  struct Piece {
    MappedSpool file;
    std::uint64_t bytes = 0;
  };
  struct Place {
    const void* first;
    const void* last;
    std::size_t file;
  };
  void note_places() noexcept {  // there is room for them
    places_.clear();
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const auto* const first = files_[i].file.as<std::byte>();
      places_.push_back({first, first + files_[i].bytes, i});
    }
    std::sort(places_.begin(), places_.end(),
              [](const Place& a, const Place& b) { return std::less<>()(a.first, b.first); });
  }
  std::vector<Piece> files_;
  std::vector<Place> places_;  ///< where in memory the files are mapped, by address
};

}  // namespace unweave
