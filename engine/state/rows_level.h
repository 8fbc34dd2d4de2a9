// engine/state/rows_level.h - the rows of values that a level keeps in place of sums: all files of
// the level, written and read.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/graph/row_mask.h"
#include "storage/formats/rows_file.h"
#include "storage/formats/rows_image.h"
#include "storage/io/types.h"
#include "storage/types/feature_layout.h"
#include "storage/types/file_entry.h"
#include "storage/types/propagation_spec.h"

namespace unweave {

struct Manifest;

/// The bytes of the files of a level with these rows (null: all).
[[nodiscard]] std::uint64_t rows_level_bytes(NodeId nodes, std::uint32_t columns, FeatureType type,
                                             const RowMask* wanted);

/// All files of one level, written by the threads of a sweep while it runs.
class RowsLevelImage {
 public:
  /// `wanted`: the rows of the level, or null for all; it and the queue (see RowsImage; null for
  /// none) must outlive this object.
  RowsLevelImage(const std::filesystem::path& store, std::uint32_t level, std::uint32_t columns, NodeId nodes,
                 const KeptForm& kept, const RowMask* wanted, WriteBehind* queue);

  /// See RowsImage::put(): consecutive wanted nodes of one span.
  void put(std::span<const NodeId> nodes, std::uint32_t first_column, std::uint32_t width, const std::byte* values);
  /// Closes the files between two levels, of which there may be more than a process may open. No
  /// call of put() is under way.
  void rest();
  /// Finishes and names the files, after the queue was drained; they are not yet durable.
  [[nodiscard]] std::vector<FileEntry> publish();

 private:
  RowsImage& at(std::size_t span);

  std::filesystem::path store_;
  std::uint32_t level_;
  std::uint32_t columns_;
  NodeId nodes_;
  KeptForm kept_;
  const RowMask* wanted_;
  WriteBehind* queue_;
  std::mutex mutex_;  ///< guards the opening of files
  std::vector<std::unique_ptr<RowsImage>> files_;
};

/// The kept rows of one level. Const members may run on any number of threads at once.
class RowsLevel {
 public:
  /// Opens the files of a level that has some. Throws DataError, FormatError.
  RowsLevel(const std::filesystem::path& store, const Manifest& manifest, std::uint32_t level);

  [[nodiscard]] std::uint32_t columns() const noexcept { return columns_; }
  [[nodiscard]] const std::vector<FileEntry>& entries() const noexcept { return entries_; }
  [[nodiscard]] bool contains(NodeId node) const noexcept { return at(node).contains(node); }
  /// The row of a node into out[columns()]. Labels may say that there is one where the files have
  /// none: throws FormatError.
  void read(NodeId node, float* out) const;
  /// The bits of its values, one a word; false when it has no row.
  bool read_bits(NodeId node, std::uint32_t* out) const { return at(node).read_bits(node, out); }
  /// The rows of these nodes will be read soon.
  void read_ahead(NodeRange nodes) const noexcept;

 private:
  [[nodiscard]] const RowsFile& at(NodeId node) const noexcept { return files_[node / span_nodes_]; }

  std::uint32_t columns_;
  NodeId span_nodes_;
  std::vector<FileEntry> entries_;
  std::deque<RowsFile> files_;
};

}  // namespace unweave
