// tests/support/feature_files.h - feature files of a span whose rows are all in memory, written in
// one go.
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

#include "storage/formats/feature_file.h"

namespace unweave::testing {

/// Non-zeros of consecutive rows: offsets has one entry more than rows.
struct SparseRows {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
};

/// Dense rows, `columns` values each, row-major.
inline FileEntry write_dense_features(const std::filesystem::path& store, NodeRange range, std::uint32_t columns,
                                      std::span<const float> rows, FeatureType type = FeatureType::f32) {
  SealedWriter writer = start_feature_file(store, range, {false, type});
  std::vector<float> tile;
  for (std::uint32_t first = 0; first < columns; first += kTileColumns) {
    const std::uint32_t width = std::min(kTileColumns, columns - first);
    tile.resize(std::size_t{range.size()} * width);
    for (std::size_t row = 0; row < range.size(); ++row)
      std::memcpy(&tile[row * width], &rows[row * columns + first], width * sizeof(float));
    append_features(tile, type, writer);
  }
  return writer.finish({range.first, range.size(), columns, 0});
}

inline FileEntry write_sparse_features(const std::filesystem::path& store, NodeRange range, std::uint32_t columns,
                                       const SparseRows& rows, FeatureType type = FeatureType::f32) {
  SealedWriter writer = start_feature_file(store, range, {true, type});
  writer.append_values(std::span<const std::uint64_t>(rows.offsets));
  writer.append_values(std::span<const std::uint32_t>(rows.columns));
  append_features(rows.values, type, writer);
  return writer.finish({range.first, range.size(), columns, rows.columns.size()});
}

}  // namespace unweave::testing
