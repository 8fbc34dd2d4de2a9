// engine/graph/features.h - the current features: immutable files, the set of cleared nodes, whose
// rows are zero, and the rows that were set since.
//
// Where copies of a node share its row (Manifest::shares_features()), row r is that of the nodes r,
// r + rows(), r + 2 rows() and so on. All members but rows() and file_from() speak of nodes.
//
// Const members may run on any number of threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/graph/node_set.h"
#include "storage/formats/feature_file.h"
#include "storage/io/types.h"
#include "storage/types/changes.h"

namespace unweave {

struct Manifest;

class Features {
 public:
  /// Throws DataError, FormatError.
  Features(const std::filesystem::path& store, const Manifest& manifest, const NodeSet& cleared);

  [[nodiscard]] NodeId nodes() const noexcept { return nodes_; }
  /// Rows of the files.
  [[nodiscard]] NodeId rows() const noexcept { return file_rows_; }
  [[nodiscard]] std::uint32_t columns() const noexcept { return columns_; }
  /// Columns [first_column, first_column + width) of a range of rows, row-major.
  void read(NodeRange range, std::uint32_t first_column, std::uint32_t width, float* out,
            PageCache cache = PageCache::used) const;
  /// Puts whole rows into `out` as halves, where files have them and none of these rows was set;
  /// false: read() has to be asked.
  [[nodiscard]] bool read_halves(NodeRange range, Half* out) const;
  /// Whether read() goes past the page cache where it is asked to: see FeatureFile.
  [[nodiscard]] bool can_pass_cache() const { return !files_.empty() && files_.front().can_pass_cache(); }
  /// Asks the disk for what read() will soon want; rows past the last one are left out.
  void read_ahead(NodeRange range, std::uint32_t first_column, std::uint32_t width) const noexcept;
  /// What read() will not soon want again.
  void forget(NodeRange range, std::uint32_t first_column, std::uint32_t width) const noexcept;
  [[nodiscard]] std::uint64_t file_bytes() const noexcept;
  [[nodiscard]] bool is_zero(NodeId node, std::vector<float>& scratch) const;
  /// The file whose first row is this one; null where none is.
  [[nodiscard]] const FeatureFile* file_from(std::uint64_t row) const noexcept;

  /// Replaces a row by words of pack_row(), or lets files and cleared nodes say again what it is.
  void set(SetRow row);
  void unset(NodeId node);
  [[nodiscard]] const NodeSet& set_nodes() const noexcept { return set_; }
  /// The rows that were set, sorted by node.
  [[nodiscard]] std::vector<SetRow> set_rows() const;
  /// Memory of the rows that were set, and of so many with so many bytes of words.
  [[nodiscard]] std::uint64_t set_bytes() const noexcept { return set_bytes(rows_.size(), word_bytes_); }
  [[nodiscard]] static std::uint64_t set_bytes(std::uint64_t rows, std::uint64_t word_bytes) noexcept {
    return rows * kSetRowBytes + word_bytes;
  }
  /// Bytes of the words of a row of so many columns, at most.
  [[nodiscard]] static std::uint64_t most_word_bytes(std::uint32_t columns) noexcept {
    return (std::uint64_t{columns} + 2) * sizeof(std::uint32_t);
  }

 private:
  /// Calls use(file, rows, first) for what a file has of the rows of some nodes, one part after the
  /// other: rows of the file, the first of which is that of the node at place `first` of the range.
  /// Nodes past the last one are left out.
  template <class Use>
  void for_files(NodeRange range, const Use& use) const;
  static constexpr std::uint64_t kSetRowBytes = 160;  // entry, owner and array of a row
  NodeId nodes_, file_rows_;
  std::uint32_t columns_;
  const NodeSet& cleared_;
  std::vector<FeatureFile> files_;
  NodeSet set_;
  std::unordered_map<NodeId, std::shared_ptr<const std::vector<std::uint32_t>>> rows_;
  std::uint64_t word_bytes_ = 0;
};

}  // namespace unweave
