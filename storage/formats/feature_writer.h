// storage/formats/feature_writer.h - writes the features of one span of nodes from rows that arrive
// piece by piece, in bounded memory. The files are those of feature_file.h, byte for byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "storage/formats/feature_file.h"
#include "storage/formats/overflow_buffer.h"
#include "storage/io/types.h"

namespace unweave {

/// Dense rows in order. Holds `memory_limit` bytes, and beside them one piece and the lengths of
/// the pieces.
class DenseFeatureWriter {
 public:
  DenseFeatureWriter(const std::filesystem::path& store, NodeRange range, std::uint32_t columns, FeatureType type,
                     std::uint64_t memory_limit);
  /// The next rows, row-major.
  void add(std::span<const float> rows);
  /// After all rows of the range.
  FileEntry finish();

 private:
  std::filesystem::path store_;
  NodeRange range_;
  std::uint32_t columns_;
  FeatureType type_;
  OverflowBuffer tiles_;                   // piece after piece, each as its column tiles
  std::vector<std::uint32_t> piece_rows_;  // rows of each piece
  std::vector<float> piece_;
};

/// Sparse rows in order. Holds `memory_limit` bytes and one offset a row.
class SparseFeatureWriter {
 public:
  SparseFeatureWriter(const std::filesystem::path& store, NodeRange range, std::uint32_t columns, FeatureType type,
                      std::uint64_t memory_limit);
  /// The next row: increasing columns, and as many values.
  void add(std::span<const std::uint32_t> columns, std::span<const float> values);
  /// After all rows of the range.
  FileEntry finish();

 private:
  std::filesystem::path store_;
  NodeRange range_;
  std::uint32_t columns_;
  FeatureType type_;
  std::vector<std::uint64_t> offsets_{0};
  OverflowBuffer column_ids_;
  OverflowBuffer values_;
};

}  // namespace unweave
