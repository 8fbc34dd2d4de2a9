// engine/resources/float_rows.h - float32 rows of one width, in memory, or in an unlinked file
// where that is too small.
//
// Rows of a file are read through a mapping, whose pages the kernel takes back when it needs them,
// and written by calls that can fail: a full disk is an error and not a death by signal.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "storage/io/spool_file.h"

namespace unweave {

/// Not thread-safe while it changes, but for set() of distinct rows. Errors of a file are those of
/// SpoolFile.
class FloatRows {
 public:
  explicit FloatRows(std::size_t width) : width_(width) {}
  /// Rows in an unlinked temporary file in `folder`; there are never more than `most`.
  FloatRows(std::size_t width, const std::filesystem::path& folder, std::size_t most);

  /// A copy lies in memory.
  FloatRows(const FloatRows& other) : width_(other.width_) { append({other.data(), other.rows_ * width_}); }
  FloatRows& operator=(const FloatRows& other) { return *this = FloatRows(other); }
  FloatRows(FloatRows&&) noexcept = default;
  FloatRows& operator=(FloatRows&&) noexcept = default;
  ~FloatRows() = default;

  [[nodiscard]] bool in_file() const noexcept { return file_.has_value(); }
  /// Makes room for so many rows; has no effect on rows in a file.
  void reserve(std::size_t rows);
  /// `values` holds whole rows.
  void append(std::span<const float> values);
  void set(std::size_t row, std::span<const float> values);
  /// Rows [from, from + count) go to [to, to + count), to <= from; both exist.
  void move_down(std::size_t from, std::size_t count, std::size_t to);
  /// Keeps the first rows.
  void shrink(std::size_t rows);

  [[nodiscard]] std::size_t size() const noexcept { return rows_; }
  /// size() x width, valid until the next append().
  [[nodiscard]] const float* data() const noexcept { return file_ ? file_->as<float>() : values_.data(); }
  [[nodiscard]] std::span<const float> row(std::size_t i) const noexcept { return {data() + i * width_, width_}; }

 private:
  std::size_t width_;
  std::size_t rows_ = 0;
  std::vector<float> values_;
  std::optional<MappedSpool> file_;
};

}  // namespace unweave
