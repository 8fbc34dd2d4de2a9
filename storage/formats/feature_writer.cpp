// storage/formats/feature_writer.cpp - collects rows as they arrive and writes them as one feature
// file.
#include "storage/formats/feature_writer.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>

namespace unweave {

DenseFeatureWriter::DenseFeatureWriter(const std::filesystem::path& store, NodeRange range, std::uint32_t columns,
                                       FeatureLayout layout, std::uint64_t memory_limit)
    : store_(store),
      range_(range),
      columns_(columns),
      layout_(layout),
      tiles_(store, memory_limit),
      present_(layout.packs ? bit_words(range.size()) : 0) {}

/// Notes which of the next rows have a value that is not 0, and returns these.
std::span<const float> DenseFeatureWriter::without_zeros(std::span<const float> rows) {
  kept_.clear();
  for (; !rows.empty(); rows = rows.subspan(columns_), ++rows_) {
    const std::span<const float> row = rows.first(columns_);
    if (std::all_of(row.begin(), row.end(), [](float value) { return value == 0.0F; })) continue;
    present_[rows_ / 64] |= std::uint64_t{1} << rows_ % 64;
    kept_.insert(kept_.end(), row.begin(), row.end());
  }
  return kept_;
}

void DenseFeatureWriter::add(std::span<const float> rows) {
  if (layout_.packs) rows = without_zeros(rows);
  const std::size_t count = rows.size() / columns_;
  piece_rows_.push_back(static_cast<std::uint32_t>(count));
  for (std::uint32_t first = 0; first < columns_; first += kTileColumns) {
    const std::uint32_t width = std::min(kTileColumns, columns_ - first);
    piece_.resize(count * width);
    for (std::size_t row = 0; row < count; ++row)
      std::memcpy(&piece_[row * width], &rows[row * columns_ + first], width * sizeof(float));
    append_features(piece_, layout_.type, tiles_);
  }
}

/// The rows that were kept, tile after tile.
void DenseFeatureWriter::write_tiles(SealedWriter& writer) {
  const std::uint64_t bytes = value_bytes(layout_.type);
  for (std::uint32_t first = 0; first < columns_; first += kTileColumns) {
    const std::uint32_t width = std::min(kTileColumns, columns_ - first);
    std::uint64_t piece_at = 0;
    for (const std::uint64_t rows : piece_rows_) {
      tiles_.copy_to(writer, piece_at + rows * first * bytes, rows * width * bytes);
      piece_at += rows * columns_ * bytes;
    }
  }
}

/// As write_tiles(), with the rows of zeros in their places.
void DenseFeatureWriter::write_padded(SealedWriter& writer) {
  const std::uint64_t bytes = value_bytes(layout_.type);
  const auto is_present = [&](NodeId row) { return (present_[row / 64] >> row % 64 & 1) != 0; };
  const std::vector<std::byte> zeros(kTileColumns * bytes);
  for (std::uint32_t first = 0; first < columns_; first += kTileColumns) {
    const std::uint64_t row_bytes = std::min(kTileColumns, columns_ - first) * bytes;
    std::uint64_t piece_at = 0;
    NodeId row = 0;
    for (const std::uint64_t rows : piece_rows_) {
      const std::uint64_t tile_at = piece_at + rows * first * bytes;
      for (std::uint64_t written = 0; written < rows;) {
        for (; !is_present(row); ++row) writer.append(std::span(zeros).first(row_bytes));
        std::uint64_t run = 0;
        for (; written + run < rows && row < range_.size() && is_present(row); ++row) ++run;
        tiles_.copy_to(writer, tile_at + written * row_bytes, run * row_bytes);
        written += run;
      }
      piece_at += rows * columns_ * bytes;
    }
    for (; row < range_.size(); ++row) writer.append(std::span(zeros).first(row_bytes));
  }
}

FileEntry DenseFeatureWriter::finish_packed(NodeId stored) {
  SealedWriter writer = start_feature_file(store_, range_, layout_, true);
  std::vector<std::uint32_t> before(present_.size() + 1);
  for (std::size_t word = 0; word < present_.size(); ++word)
    before[word + 1] = before[word] + static_cast<std::uint32_t>(std::popcount(present_[word]));
  writer.append_values(std::span<const std::uint64_t>(present_));
  writer.append_values(std::span<const std::uint32_t>(before));
  write_tiles(writer);
  return writer.finish({range_.first, range_.size(), columns_, stored});
}

FileEntry DenseFeatureWriter::finish() {
  NodeId stored = range_.size();
  if (layout_.packs)
    stored = std::accumulate(present_.begin(), present_.end(), NodeId{0}, [](NodeId sum, std::uint64_t word) {
      return sum + static_cast<NodeId>(std::popcount(word));
    });
  const std::uint64_t left_out = std::uint64_t{range_.size() - stored} * columns_ * value_bytes(layout_.type);
  if (left_out > packed_index_bytes(range_.size())) return finish_packed(stored);
  SealedWriter writer = start_feature_file(store_, range_, layout_);
  layout_.packs ? write_padded(writer) : write_tiles(writer);
  return writer.finish({range_.first, range_.size(), columns_, 0});
}

SparseFeatureWriter::SparseFeatureWriter(const std::filesystem::path& store, NodeRange range, std::uint32_t columns,
                                         FeatureLayout layout, std::uint64_t memory_limit)
    : store_(store),
      range_(range),
      columns_(columns),
      layout_(layout),
      column_ids_(store, memory_limit / 2),
      values_(store, memory_limit / 2) {
  offsets_.reserve(std::size_t{range.size()} + 1);
}

void SparseFeatureWriter::add(std::span<const std::uint32_t> columns, std::span<const float> values) {
  offsets_.push_back(offsets_.back() + columns.size());
  column_ids_.append_values(columns);
  append_features(values, layout_.type, values_);
}

FileEntry SparseFeatureWriter::finish() {
  SealedWriter writer = start_feature_file(store_, range_, layout_);
  writer.append_values(std::span<const std::uint64_t>(offsets_));
  column_ids_.copy_to(writer, 0, column_ids_.size());
  values_.copy_to(writer, 0, values_.size());
  return writer.finish({range_.first, range_.size(), columns_, offsets_.back()});
}

}  // namespace unweave
