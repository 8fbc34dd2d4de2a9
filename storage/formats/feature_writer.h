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

/// Dense rows in order. Holds `memory_limit` bytes, and beside them one piece, the lengths of the
/// pieces, and a bit a row where rows of zeros may be left out.
class DenseFeatureWriter {
 public:
  /// `layout`: not sparse.
  DenseFeatureWriter(const std::filesystem::path& store, NodeRange range, std::uint32_t columns, FeatureLayout layout,
                     std::uint64_t memory_limit);
  /// The next rows, row-major; values that binary16 does not have only where no row is left out.
  void add(std::span<const float> rows);
  /// After all rows of the range.
  FileEntry finish();

 private:
  [[nodiscard]] std::span<const float> without_zeros(std::span<const float> rows);
  FileEntry finish_packed(NodeId stored);
  void write_tiles(SealedWriter& writer);
  void write_padded(SealedWriter& writer);
  std::filesystem::path store_;
  NodeRange range_;
  std::uint32_t columns_;
  FeatureLayout layout_;
  OverflowBuffer tiles_;                   // piece after piece, each as its column tiles
  std::vector<std::uint32_t> piece_rows_;  // rows of each piece
  std::vector<float> piece_;
  NodeId rows_ = 0;                     // that came
  std::vector<std::uint64_t> present_;  // a bit for each that is not zeros, where such may be left out
  std::vector<float> kept_;
};

/// Sparse rows in order. Holds `memory_limit` bytes and one offset a row.
class SparseFeatureWriter {
 public:
  /// `layout`: sparse.
  SparseFeatureWriter(const std::filesystem::path& store, NodeRange range, std::uint32_t columns, FeatureLayout layout,
                      std::uint64_t memory_limit);
  /// The next row: increasing columns, and as many values.
  void add(std::span<const std::uint32_t> columns, std::span<const float> values);
  /// After all rows of the range.
  FileEntry finish();

 private:
  std::filesystem::path store_;
  NodeRange range_;
  std::uint32_t columns_;
  FeatureLayout layout_;
  std::vector<std::uint64_t> offsets_{0};
  OverflowBuffer column_ids_;
  OverflowBuffer values_;
};

}  // namespace unweave
