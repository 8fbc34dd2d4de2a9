// engine/resources/float_rows.cpp - appends, sets and moves rows in memory or in a file, whichever
// holds them.
#include "engine/resources/float_rows.h"

#include <algorithm>

namespace unweave {
namespace {

std::span<const std::byte> bytes_of(std::span<const float> values) {
  return std::as_bytes(values);
}

constexpr std::size_t kMovedBytes = std::size_t{8} << 20;

}  // namespace

FloatRows::FloatRows(std::size_t width, const std::filesystem::path& folder, std::size_t most)
    : width_(width), file_(std::in_place, folder, most * width * sizeof(float)) {}

void FloatRows::reserve(std::size_t rows) {
  if (!file_) values_.reserve(rows * width_);
}

void FloatRows::append(std::span<const float> values) {
  if (file_)
    file_->write(rows_ * width_ * sizeof(float), bytes_of(values));
  else
    values_.insert(values_.end(), values.begin(), values.end());
  rows_ += values.size() / width_;
}

void FloatRows::set(std::size_t row, std::span<const float> values) {
  if (file_)
    file_->write(row * width_ * sizeof(float), bytes_of(values));
  else
    std::copy(values.begin(), values.end(), values_.begin() + static_cast<std::ptrdiff_t>(row * width_));
}

void FloatRows::move_down(std::size_t from, std::size_t count, std::size_t to) {
  if (from == to || count == 0) return;
  if (!file_) {
    const float* const first = values_.data() + from * width_;
    std::copy(first, first + count * width_, values_.data() + to * width_);
    return;
  }
  // Through a buffer: a write from the mapping of the same pages may find them half written.
  const std::size_t block = std::max<std::size_t>(1, kMovedBytes / (width_ * sizeof(float)));
  std::vector<float> buffer;
  for (std::size_t done = 0; done < count; done += block) {
    const std::size_t rows = std::min(block, count - done);
    const float* const first = data() + (from + done) * width_;
    buffer.assign(first, first + rows * width_);
    file_->write((to + done) * width_ * sizeof(float), bytes_of(buffer));
  }
}

void FloatRows::shrink(std::size_t rows) {
  rows_ = std::min(rows_, rows);
  if (!file_) values_.resize(rows_ * width_);
}

}  // namespace unweave
