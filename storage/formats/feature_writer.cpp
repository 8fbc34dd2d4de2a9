// storage/formats/feature_writer.cpp - collects rows as they arrive and writes them as one feature
// file.
#include "storage/formats/feature_writer.h"

#include <algorithm>
#include <cstring>

namespace unweave {

DenseFeatureWriter::DenseFeatureWriter(const std::filesystem::path& store, NodeRange range, std::uint32_t columns,
                                       FeatureType type, std::uint64_t memory_limit)
    : store_(store), range_(range), columns_(columns), type_(type), tiles_(store, memory_limit) {}

void DenseFeatureWriter::add(std::span<const float> rows) {
  const std::size_t count = rows.size() / columns_;
  piece_rows_.push_back(static_cast<std::uint32_t>(count));
  for (std::uint32_t first = 0; first < columns_; first += kTileColumns) {
    const std::uint32_t width = std::min(kTileColumns, columns_ - first);
    piece_.resize(count * width);
    for (std::size_t row = 0; row < count; ++row)
      std::memcpy(&piece_[row * width], &rows[row * columns_ + first], width * sizeof(float));
    append_features(piece_, type_, tiles_);
  }
}

FileEntry DenseFeatureWriter::finish() {
  SealedWriter writer = start_feature_file(store_, range_, {false, type_});
  const std::uint64_t bytes = value_bytes(type_);
  for (std::uint32_t first = 0; first < columns_; first += kTileColumns) {
    const std::uint32_t width = std::min(kTileColumns, columns_ - first);
    std::uint64_t piece_at = 0;
    for (const std::uint64_t rows : piece_rows_) {
      tiles_.copy_to(writer, piece_at + rows * first * bytes, rows * width * bytes);
      piece_at += rows * columns_ * bytes;
    }
  }
  return writer.finish({range_.first, range_.size(), columns_, 0});
}

SparseFeatureWriter::SparseFeatureWriter(const std::filesystem::path& store, NodeRange range, std::uint32_t columns,
                                         FeatureType type, std::uint64_t memory_limit)
    : store_(store),
      range_(range),
      columns_(columns),
      type_(type),
      column_ids_(store, memory_limit / 2),
      values_(store, memory_limit / 2) {
  offsets_.reserve(std::size_t{range.size()} + 1);
}

void SparseFeatureWriter::add(std::span<const std::uint32_t> columns, std::span<const float> values) {
  offsets_.push_back(offsets_.back() + columns.size());
  column_ids_.append_values(columns);
  append_features(values, type_, values_);
}

FileEntry SparseFeatureWriter::finish() {
  SealedWriter writer = start_feature_file(store_, range_, {true, type_});
  writer.append_values(std::span<const std::uint64_t>(offsets_));
  column_ids_.copy_to(writer, 0, column_ids_.size());
  values_.copy_to(writer, 0, values_.size());
  return writer.finish({range_.first, range_.size(), columns_, offsets_.back()});
}

}  // namespace unweave
