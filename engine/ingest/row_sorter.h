// engine/ingest/row_sorter.h - rows that come in one order and are wanted in another, within a bound of bytes.
//
// Rows go into buckets of consecutive keys, whose full buffers are appended to a temporary file; then bucket after
// bucket is read back and its rows are handed out by key. What fits the buffers never touches a disk. The file is
// unlinked, or it has a name, and whoever comes after the end of the process goes on with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "storage/io/spool_file.h"
#include "storage/io/types.h"

namespace unweave {

/// Rows of one bucket in the file.
struct RowPiece {
  std::uint64_t offset = 0, words = 0;
  std::uint64_t sum = 0;  ///< checksum of its bytes in a file that has a name
  std::uint64_t bucket = 0;
};

/// Rows that lie in a file with a name.
struct NamedRows {
  std::filesystem::path file{};   ///< empty: an unlinked one
  std::uint64_t bytes = 0;        ///< how much of the file is gone on with
  std::uint64_t bucket_keys = 0;  ///< keys of a bucket of the pieces; 0: there are none
  std::vector<RowPiece> pieces{};
};

/// Not for concurrent use.
class RowSorter {
 public:
  using Words = std::span<const std::uint32_t>;

  /// Takes rows with keys below `keys`, any of them or none, each once. Holds `memory_bytes` (a single row longer than
  /// that beside them) and spills to the folder `temp_dir`.
  RowSorter(std::filesystem::path temp_dir, NodeId keys, std::uint64_t memory_bytes, NamedRows named = {});

  /// Throws ResourceError for a full disk.
  void add(NodeId key, Words row);
  /// Hands out all rows from the key `first` on, by increasing key. Call once; no add() after it.
  void drain(const std::function<void(NodeId key, Words row)>& use, NodeId first = 0);

  /// For who keeps what was added: writes all buffers to the file, and returns what was written there since the last
  /// call.
  [[nodiscard]] std::vector<RowPiece> spill_all();
  [[nodiscard]] NodeId bucket_keys() const noexcept { return bucket_keys_; }
  /// Where they lie; null where nothing was written.
  [[nodiscard]] const std::shared_ptr<SpoolFile>& spool() const noexcept { return spool_; }

 private:
  struct Bucket {
    std::vector<RowPiece> spilled;
    std::vector<std::uint32_t> buffer;
  };
  void spill(std::size_t bucket, Words words);
  void drain_bucket(std::size_t index, const std::function<void(NodeId key, Words row)>& use);

  std::filesystem::path temp_dir_;
  NodeId keys_;
  NodeId bucket_keys_;
  std::size_t buffer_words_;
  std::uint64_t drain_words_;
  std::vector<Bucket> buckets_;
  std::filesystem::path file_;
  std::shared_ptr<SpoolFile> spool_;
  std::vector<RowPiece> fresh_;  // written since the last spill_all(), where the file has a name
};

}  // namespace unweave
