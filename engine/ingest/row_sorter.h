// engine/ingest/row_sorter.h - rows that come in one order and are wanted in another, within a
// bound of bytes.
//
// Rows go into buckets of consecutive keys, whose full buffers are appended to a temporary file;
// then bucket after bucket is read back and its rows are handed out by key. What fits the buffers
// never touches a disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "storage/io/spool_file.h"
#include "storage/io/types.h"

namespace unweave {

/// Not for concurrent use.
class RowSorter {
 public:
  using Words = std::span<const std::uint32_t>;

  /// Takes rows with keys below `keys`, any of them or none, each once. Holds `memory_bytes` (a
  /// single row longer than that beside them) and spills to the folder `temp_dir`.
  RowSorter(std::filesystem::path temp_dir, NodeId keys, std::uint64_t memory_bytes);

  /// Throws ResourceError for a full disk.
  void add(NodeId key, Words row);
  /// Hands out all rows by increasing key. Call once; no add() after it.
  void drain(const std::function<void(NodeId key, Words row)>& use);

 private:
  /// Rows of one bucket in the file.
  struct Piece {
    std::uint64_t offset = 0, words = 0;
  };
  struct Bucket {
    std::vector<Piece> spilled;
    std::vector<std::uint32_t> buffer;
  };
  void spill(Bucket& bucket, Words words);
  void drain_bucket(std::size_t index, const std::function<void(NodeId key, Words row)>& use);

  std::filesystem::path temp_dir_;
  NodeId keys_;
  NodeId bucket_keys_;
  std::size_t buffer_words_;
  std::uint64_t drain_words_;
  std::vector<Bucket> buckets_;
  std::optional<SpoolFile> spool_;
};

}  // namespace unweave
