// storage/formats/rows_image.h - one file of kept rows written by many threads, tile of columns
// after tile of columns.
//
// With a queue, pieces (a strip of a chunk of rows) are gathered in its segments, summed while a
// cache has them, and written once, past the page cache where the file system allows it. Without
// one, which any tile will do for, values go to their places in the unpublished file through the
// page cache, and its checksums are formed when it is finished.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "storage/formats/rows_file.h"
#include "storage/io/write_behind.h"

namespace unweave {

class RowsImage {
 public:
  /// The bytes of a segment of a queue that takes pieces.
  [[nodiscard]] static constexpr std::size_t segment_bytes(FeatureType type) noexcept {
    return kRowsChunk * kStripColumns * value_bytes(type);
  }

  /// `members` has one bit a node of the range, or is empty when every node has a row. The queue,
  /// null for none, has segments of segment_bytes() and must outlive this object.
  RowsImage(const std::filesystem::path& store, std::uint32_t level, NodeRange range, std::uint32_t columns,
            const KeptForm& kept, std::vector<std::uint64_t> members, WriteBehind* queue);
  /// Removes a file that was not published.
  ~RowsImage();
  RowsImage(const RowsImage&) = delete;
  RowsImage& operator=(const RowsImage&) = delete;

  /// Columns [first, first + width) of the rows of consecutive members, row-major, in the bits of
  /// the file's type; each value once, from any thread. With a queue, the columns begin with a
  /// strip, and end with one. Calls at one time are about other rows, or about other strips.
  void put(std::span<const NodeId> nodes, std::uint32_t first_column, std::uint32_t width, const std::byte* values);
  /// Between two calls of put(): closes the file until the next one, since many of them may wait
  /// for their next columns.
  void rest();
  /// Writes what is left and gives the file its name, after all values are there and the queue was
  /// drained. Not yet durable: see sync_files().
  FileEntry publish();

 private:
  struct Piece {
    std::byte* segment = nullptr;
    std::uint64_t filled = 0;  ///< rows
  };
  struct Files {
    std::shared_ptr<const File> direct, buffered;
  };
  /// Some rows of a strip: `count` rows of its chunk from `row` on, whose columns [first, first +
  /// width) of the strip come with `stride` bytes from row to row.
  struct Part {
    std::uint64_t chunk, row, count;
    std::uint32_t strip, first, width;
    const std::byte* values;
    std::size_t stride;
  };
  [[nodiscard]] Files files();
  void gather(const Part& part);
  void write(const Part& part);
  void complete(std::uint64_t chunk, std::uint32_t strip, std::byte* segment);
  [[nodiscard]] std::uint64_t table_index(std::uint64_t offset) const noexcept {
    return (kSealedHeaderBytes + offset) / kSealedChunkBytes;
  }

  SealedName name_;
  std::filesystem::path temporary_;
  std::uint32_t level_;
  KeptForm kept_;
  std::vector<std::uint64_t> members_;  ///< empty when every node has a row
  MemberRanks ranks_;
  RowsLayout layout_;
  WriteBehind* queue_;
  std::vector<std::uint64_t> table_;  ///< charged to no budget, see SealedWriter
  std::mutex files_mutex_;            ///< guards files_
  Files files_;
  std::mutex mutex_;  ///< guards open_
  std::map<std::pair<std::uint64_t, std::uint32_t>, Piece> open_;
};

}  // namespace unweave
