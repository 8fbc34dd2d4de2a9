// engine/graph/features.h - the current features: immutable files and the set of cleared nodes, whose rows are zero.
//
// Const members may run on any number of threads at once.
#pragma once

#include <filesystem>
#include <vector>

#include "storage/formats/feature_file.h"
#include "storage/formats/manifest.h"
#include "storage/io/types.h"

namespace unweave {

/// A set of nodes as one bit a node, allocated at the first insertion.
class NodeSet {
 public:
  explicit NodeSet(NodeId nodes) : nodes_(nodes) {}
  [[nodiscard]] bool contains(NodeId node) const noexcept {
    return !words_.empty() && ((words_[node / 64] >> (node % 64)) & 1U) != 0;
  }
  void insert(NodeId node) {
    if (words_.empty()) words_.resize(std::size_t{nodes_} / 64 + 1);
    size_ += contains(node) ? 0 : 1;
    words_[node / 64] |= std::uint64_t{1} << (node % 64);
  }
  [[nodiscard]] NodeId size() const noexcept { return size_; }
  [[nodiscard]] std::vector<NodeId> sorted() const;

 private:
  NodeId nodes_;
  NodeId size_ = 0;
  std::vector<std::uint64_t> words_;
};

class Features {
 public:
  /// Throws DataError, FormatError.
  Features(const std::filesystem::path& store, const Manifest& manifest, const NodeSet& cleared);

  [[nodiscard]] NodeId nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::uint32_t columns() const noexcept { return columns_; }
  /// Columns [first_column, first_column + width) of a range of rows, row-major.
  void read(NodeRange range, std::uint32_t first_column, std::uint32_t width, float* out) const;
  /// Asks the disk for what read() will soon want; rows past the last one are left out.
  void read_ahead(NodeRange range, std::uint32_t first_column, std::uint32_t width) const noexcept;
  [[nodiscard]] bool is_zero(NodeId node, std::vector<float>& scratch) const;
  [[nodiscard]] const std::vector<FeatureFile>& files() const noexcept { return files_; }

 private:
  NodeId nodes_;
  std::uint32_t columns_;
  const NodeSet& cleared_;
  std::vector<FeatureFile> files_;
};

}  // namespace unweave
